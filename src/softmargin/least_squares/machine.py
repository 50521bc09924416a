"""The fitted least-squares machine: a frozen record that predicts."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from scipy.linalg import blas
from scipy.special import log_softmax, softmax
from sklearn.gaussian_process.kernels import Kernel

from softmargin._linalg import Array, keep_freed_memory
from softmargin.kernels import (
    Coefficients,
    PrecomputedKernel,
    contract_inputs,
    diag,
    gram,
    linear_coefficients,
    row_blocks,
)
from softmargin.least_squares.softmax import Labels, SoftmaxFit

BLOCK_BYTES = 2**22
"""Kernel values of new rows are computed in blocks of this size, large enough for compiled loops."""


class Reduction(Protocol):
    """What the data take from the prior variance."""

    def __call__(self, K: Array) -> Array:
        """k(x, x) less the posterior variance, shape (n,), for K = k(new rows, basis) of shape (n, m)."""
        ...

    def matrix(self, K: Array) -> Array:
        """The same of all pairs of new rows, shape (n, n)."""
        ...


@dataclass(frozen=True)
class DenseReduction:
    """k' (K + diag(s2/w))^-1 k = |L^-1 S k|^2 with L L' = I + S K S."""

    root: Array = field(repr=False)
    """S, shape (n,)."""
    factor: Array = field(repr=False)
    """L, shape (n, n)."""

    def __call__(self, K: Array) -> Array:
        V = blas.dtrsm(1.0, self.factor, (K * self.root).T, lower=1)
        return np.asarray(np.einsum("ji,ji->i", V, V))

    def matrix(self, K: Array) -> Array:
        V = blas.dtrsm(1.0, self.factor, (K * self.root).T, lower=1)
        return np.asarray(V.T @ V)


@dataclass(frozen=True)
class LowRankReduction:
    """|L^-1 k|^2 - |(L C)^-1 k|^2 with L L' = Kzz and C C' = I + F diag(w/s2) F', F = L^-1 Kzx."""

    prior: Array = field(repr=False)
    """L, shape (m, m)."""
    posterior: Array = field(repr=False)
    """L C, shape (m, m)."""

    def __call__(self, K: Array) -> Array:
        before, after = (blas.dtrsm(1.0, factor, K.T, lower=1) for factor in (self.prior, self.posterior))
        return np.asarray(np.einsum("ji,ji->i", before, before) - np.einsum("ji,ji->i", after, after))

    def matrix(self, K: Array) -> Array:
        before, after = (blas.dtrsm(1.0, factor, K.T, lower=1) for factor in (self.prior, self.posterior))
        return np.asarray(before.T @ before - after.T @ after)


