"""A stack of regressions: predictive densities mixed by Bayesian stacking on leave-one-out (Yao et al. 2018).

Densities and quantiles are those of a `MixtureDistribution`, moments and samples those of a mixture, all stretched
around the mean by one factor for what the hyperparameters took from the data.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from softmargin._linalg import Array
from softmargin.kernels import NoInputDerivativeError
from softmargin.machines.importance import differences
from softmargin.machines.regression.mixture import Distribution, MixtureDistribution, WidenedDistribution
from softmargin.machines.regression.predictive import Predictive
from softmargin.machines.regression.varying import VaryingPredictive
from softmargin.machines.regression.warped_target import WarpedPredictive
from softmargin.machines.warp import Warp


@dataclass(frozen=True)
class DensityMember:
    """One machine of a stack of regressions.

    Parameters
    ----------
    name : str
        "tube", "tube_warped_target", "gaussian", "gaussian_warped" (inputs), or with a noise that varies with x
        "tube_varying" or "gaussian_varying".
    predictive : Predictive, WarpedPredictive or VaryingPredictive
        Gives the predictive distributions at new rows.
    warp : Warp or None
        What happens to the inputs first.
    """

    name: str
    predictive: Predictive | WarpedPredictive | VaryingPredictive = field(repr=False)
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
class RegressionStack:
    """Members and their weights, with the predictions of the mixture in the units of y."""

    members: list[DensityMember]
    weights: Array
    width: float = 1.0
    """Factor on all deviations from the mean."""

    def at(self, X: Any) -> Distribution:
        """The distributions of y at rows."""
        mixture = MixtureDistribution([m.predictive.at(m.inputs(X)) for m in self.members], self.weights)
        return mixture if self.width == 1 else WidenedDistribution(mixture, self.mean(X), self.width)

    def mean(self, X: Any) -> Array:
        """Mean of y, shape (n,)."""
        mean: Array = self.weights @ np.stack([m.predictive.mean(m.inputs(X)) for m in self.members])
        return mean

    def mean_and_std(self, X: Any) -> tuple[Array, Array]:
        """Mean and standard deviation of y, noise included, shape (n,) each."""
        means, stds = self._of_members(lambda m: m.predictive.mean_and_std(m.inputs(X)))
        mean, variance = self._moments(means, stds**2)
        return mean, self.width * np.sqrt(variance)

    def mean_and_covariance(self, X: Any) -> tuple[Array, Array]:
        """Mean, shape (n,), and joint covariance of the targets, shape (n, n)."""
        means, covariances = self._of_members(lambda m: m.predictive.mean_and_covariance(m.inputs(X)))
        mean = self.weights @ means
        gaps = means - mean
        covariance = np.einsum("k,kij->ij", self.weights, covariances) + (gaps.T * self.weights) @ gaps
        return mean, self.width**2 * covariance

    def quantiles(self, X: Any, levels: Array) -> Array:
        """Quantiles of y, shape (n, n_levels)."""
        return self.at(X).quantile(levels)

    def log_density(self, X: Any, y: Array) -> Array:
        """ln p(y | x), shape (n,)."""
        return self.at(X).log_density(y)

    def latent(self, X: Any) -> tuple[Array, Array]:
        """Mean and variance of the function without the noise, shape (n,) each."""
        mean, variance = self._moments(*self._of_members(lambda m: m.predictive.latent(m.inputs(X))))
        return mean, self.width**2 * variance

    def sample_latent(self, X: Any, n_samples: int, rng: np.random.RandomState) -> Array:
        """Draw functions, shape (n, n_samples)."""
        drawn = self._sample(n_samples, rng, lambda m, n: m.predictive.sample_latent(m.inputs(X), n, rng))
        return self._widened(drawn, self.latent(X)[0])

    def sample_y(self, X: Any, n_samples: int, rng: np.random.RandomState) -> Array:
        """Draw targets, function plus noise, shape (n, n_samples)."""
        drawn = self._sample(n_samples, rng, lambda m, n: m.predictive.sample_y(m.inputs(X), n, rng))
        return self._widened(drawn, self.mean(X))

    def _widened(self, drawn: Array, mean: Array) -> Array:
        """Draws, shape (n, n_samples), stretched around their mean."""
        return drawn if self.width == 1 else mean[:, None] + self.width * (drawn - mean[:, None])

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
