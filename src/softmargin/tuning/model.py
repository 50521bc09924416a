"""One fitted latent function: kernel, likelihood, posterior and training rows; prediction in blocks of rows."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, Literal

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from softmargin._checks import clear_of_indefinite
from softmargin._linalg import Array
from softmargin.criteria import Problem, leave_one_out
from softmargin.inference import MAP, LatentPosterior, Posterior
from softmargin.kernels import (
    Coefficients,
    PrecomputedKernel,
    diag,
    gram,
    linear_coefficients,
    row_blocks,
    without_white,
)
from softmargin.likelihoods import Likelihood
from softmargin.rows import TrainingRows

Probability = Literal["average", "mean", "map"]
"""Which class probability: averaged over the posterior, at its mean, or at the SVM (Sollich 2002, eqs. 33, 36, 37)."""

BLOCK_BYTES = 2**22
"""Kernel values of new rows are computed in blocks of this size, large enough for compiled loops."""


@dataclass(frozen=True)
class LatentModel:
    """The result of a fit of one latent function, and its predictions."""

    rows: TrainingRows = field(repr=False)
    """The training rows; through inducing points, these."""
    kernel: Kernel
    likelihood: Likelihood
    """That of the support vector machine (through inducing points: that of the posterior)."""
    posterior: LatentPosterior = field(repr=False)
    path: list[dict[str, Any]] = field(repr=False)
    """Every evaluation of the search."""
    objective: float
    """Criterion plus log hyperprior at the end of the search (nan without a search)."""
    z: Array = field(repr=False)
    """The learnt coordinates."""
    posterior_likelihood: Likelihood | None = None
    """The likelihood of the posterior, which may be the normalised one; None: `likelihood`."""
    naive_log_evidence: float | None = None
    """Log evidence of `likelihood`; None: the posterior's."""
    basis: Any = field(default=None, repr=False)
    """The inducing points that the posterior lives on, shape (m, d); None: the rows."""
    solved: Posterior | Literal["later"] | None = field(default=None, repr=False)
    """The support vector machine itself (MAP), if the inference found it; "later": solved when it is asked for; None:
    there is none, as through inducing points."""

    @property
    def log_evidence(self) -> float:
        """Log evidence in nats of the support vector machine's likelihood, as the inference estimates it."""
        return float(self.posterior.log_evidence if self.naive_log_evidence is None else self.naive_log_evidence)

    @cached_property
    def svm(self) -> Posterior | None:
        """The support vector machine itself (MAP) at the same hyperparameters; None through inducing points.

        It costs a solver (compiled at its first use) that predictions do not need.
        """
        if self.solved != "later":
            return self.solved
        rows = self.rows
        with clear_of_indefinite(self.kernel):
            return MAP(gradients=False).infer(gram(self.kernel, rows.X), rows.y, self.likelihood, rows.weight)

    def blocks(self, X: Any) -> Iterator[tuple[slice, Array, Callable[[], Array]]]:
        """Yield (rows, k(X, basis), a function that gives k(x, x)) so that memory does not grow with X."""
        yield from self._blocks(X, self._basis)

    @property
    def _basis(self) -> Any:
        return self.rows.X if self.basis is None else self.basis

    def _blocks(self, X: Any, basis: Any) -> Iterator[tuple[slice, Array, Callable[[], Array]]]:
        for block in row_blocks(X.shape[0], basis.shape[0], BLOCK_BYTES):
            part = X[block]
            if isinstance(self.kernel, PrecomputedKernel):
                yield block, np.ascontiguousarray(part[:, self.rows.first]), _no_diagonal
            else:
                yield block, gram(self.kernel, part, basis), partial(diag, self.kernel, part)

    def latent(self, X: Any) -> tuple[Array, Array]:
        """Posterior mean and variance of f at new rows, shape (n,) each."""
        mean, variance = np.empty(X.shape[0]), np.zeros(X.shape[0])
        for block, K_star, k_diag in self.blocks(X):
            mean[block] = self.posterior.latent_mean(K_star)
            if self.posterior.has_variance:
                variance[block] = self.posterior.latent_variance(K_star, k_diag())
        return mean, variance

    @property
    def is_gaussian(self) -> bool:
        """Whether f at a new row is normal."""
        return self.posterior.is_gaussian

    def latent_mean(self, X: Any) -> Array:
        """Posterior mean of f at new rows, shape (n,); needs no k(x, x)."""
        mean = np.empty(X.shape[0])
        for block, K_star, _ in self.blocks(X):
            mean[block] = self.posterior.latent_mean(K_star)
        return mean

    def log_density(self, X: Any, y: Array) -> Array:
        """ln of the probability (density) of y at new rows, averaged over the posterior; shape (n,)."""
        out = np.empty(X.shape[0])
        for block, K_star, k_diag in self.blocks(X):
            out[block] = self.posterior.log_predictive(self.likelihood, y[block], K_star, k_diag())
        return out

    def without_nugget(self) -> "LatentModel":
        """The same model of the function alone: its WhiteKernel terms count as noise."""
        return replace(self, kernel=without_white(self.kernel))

    def nugget(self, X: Any) -> Array:
        """Variance of the WhiteKernel terms at new rows, shape (n,)."""
        if isinstance(self.kernel, PrecomputedKernel):
            return np.zeros(X.shape[0])
        return diag(self.kernel, X) - diag(without_white(self.kernel), X)

    def log_odds(self, X: Any, probability: Probability) -> Array:
        """ln P(+1 | x)/P(-1 | x) by averaging, at the posterior mean or at the MAP (Sollich 2002, 33, 36, 37)."""
        out = np.empty(X.shape[0])
        for block, K_star, k_diag in self.blocks(X):
            if probability == "average" and self.posterior.has_variance:
                out[block] = self.posterior.log_odds(self.likelihood, K_star, k_diag())
            else:
                chosen = self.svm if probability == "map" and self.svm is not None else self.posterior
                out[block] = self.likelihood.log_odds(chosen.latent_mean(K_star))
        return out

    def left_out_log_odds(self, *, whole: bool = True) -> Array | None:
        """Log-odds of the training rows without all copies of a row, or without one of them, shape (n,).

        None where the posterior has no cavities.
        """
        if self.posterior.cavities() is None:
            return None
        one, weight = np.ones_like(self.rows.y), self.rows.weight
        share = None if whole else 1.0 / np.maximum(weight, 1.0)
        up, down = (
            leave_one_out(self.posterior, Problem(np.empty((0, 0)), sign * one, self.likelihood), share).log_z
            for sign in (1.0, -1.0)
        )
        return up - down

    def linear(self) -> Coefficients | None:
        """The posterior mean as a linear function; None if the kernel is not linear."""
        posterior: Any = self.posterior
        return linear_coefficients(self.kernel, self._basis, posterior.beta[:, None])

    def covariance(self, X: Any) -> Array:
        """Joint posterior covariance of f at new rows, shape (n, n)."""
        K_star = gram(self.kernel, X, self._basis)
        return self.posterior.latent_covariance(K_star, gram(self.kernel, X))

    def sample(self, X: Any, n_samples: int, random_state: np.random.RandomState) -> Array:
        """Draw latent functions from the posterior at new rows, shape (n, n_samples)."""
        if isinstance(self.kernel, PrecomputedKernel):
            _no_diagonal()
        K_star = gram(self.kernel, X, self._basis)
        return self.posterior.sample(K_star, gram(self.kernel, X), n_samples, random_state)


def _no_diagonal() -> Array:
    raise ValueError(
        "latent variances need k(x, x) at the new rows, which a precomputed kernel does not give; "
        "ask for means only (a classifier: probability='mean' or 'map'), use inference='map', or give a kernel object"
    )