@dataclass(frozen=True)
class LeastSquaresMachine:
    """Gaussian-process regression on one-hot targets whose outputs are read by one softmax.

    p(y | x) = softmax(k(x, basis) alpha + c), alpha = b A B: a plug-in estimate at the mean of the regression. The
    softmax is fitted to leave-one-out outputs, so the spread of the regression is already in b and B; `latent` has the
    variance itself.
    """

    kernel: Kernel
    """The learnt kernel."""
    noise_variance: float
    """s2, of one copy of a row."""
    slope: float
    """b."""
    softmax_matrix: Array = field(repr=False)
    """B, shape (K, K)."""
    softmax_offset: Array = field(repr=False)
    """c, shape (K,)."""
    basis: Any = field(repr=False)
    """The training rows, or inducing points, that `coefficients` belong to; shape (m, d). Empty for a precomputed
    kernel, whose new rows are kernel values with the m training rows."""
    coefficients: Array = field(repr=False)
    """A: the regression's mean is k(x, basis) A + 1/K; shape (m, K)."""
    alpha: Array = field(repr=False)
    """b A B, shape (m, K)."""
    loo_outputs: Array = field(repr=False)
    """M: outputs at the training rows, less 1/K, with one copy of the row left out; shape (n, K)."""
    reduction: Reduction = field(repr=False)
    """What the data take from the prior variance."""
    path: list[dict[str, Any]] = field(default_factory=list, repr=False)
    """One dict for each evaluation of the search."""

    @property
    def n_classes(self) -> int:
        """K."""
        return len(self.softmax_offset)

    @property
    def loo_log_proba(self) -> Array:
        """ln p of the training rows with one copy of the row left out of the regression, shape (n, K).

        The softmax has seen all rows: to weigh this machine against others, take `cross_log_proba`.
        """
        return np.asarray(
            log_softmax(self.slope * self.loo_outputs @ self.softmax_matrix + self.softmax_offset, axis=1)
        )

    def cross_log_proba(
        self, labels: Labels, weight: Array, learnt: SoftmaxFit | None = None, *, whole: bool = True
    ) -> Array:
        """The same with a softmax that is learnt without the row, in five folds; shape (n, K).

        Parameters
        ----------
        labels : ndarray of shape (n,)
            Class of each row, 0 to n_classes - 1.
        weight : ndarray of shape (n,)
            Weight of each row, its number of copies.
        learnt : SoftmaxFit, optional
            As in the policy of the fit.
        whole : bool
            Whether the softmax is learnt without all copies of a row, or without some of them.
        """
        start = self.softmax_matrix, self.softmax_offset
        logits = self.slope * self.loo_outputs
        return (learnt or SoftmaxFit()).cross_fit(logits, labels, weight, start, whole=whole)

    @property
    def is_low_rank(self) -> bool:
        """Whether the regression lives on inducing points."""
        return isinstance(self.reduction, LowRankReduction)

    def log_proba(self, X: Any) -> Array:
        """ln p(y | x), shape (n, K), in blocks of rows.

        Parameters
        ----------
        X : array or CSR matrix of shape (n, d); for a precomputed kernel k(new rows, training rows)
            Rows to predict.
        """
        return np.asarray(log_softmax(self._logits(X), axis=1))

    def log_odds(self, X: Any) -> Array:
        """ln p(1 | x) - ln p(0 | x) of two classes, shape (n,)."""
        if self.n_classes != 2:
            raise ValueError(f"log-odds are of two classes, but there are {self.n_classes}; use log_proba")
        logits = self._logits(X)
        return np.asarray(logits[:, 1] - logits[:, 0])

    def slopes(self, X: Any) -> Array:
        """Derivatives of the log-odds of two classes, shape (n, 1, d), or of all log-probabilities, shape (n, K, d).

        Raises NoInputDerivativeError where the kernel's derivative is not known.
        """
        n = X.shape[0]
        if self.n_classes == 2:
            return self._along(self.alpha[:, 1] - self.alpha[:, 0], X)[:, None, :]
        logits = np.stack([self._along(column, X) for column in self.alpha.T], axis=1)
        # d ln p_c = d logit_c - sum_k p_k d logit_k.
        return logits - np.einsum("ik,ikd->id", np.exp(self.log_proba(X)), logits).reshape(n, 1, -1)

    def _along(self, coefficients: Array, X: Any) -> Array:
        """Derivatives of k(x, basis) @ coefficients, shape (n, d)."""
        W = np.broadcast_to(coefficients[:, None], (len(coefficients), X.shape[0]))
        return contract_inputs(self.kernel, self.basis, X, W)

    def linear(self) -> Coefficients | None:
        """The log-odds of two classes, or all logits, as linear functions; None if the kernel is not linear."""
        weights, offset = self.alpha, self.softmax_offset
        if self.n_classes == 2:
            weights, offset = weights[:, 1:] - weights[:, :1], offset[1:] - offset[:1]
        found = linear_coefficients(self.kernel, self.basis, weights)
        return None if found is None else Coefficients(found.coef, found.intercept + offset)

    signs = log_odds

    def latent(self, X: Any, diagonal: Array | None = None) -> tuple[Array, Array]:
        """Mean (n, K) and variance (n,) of the regression on one-hot targets; all classes share the variance.

        Parameters
        ----------
        X : array or CSR matrix of shape (n, d)
            Rows to predict.
        diagonal : ndarray of shape (n,), optional
            k(x, x) of the new rows, which a precomputed kernel does not know.
        """
        if diagonal is None:
            if isinstance(self.kernel, PrecomputedKernel):
                raise ValueError("latent variances need k(x, x) of the new rows: give it as `diagonal`")
            diagonal = diag(self.kernel, X)
        mean, variance = np.empty((X.shape[0], self.n_classes)), np.array(diagonal, dtype=np.float64)
        for s, K in self._blocks(X):
            mean[s] = K @ self.coefficients + 1.0 / self.n_classes
            variance[s] -= self.reduction(K)
        return mean, np.maximum(variance, 0.0)

    def sample_proba(self, X: Any, n_samples: int, rng: np.random.RandomState) -> Array:
        """Class probabilities of functions drawn from the posterior of the regression, shape (n_samples, n, K).

        Parameters
        ----------
        X : array or CSR matrix of shape (n, d)
            Rows to predict, few: their covariance is formed.
        n_samples : int
            Number of functions.
        rng : RandomState
            Where the random numbers come from.
        """
        K = gram(self.kernel, X, self.basis)
        size, turn = np.linalg.eigh(gram(self.kernel, X, X) - self.reduction.matrix(K))
        root = turn * np.sqrt(np.maximum(size, 0.0))
        drawn = K @ self.coefficients + root @ rng.standard_normal((n_samples, X.shape[0], self.n_classes))
        return np.asarray(softmax(self.slope * drawn @ self.softmax_matrix + self.softmax_offset, axis=2))

    def _logits(self, X: Any) -> Array:
        logits = np.empty((X.shape[0], self.n_classes))
        for s, K in self._blocks(X):
            logits[s] = K @ self.alpha
        logits += self.softmax_offset
        return logits

    def _blocks(self, X: Any) -> Iterator[tuple[slice, Array]]:
        """Slices of the new rows with their kernel values."""
        keep_freed_memory()
        for s in row_blocks(X.shape[0], len(self.coefficients), BLOCK_BYTES):
            yield s, gram(self.kernel, X[s], self.basis)
