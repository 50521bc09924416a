"""The low-rank regression on all rows: sums over blocks, so that memory is flat in n.

F W F' and F W Y (F = L^-1 Kzx, W = diag(w)) are all that the regression needs of the rows, for every s2: with the
eigenvectors Q of F W F' = Q diag(v) Q' the mean is R'(QFWY / (v + s2)) and the leverage w R^2'(1 / (v + s2)), R = Q'F.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.linalg import blas, eigh
from scipy.optimize import minimize
from sklearn.gaussian_process.kernels import Kernel

from softmargin._linalg import Array, cholesky
from softmargin.kernels import gram, row_blocks
from softmargin.least_squares.dense import share_left_out
from softmargin.least_squares.machine import LowRankReduction
from softmargin.least_squares.rows import LabelledRows
from softmargin.least_squares.softmax import link_value
from softmargin.least_squares.space import SearchSpace

BLOCK_BYTES = 2**23
"""Size of a block of kernel values."""


@dataclass(frozen=True)
class LowRankSums:
    """What the regression on inducing points needs to know of the rows."""

    kernel: Kernel
    Z: Any = field(repr=False)
    """Inducing points, shape (m, d)."""
    L: Array = field(repr=False)
    """Cholesky factor of Kzz + jitter I, shape (m, m)."""
    square: Array = field(repr=False)
    """F W F', shape (m, m)."""
    cross: Array = field(repr=False)
    """F W Y, shape (m, K)."""

    @classmethod
    def collect(cls, rows: LabelledRows, kernel: Kernel, Z: Any, jitter: float) -> "LowRankSums":
        """Sum over the rows, one block after the other."""
        Kzz = gram(kernel, Z)
        m = len(Kzz)
        L = cholesky(Kzz + jitter * np.eye(m))
        square, cross = np.zeros((m, m)), np.zeros((m, rows.n_classes))
        for s, F in _features(rows.X, kernel, Z, L):
            root = np.sqrt(rows.weight[s])
            F *= root
            square += F @ F.T
            cross += F @ (root[:, None] * rows.take(s).Y)
        return cls(kernel, Z, L, square, cross)

    def solve(self, noise_variance: float) -> tuple[Array, LowRankReduction]:
        """Coefficients of k(x, Z), shape (m, K), and the reduction of the variance."""
        B = self.square / noise_variance
        B.flat[:: len(B) + 1] += 1.0
        # L C is lower triangular, and (L C)^-1 Kzx = C^-1 F.
        posterior = np.asfortranarray(blas.dtrmm(1.0, self.L, cholesky(B), lower=1))
        half = blas.dtrsm(1.0 / noise_variance, posterior, self.L @ self.cross, lower=1)
        coefficients = blas.dtrsm(1.0, posterior, half, lower=1, trans_a=1)
        return coefficients, LowRankReduction(np.asfortranarray(self.L), posterior)

    def outputs(self, rows: LabelledRows, noise_variance: float) -> Array:
        """Leave-one-copy-out outputs of the rows that were summed (or some of them), shape (n, K)."""
        coefficients, reduction = self.solve(noise_variance)
        M = np.empty((len(rows), rows.n_classes))
        for s in row_blocks(len(rows), len(self.L), BLOCK_BYTES):
            K, part = gram(self.kernel, rows.X[s], self.Z), rows.take(s)
            V = blas.dtrsm(1.0, reduction.posterior, K.T, lower=1)
            leverage = part.weight / noise_variance * np.einsum("ji,ji->i", V, V)
            Y, left = part.Y, share_left_out(part.weight, whole=rows.whole)
            M[s] = Y - (Y - K @ coefficients) / (1.0 - left * leverage)[:, None]
        return M

    def retune(self, rows: LabelledRows, space: SearchSpace, z: Array) -> Array:
        """Return z with the s2 and b that maximise the leave-one-out log-likelihood of some of the summed rows."""
        v, Q = eigh(self.square, driver="evd")
        v = np.maximum(v, 0.0)
        R = Q.T @ np.concatenate([F for _, F in _features(rows.X, self.kernel, self.Z, self.L)], axis=1)
        R2, targets, Y = R * R, Q.T @ self.cross, rows.Y
        w, kappa = rows.weight, share_left_out(rows.weight, whole=rows.whole)

        def loss(u: Array) -> tuple[float, Array]:
            s2, slope = np.exp(u)
            inverse = 1.0 / (v + s2)
            r = Y - R.T @ (inverse[:, None] * targets)
            grow = 1.0 / (1.0 - kappa * w * (inverse @ R2))
            link = link_value(Y - r * grow[:, None], float(slope), rows.labels, w)
            # d/dln s2 of r and of the leverage.
            d_r = s2 * (R.T @ ((inverse**2)[:, None] * targets))
            d_leverage = -s2 * w * ((inverse**2) @ R2)
            d_M = -d_r * grow[:, None] - r * (grow**2 * kappa * d_leverage)[:, None]
            prior, d_prior = space.log_prior(np.concatenate([z[:-2], u]))
            gradient = np.array([np.vdot(link.d_outputs, d_M), link.d_log_slope]) + d_prior[-2:]
            return -(link.value + prior), -gradient

        scale = max(1.0, float(np.abs(loss(z[-2:])[1]).max()))
        found = minimize(
            lambda u: tuple(part / scale for part in loss(u)),
            z[-2:],
            jac=True,
            method="L-BFGS-B",
            bounds=space.bounds[-2:],
            options={"maxiter": 20, "ftol": 1e-7},
        )
        return np.concatenate([z[:-2], found.x])


def _features(X: Any, kernel: Kernel, Z: Any, L: Array) -> Iterator[tuple[slice, Array]]:
    """Slices of the rows with F = L^-1 Kzx, shape (m, rows)."""
    for s in row_blocks(X.shape[0], len(L), BLOCK_BYTES):
        yield s, blas.dtrsm(1.0, L, gram(kernel, X[s], Z).T, lower=1, overwrite_b=1)
