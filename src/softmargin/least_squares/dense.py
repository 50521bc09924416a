"""Ridge regression on one-hot targets with exact leave-one-copy-out outputs and their gradient.

Row i stands for w_i copies, each with noise variance s2, so the merged row has noise s2/w_i. With
G = (K + diag(s2/w))^-1 and A = G Y, leaving one copy of row i out predicts

    M_i = Y_i - e_i A_i,    1/e_i = kappa_i G_ii + rho_i / s2,    kappa = 1/max(w, 1),  rho = max(w - 1, 0):

the familiar Y_i - A_i/G_ii for w = 1; of a row with w < 1 there is no copy to leave, and it is left out whole.
With D = dF/dM and q_i = -e_i^2 sum_k D_ik A_ik the gradient is

    dF/dK = sym(G (D o e) A') + G diag(kappa q) G,    dF/dln s2 = sum_i (dF/dK)_ii s2/w_i + sum_i q_i rho_i / s2.
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
    """Copies of each row, shape (n,)."""
    noise_variance: float
    factor: Array = field(repr=False)
    """Cholesky factor of I + S K S, S = diag(sqrt(w/s2)): positive definite whatever the weights; shape (n, n)."""
    G: Array = field(repr=False)
    """(K + diag(s2/w))^-1, shape (n, n)."""
    A: Array = field(repr=False)
    """G Y, shape (n, K)."""
    step: Array = field(repr=False)
    """e, shape (n,)."""
    M: Array = field(repr=False)
    """Leave-one-out outputs, shape (n, K)."""
    whole: bool = False
    """Whether all copies of a row are left out at once."""

    @classmethod
    def solve(cls, K: Array, Y: Array, weight: Array, noise_variance: float, *, whole: bool = False) -> "DenseRidge":
        """Factor once for all classes; K of shape (n, n), Y (n, n_classes), weight (n,)."""
        S = np.sqrt(weight / noise_variance)
        B = K * S
        B *= S[:, None]
        B.flat[:: len(B) + 1] += 1.0
        factor = cholesky(B.T, overwrite=True)
        G = inverse_from_cholesky(factor)
        G *= S
        G *= S[:, None]
        A = G @ Y
        left = share_left_out(weight, whole=whole)
        step = 1.0 / (G.diagonal() * left + copies_left(weight, whole=whole) / noise_variance)
        return cls(weight, noise_variance, factor, G, A, step, Y - A * step[:, None], whole)

    def gradient(self, D: Array) -> tuple[Array, float]:
        """dF/dK (symmetric, shape (n, n)) and dF/dln s2, for D = dF/dM of shape (n, n_classes)."""
        G, A, e = self.G, self.A, self.step
        q = -(e**2) * np.einsum("ik,ik->i", D, A)
        half = (G @ (D * e[:, None])) @ A.T
        W = half + half.T
        W *= 0.5
        g = q * share_left_out(self.weight, whole=self.whole)
        # G diag(g) G as two symmetric products, which cost half of a general one.
        for sign, part in ((1.0, g > 0), (-1.0, g < 0)):
            if part.any():
                H = G[:, part] * np.sqrt(np.abs(g[part]))
                W += sign * (H @ H.T)
        lam = self.noise_variance / self.weight
        extra = float(q @ copies_left(self.weight, whole=self.whole)) / self.noise_variance
        return W, float(W.diagonal() @ lam) + extra


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
    Y: Array = field(repr=False)
    weight: Array = field(repr=False)
    whole: bool = False
    """Whether all copies of a row are left out at once."""

    def outputs(self, kernel: Kernel, noise_variance: float) -> DenseOutputs:
        """Solve the regression at these hyperparameters."""
        evaluation = evaluate(kernel, self.X)
        ridge = DenseRidge.solve(evaluation.K, self.Y, self.weight, noise_variance, whole=self.whole)
        return DenseOutputs(ridge, evaluation)
