"""The same regression in a prior of rank m (DTC), with exact leave-one-copy-out outputs and their gradient.

Inducing points Z, Kzz + jitter I = L L', F = L^-1 Kzx (m x n): the prior covariance is F'F, the noise lam = s2/w. With
B = I + F diag(1/lam) F', T = B^-1 F diag(1/lam), leverages h_i = F_i'T_i, U = T Y, r = Y - F'U, A = r/lam:

    M_i = Y_i - r_i / (1 - kappa_i h_i),    kappa = 1/max(w, 1)    (see `dense`).

With D = dF/dM, e = lam/(1 - kappa h), E = D o e, q = -e^2 sum_k D A, g = kappa q, GE = (E - F'TE)/lam and
S = B^-1 F diag(g/lam^2) F' B^-1, the derivative with respect to F'F contracted once with F, and its diagonal, are

    P = (TE A' + U GE')/2 + T diag(g/lam) - S F diag(1/lam),    sum_k GE o A + g (1 - 2h)/lam^2 + diag(F'SF)/lam^2,

so that d/dKzx = 2 L^-T P and d/dKzz = -L^-T P F' L^-1. Everything costs O(n m^2), for all classes at once.
Quinonero-Candela & Rasmussen (2005) has the approximations; DTC predicts better here than FITC.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.linalg import blas
from sklearn.gaussian_process.kernels import Kernel

from softmargin._linalg import Array, cholesky, inverse_of_triangle
from softmargin.kernels import KernelEvaluation, evaluate
from softmargin.least_squares.dense import copies_left, share_left_out


@dataclass(frozen=True)
class LowRankRidge:
    """The regression at one pair of kernel matrices and noise variance."""

    weight: Array = field(repr=False)
    noise_variance: float
    L: Array = field(repr=False)
    """Cholesky factor of Kzz + jitter I, shape (m, m)."""
    F: Array = field(repr=False)
    """L^-1 Kzx, shape (m, n)."""
    inverse: Array = field(repr=False)
    """C^-1, C the Cholesky factor of B = I + F diag(w/s2) F', shape (m, m); B is at least I."""
    V: Array = field(repr=False)
    """C^-1 F, shape (m, n)."""
    leverage: Array = field(repr=False)
    """h, shape (n,)."""
    U: Array = field(repr=False)
    """The mean is F'U, shape (m, K)."""
    A: Array = field(repr=False)
    """(F'F + diag(s2/w))^-1 Y, shape (n, K)."""
    M: Array = field(repr=False)
    """Leave-one-out outputs, shape (n, K)."""
    whole: bool = False
    """Whether all copies of a row are left out at once."""

    @classmethod
    def solve(
        cls, Kxz: Array, Kzz: Array, Y: Array, weight: Array, noise_variance: float, jitter: float, whole: bool = False
    ) -> "LowRankRidge":
        """Solve for all classes; Kxz of shape (n, m), Kzz (m, m), Y (n, K), weight (n,)."""
        L = cholesky(Kzz + jitter * np.eye(len(Kzz)))
        F = blas.dtrsm(1.0, L, Kxz.T, lower=1)
        precision = weight / noise_variance
        scaled = F * np.sqrt(precision)
        B = scaled @ scaled.T
        B.flat[:: len(B) + 1] += 1.0
        inverse = inverse_of_triangle(cholesky(B))
        # A product with the inverse takes half the time of solving for every column.
        V = blas.dtrmm(1.0, inverse, F, lower=1)
        leverage = precision * np.einsum("ji,ji->i", V, V)
        U = inverse.T @ (V @ (precision[:, None] * Y))
        r = Y - F.T @ U
        M = Y - r / (1.0 - share_left_out(weight, whole=whole) * leverage)[:, None]
        return cls(weight, noise_variance, L, F, inverse, V, leverage, U, r * precision[:, None], M, whole)

    def gradient(self, D: Array) -> tuple[Array, Array, float]:
        """dF/dKxz (n, m), dF/dKzz (m, m) and dF/dln s2, for D = dF/dM of shape (n, K)."""
        F, A, h = self.F, self.A, self.leverage
        lam, kappa = self.noise_variance / self.weight, share_left_out(self.weight, whole=self.whole)
        e = lam / (1.0 - kappa * h)
        E, q = D * e[:, None], -(e**2) * np.einsum("ik,ik->i", D, A)
        g = kappa * q
        T = blas.dtrmm(1.0, self.inverse, self.V, lower=1, trans_a=1)
        S = _weighted_square(T, g / lam**2)
        T /= lam
        TE = T @ E
        GE = (E - F.T @ TE) / lam[:, None]
        SF = blas.dsymm(1.0, S, F, lower=1)
        SF /= lam
        diagonal = np.einsum("ik,ik->i", GE, A) + g * (1.0 - 2.0 * h) / lam**2 + np.einsum("ji,ji->i", F, SF) / lam
        P = 0.5 * (TE @ A.T + self.U @ GE.T) + T * (g / lam) - SF
        Wzx = blas.dtrsm(2.0, self.L, P, lower=1, trans_a=1)
        # P F' = F (dF/dQ) F' is symmetric.
        half = blas.dtrsm(-0.5, self.L, Wzx @ F.T, side=1, lower=1)
        extra = float(q @ copies_left(self.weight, whole=self.whole)) / self.noise_variance
        return Wzx.T, 0.5 * (half + half.T), float(diagonal @ lam) + extra


def _weighted_square(T: Array, w: Array) -> Array:
    """Lower triangle of T diag(w) T', shape (m, m); w may be negative."""
    plus, minus = w > 0, w < 0
    square = blas.dsyrk(1.0, T[:, plus] * np.sqrt(w[plus]), lower=1)
    return blas.dsyrk(-1.0, T[:, minus] * np.sqrt(-w[minus]), beta=1.0, c=square, lower=1, overwrite_c=1)


@dataclass(frozen=True)
class LowRankOutputs:
    """Leave-one-out outputs at one point of the search, and how a derivative travels back through them."""

    ridge: LowRankRidge
    cross: KernelEvaluation = field(repr=False)
    inducing: KernelEvaluation = field(repr=False)

    @property
    def M(self) -> Array:
        """Leave-one-out outputs, shape (n, K)."""
        return self.ridge.M

    def pull(self, D: Array) -> tuple[Array, float]:
        """dF/dtheta of shape (n_theta,) and dF/dln s2, for D = dF/dM."""
        Wxz, Wzz, d_log_noise = self.ridge.gradient(D)
        return self.cross.contract(Wxz) + self.inducing.contract(Wzz), d_log_noise


@dataclass(frozen=True)
class LowRankRows:
    """Rows seen through inducing points Z of shape (m, d)."""

    X: Any = field(repr=False)
    Z: Any = field(repr=False)
    Y: Array = field(repr=False)
    weight: Array = field(repr=False)
    jitter: float
    whole: bool = False
    """Whether all copies of a row are left out at once."""

    def outputs(self, kernel: Kernel, noise_variance: float) -> LowRankOutputs:
        """Solve the regression at these hyperparameters."""
        cross, inducing = evaluate(kernel, self.X, self.Z), evaluate(kernel, self.Z)
        ridge = LowRankRidge.solve(cross.K, inducing.K, self.Y, self.weight, noise_variance, self.jitter, self.whole)
        return LowRankOutputs(ridge, cross, inducing)
