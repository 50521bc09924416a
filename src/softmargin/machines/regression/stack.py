"""A stack of regressions: predictive densities mixed by Bayesian stacking on leave-one-out (Yao et al. 2018).

The mixture's density and distribution function are weighted sums of its members'; its quantile lies between the
smallest and the largest of theirs, where Newton's method finds it; its moments are those of a mixture.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from scipy.special import logsumexp

from softmargin._linalg import Array
from softmargin.kernels import NoInputDerivativeError
from softmargin.machines.importance import differences
from softmargin.machines.regression.predictive import Predictive
from softmargin.machines.regression.warped_target import WarpedPredictive
from softmargin.machines.warp import Warp

MAX_NEWTON = 100


class Distribution(Protocol):
    """Distributions of y at n rows."""

    def log_density(self, y: Array) -> Array:
        """ln of the density at y, shape (n,)."""
        ...

    def cdf(self, y: Array) -> Array:
        """Probability of a target up to y, shape (n,)."""
        ...

    def quantile(self, levels: Array) -> Array:
        """Shape (n, n_levels)."""
        ...


@dataclass(frozen=True)
class DensityMember:
    """One machine of a stack of regressions.

    Parameters
    ----------
    name : str
        "tube", "tube_warped_target", "gaussian" or "gaussian_warped" (inputs).
    predictive : Predictive or WarpedPredictive
        Gives the predictive distributions at new rows.
    warp : Warp or None
        What happens to the inputs first.
    """

    name: str
    predictive: Predictive | WarpedPredictive = field(repr=False)
    warp: Warp | None = field(default=None, repr=False)

    def inputs(self, X: Any) -> Any:
        """The inputs that the machine sees."""
        return X if self.warp is None else self.warp(X)

    def mean_slopes(self, X: Any) -> Array:
        """Derivatives of the mean of y, shape (n, d): in closed form, or where there is none by central differences."""
        inner = self.inputs(X)
        try:
            found = self.predictive.mean_slopes(inner)
        except NoInputDerivativeError:
            found = differences(lambda X: self.predictive.mean(X)[:, None], inner)[:, 0]
        return found if self.warp is None else found * self.warp.slope(X)

    def __repr__(self) -> str:
        return f"Member({self.name!r})"


@dataclass(frozen=True)
class MixtureDistribution:
    """Mixtures of distributions of y at n rows."""

    parts: list[Distribution]
    weights: Array

    def log_density(self, y: Array) -> Array:
        """ln of the density at y, shape (n,)."""
        log_p: Array = logsumexp([part.log_density(y) for part in self.parts], b=self.weights[:, None], axis=0)
        return log_p

    def cdf(self, y: Array) -> Array:
        """Probability of a target up to y, shape (n,)."""
        p: Array = self.weights @ np.stack([part.cdf(y) for part in self.parts])
        return p

    def quantile(self, levels: Array) -> Array:
        """Invert the distribution function; shape (n, n_levels)."""
        own = np.stack([part.quantile(levels) for part in self.parts])
        return np.stack([self._invert(float(q), own[:, :, k]) for k, q in enumerate(levels)], axis=1)

    def _invert(self, level: float, own: Array) -> Array:
        """Newton's method between the smallest and the largest of the parts' quantiles, shape (n_parts, n)."""
        low, high = own.min(axis=0), own.max(axis=0)
        unit = high - low + np.abs(high) * 1e-6
        y = self.weights @ own
        for _ in range(MAX_NEWTON):
            excess = self.cdf(y) - level
            low, high = np.where(excess < 0, y, low), np.where(excess < 0, high, y)
            proposal = y - excess / np.maximum(np.exp(self.log_density(y)), 1e-280)
            proposal = np.where((proposal >= low) & (proposal <= high), proposal, 0.5 * (low + high))
            moved, y = np.abs(proposal - y), proposal
            if np.all(moved <= 1e-9 * unit):
                break
        return y


@dataclass(frozen=True)
class RegressionStack:
    """Members and their weights, with the predictions of the mixture in the units of y."""

    members: list[DensityMember]
    weights: Array

    def at(self, X: Any) -> MixtureDistribution:
        """The distributions of y at rows."""
        return MixtureDistribution([m.predictive.at(m.inputs(X)) for m in self.members], self.weights)

    def mean(self, X: Any) -> Array:
        """Mean of y, shape (n,)."""
        mean: Array = self.weights @ np.stack([m.predictive.mean(m.inputs(X)) for m in self.members])
        return mean

    def mean_and_std(self, X: Any) -> tuple[Array, Array]:
        """Mean and standard deviation of y, noise included, shape (n,) each."""
        means, stds = self._of_members(lambda m: m.predictive.mean_and_std(m.inputs(X)))
        mean, variance = self._moments(means, stds**2)
        return mean, np.sqrt(variance)

    def mean_and_covariance(self, X: Any) -> tuple[Array, Array]:
        """Mean, shape (n,), and joint covariance of the targets, shape (n, n)."""
        means, covariances = self._of_members(lambda m: m.predictive.mean_and_covariance(m.inputs(X)))
        mean = self.weights @ means
        gaps = means - mean
        return mean, np.einsum("k,kij->ij", self.weights, covariances) + (gaps.T * self.weights) @ gaps

    def quantiles(self, X: Any, levels: Array) -> Array:
        """Quantiles of y, shape (n, n_levels)."""
        return self.at(X).quantile(levels)

    def log_density(self, X: Any, y: Array) -> Array:
        """ln p(y | x), shape (n,)."""
        return self.at(X).log_density(y)

    def latent(self, X: Any) -> tuple[Array, Array]:
        """Mean and variance of the function without the noise, shape (n,) each."""
        return self._moments(*self._of_members(lambda m: m.predictive.latent(m.inputs(X))))

    def sample_latent(self, X: Any, n_samples: int, rng: np.random.RandomState) -> Array:
        """Draw functions, shape (n, n_samples)."""
        return self._sample(n_samples, rng, lambda m, n: m.predictive.sample_latent(m.inputs(X), n, rng))

    def sample_y(self, X: Any, n_samples: int, rng: np.random.RandomState) -> Array:
        """Draw targets, function plus noise, shape (n, n_samples)."""
        return self._sample(n_samples, rng, lambda m, n: m.predictive.sample_y(m.inputs(X), n, rng))

    def _of_members(self, moments: Callable[[DensityMember], tuple[Array, Array]]) -> tuple[Array, Array]:
        """First and second moments of every member, stacked."""
        first, second = zip(*(moments(member) for member in self.members))
        return np.stack(first), np.stack(second)

    def _moments(self, means: Array, variances: Array) -> tuple[Array, Array]:
        """Mean and variance of the mixture, shape (n,) each."""
        mean = self.weights @ means
        return mean, self.weights @ (variances + (means - mean) ** 2)

    def _sample(self, n_samples: int, rng: np.random.RandomState, draw: Callable[[DensityMember, int], Array]) -> Array:
        """Whole functions from the members, each as often as chance has it, in random order."""
        counts = rng.multinomial(n_samples, self.weights)
        drawn = [draw(member, int(count)) for member, count in zip(self.members, counts) if count]
        return np.concatenate(drawn, axis=1)[:, rng.permutation(n_samples)]
