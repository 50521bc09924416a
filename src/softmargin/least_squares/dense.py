"""Ridge regression on one-hot targets with exact leave-one-copy-out outputs and their gradient.

Rows of equal inputs, whatever their labels, are one row of the regression: with W copies at input u, their weighted
mean target Y_u and noise lam = s2/W, G = (K + diag(lam))^-1 and A = G Y give the mean Y_u - lam_u A_u at u. (Written
as a row for each label, conflicting ones would have coefficients of w/s2 that cancel.) Leaving c copies of row i out,
c = min(w, 1) or all of them, predicts

    M_i = Y_i - R_i/l_i,    R_i = Y_i - Y_u + lam_u A_u,    l_i = 1 - c_i/W_u + c_i/W_u lam_u G_uu:

the familiar Y_i - A_i/G_ii for a single copy; of a row with w < 1 there is no copy to leave, and it is left out whole.
With D = dF/dM, E_u = lam_u sum_i D_i/l_i and q_u = lam_u/W_u sum_i c_i D_i'R_i/l_i^2, sums over the rows at u,

    dF/dK = sym(G E A') - G diag(q) G,
    dF/dln s2 = sum_u lam_u (dF/dK)_uu - E_u'A_u + q_u G_uu.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from softmargin._linalg import Array, cholesky, inverse_from_cholesky
from softmargin.kernels import KernelEvaluation, evaluate


@dataclass(frozen=True)
class DenseRidge:
    """The regression at one kernel matrix and noise variance."""

    weight: Array = field(repr=False)
    """Copies W at each input, shape (u,)."""
    noise_variance: float
    factor: Array = field(repr=False)
    """Cholesky factor of I + S K S, S = diag(sqrt(W/s2)): positive definite whatever the weights; shape (u, u)."""
    G: Array = field(repr=False)
    """(K + diag(s2/W))^-1, shape (u, u)."""
    A: Array = field(repr=False)
    """G Y, shape (u, K)."""
    group: Any = field(repr=False)
    """Input of each row, shape (n,)."""
    left: Array = field(repr=False)
    """c, the copies of each row that are left out, shape (n,)."""
    rest: Array = field(repr=False)
    """R, shape (n, K)."""
    scale: Array = field(repr=False)
    """l, shape (n,)."""
    M: Array = field(repr=False)
    """Leave-one-out outputs, shape (n, K)."""

    @classmethod
    def solve(
        cls, K: Array, Y: Array, weight: Array, noise_variance: float, *, whole: bool = False, group: Any = None
    ) -> "DenseRidge":
        """Factor once for all classes.

        Parameters
        ----------
        K : ndarray of shape (u, u)
            Gram matrix of the inputs.
        Y : ndarray of shape (n, n_classes)
            Targets.
        weight : ndarray of shape (n,)
            Copies of each row.
        noise_variance : float
            Of one copy.
        whole : bool
            Whether all copies of a row are left out at once.
        group : ndarray of shape (n,), optional
            Input of each row, 0 to u - 1; None: each row has its own.
        """
        group = np.arange(len(Y)) if group is None else group
        W = np.bincount(group, weights=weight).astype(np.float64)
        first = np.zeros(len(W), dtype=np.intp)
        first[group[::-1]] = np.arange(len(Y))[::-1]
        # By differences from one of them: the mean of a single row is exactly its target.
        mean = Y[first] + by_input(group, weight[:, None] * (Y - Y[first[group]])) / W[:, None]
        S = np.sqrt(W / noise_variance)
        B = K * S
        B *= S[:, None]
        B.flat[:: len(B) + 1] += 1.0
        factor = cholesky(B.T, overwrite=True)
        G = inverse_from_cholesky(factor)
        G *= S
        G *= S[:, None]
        A = G @ mean
        lam = noise_variance / W
        left = share_left_out(weight, whole=whole) * weight
        share = left / W[group]
        rest = Y - mean[group] + (lam[:, None] * A)[group]
        scale = (1.0 - share) + share * (lam * G.diagonal())[group]
        return cls(W, noise_variance, factor, G, A, group, left, rest, scale, Y - rest / scale[:, None])

    def gradient(self, D: Array) -> tuple[Array, float]:
        """dF/dK (symmetric, shape (u, u)) and dF/dln s2, for D = dF/dM of shape (n, n_classes)."""
        G, A, lam = self.G, self.A, self.noise_variance / self.weight
        E = lam[:, None] * by_input(self.group, D / self.scale[:, None])
        pulled = self.left * np.einsum("ik,ik->i", D, self.rest) / self.scale**2
        q = lam / self.weight * np.bincount(self.group, weights=pulled)
        half = (G @ E) @ A.T
        W = half + half.T
        W *= 0.5
        # G diag(q) G as two symmetric products, which cost half of a general one.
        for sign, part in ((-1.0, q > 0), (1.0, q < 0)):
            if part.any():
                H = G[:, part] * np.sqrt(np.abs(q[part]))
                W += sign * (H @ H.T)
        own = q @ G.diagonal() - float(np.vdot(E, A))
        return W, float(W.diagonal() @ lam + own)


def by_input(group: Any, values: Array) -> Array:
    """Sum the rows of each input: (n, k) -> (u, k)."""
    return np.stack([np.bincount(group, weights=column) for column in values.T], axis=1)


def share_left_out(weight: Array, *, whole: bool) -> Array:
    """kappa: the part of a merged row's weight that is left out, one copy or the whole row; shape (n,)."""
    return np.ones_like(weight) if whole else 1.0 / np.maximum(weight, 1.0)


def copies_left(weight: Array, *, whole: bool) -> Array:
    """rho: the weight of a merged row that stays, shape (n,)."""
    return np.zeros_like(weight) if whole else np.maximum(weight - 1.0, 0.0)


@dataclass(frozen=True)
class DenseOutputs:
    """Leave-one-out outputs at one point of the search, and how a derivative travels back through them."""

    ridge: DenseRidge
    evaluation: KernelEvaluation = field(repr=False)

    @property
    def M(self) -> Array:
        """Leave-one-out outputs, shape (n, n_classes)."""
        return self.ridge.M

    def pull(self, D: Array) -> tuple[Array, float]:
        """dF/dtheta of shape (n_theta,) and dF/dln s2, for D = dF/dM."""
        W, d_log_noise = self.ridge.gradient(D)
        return self.evaluation.contract(W), d_log_noise


@dataclass(frozen=True)
class DenseRows:
    """Rows whose full Gram matrix is used."""

    X: Any = field(repr=False)
    """Inputs, shape (u, d)."""
    Y: Array = field(repr=False)
    weight: Array = field(repr=False)
    whole: bool = False
    """Whether all copies of a row are left out at once."""
    group: Any = field(default=None, repr=False)
    """Input of each row, shape (n,); None: each row has its own."""

    def outputs(self, kernel: Kernel, noise_variance: float) -> DenseOutputs:
        """Solve the regression at these hyperparameters."""
        evaluation = evaluate(kernel, self.X)
        ridge = DenseRidge.solve(evaluation.K, self.Y, self.weight, noise_variance, whole=self.whole, group=self.group)
        return DenseOutputs(ridge, evaluation)
