"""The low-rank regression on all rows: sums over blocks, so that memory is flat in n.

F W F' and F W Y (F = L^-1 Kzx, W = diag(w)) are all that the regression needs of the rows, for every s2: with the
eigenvectors Q of F W F' = Q diag(v) Q' the mean is R'(QFWY / (v + s2)) and the leverage w R^2'(1 / (v + s2)), R = Q'F.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.linalg import blas, eigh
from scipy.optimize import minimize
from sklearn.gaussian_process.kernels import Kernel

from softmargin._linalg import Array, cholesky
from softmargin.inference.low_rank import WhitenedPrior, weighted_gram
from softmargin.kernels import gram, row_blocks
from softmargin.least_squares.dense import share_left_out
from softmargin.least_squares.machine import LowRankReduction
from softmargin.least_squares.rows import LabelledRows, one_hot
from softmargin.least_squares.softmax import link_value
from softmargin.least_squares.space import SearchSpace
from softmargin.rows import Summable, Workspace

BLOCK_BYTES = 2**23
"""Size of a block of kernel values."""


@dataclass(frozen=True)
class ClassSums:
    """Sums over rows; additive."""

    square: Array
    """Lower triangle of F W F', shape (m, m)."""
    cross: Array
    """F W Y, shape (m, K)."""

    def add(self, other: "ClassSums") -> "ClassSums":
        """Add two sums."""
        return ClassSums(self.square + other.square, self.cross + other.cross)

    def absorb(self, other: "ClassSums") -> "ClassSums":
        """Add other sums in the memory of these, which must be this object's own."""
        self.square[...] += other.square
        self.cross[...] += other.cross
        return self

    def owned(self) -> "ClassSums":
        """The same sums in float64 and in memory of their own."""
        return ClassSums(np.array(self.square, dtype=np.float64), np.array(self.cross, dtype=np.float64))


@dataclass(frozen=True)
class MappedPrior:
    """A prior over functions of transformed inputs: what a source of rows asks of `WhitenedPrior`."""

    prior: WhitenedPrior
    inputs: Callable[[Any], Any]
    """Applied to each block of inputs first."""

    @property
    def Z(self) -> Any:
        """Inducing points, shape (m, d)."""
        return self.prior.Z

    @property
    def dtype(self) -> str:
        """Precision of the row blocks."""
        return self.prior.dtype

    @property
    def bytes_per_row(self) -> int:
        """Memory that one row's features take."""
        return self.prior.bytes_per_row

    def features(self, X: Any, out: Any = None) -> Any:
        """Features of a block of rows."""
        return self.prior.features(self.inputs(X), out)


@dataclass(frozen=True)
class ClassStatistic:
    """F W F' and F W Y of a block of rows whose targets are the numbers of their classes."""

    prior: WhitenedPrior | MappedPrior
    n_classes: int

    def __call__(self, X: Any, y: Array, weight: Array, features: Any, workspace: Workspace) -> ClassSums:
        """Sum over a block."""
        F = features.F
        targets = weight[:, None] * one_hot(np.asarray(y).astype(np.intp), self.n_classes)
        return ClassSums(weighted_gram(F, weight, workspace), F.T @ targets.astype(F.dtype, copy=False))


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
    def collect(
        cls,
        source: Summable,
        n_classes: int,
        kernel: Kernel,
        Z: Any,
        jitter: float,
        inputs: Callable[[Any], Any] | None = None,
        dtype: str = "float64",
    ) -> "LowRankSums":
        """Sum over all rows of a source, one block after the other.

        Parameters
        ----------
        source : Summable
            Rows whose targets are the numbers of their classes.
        n_classes : int
        kernel : Kernel
        Z : array or CSR matrix of shape (m, d)
        jitter : float
            Added to the diagonal of Kzz, in units of its mean.
        inputs : callable, optional
            Applied to each block of inputs first.
        dtype : {"float64", "float32"}
            Precision of a block; sums over blocks are in float64.
        """
        prior = WhitenedPrior.at(kernel, Z, dtype, jitter)
        sums = source.total(ClassStatistic(prior if inputs is None else MappedPrior(prior, inputs), n_classes))
        # The statistic fills the lower triangle only.
        square = np.tril(sums.square)
        square += np.tril(square, -1).T
        return cls(kernel, Z, prior.L, square, sums.cross)

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
