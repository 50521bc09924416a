"""What a fitted regression says of y at new rows, in the units of y.

The predictive distribution is that of a latent value plus the noise (Gao, Gunn & Harris, eq. 5.2), in closed form for a
Gaussian posterior and epsilon-insensitive noise, and an average of such distributions for a sampled posterior.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from softmargin._linalg import Array
from softmargin.inference import SampledPosterior
from softmargin.kernels import diag, gram
from softmargin.likelihoods import NoiseMixture, SampledMixture
from softmargin.machines.regression.target import TargetUnits
from softmargin.tuning import LatentModel, mean_slopes

BLOCK = 200_000
"""One-dimensional distributions inverted at once."""


@dataclass(frozen=True)
class TargetDistribution:
    """Distributions of y = center + scale t at n rows, given those of t."""

    mixture: NoiseMixture
    units: TargetUnits

    def log_density(self, y: Array) -> Array:
        """ln of the density at y, shape (n,)."""
        return self.mixture.log_density(self.units.scaled(y)) - np.log(self.units.scale)

    def cdf(self, y: Array) -> Array:
        """Probability of a target up to y, shape (n,)."""
        return self.mixture.cdf(self.units.scaled(y))

    def quantile(self, levels: Array) -> Array:
        """Shape (n, n_levels)."""
        return self.units.center + self.units.scale * self.mixture.quantile(levels)


@dataclass(frozen=True)
class Predictive:
    """The predictions of one model of a scaled target."""

    model: LatentModel
    smooth: LatentModel
    """The same without its WhiteKernel terms, which count as noise."""
    units: TargetUnits

    @classmethod
    def of(cls, model: LatentModel, units: TargetUnits) -> "Predictive":
        """Predict with a model of the scaled target."""
        return cls(model, model.without_nugget(), units)

    def at(self, X: Any) -> TargetDistribution:
        """The distributions of y at rows (of a posterior that is Gaussian)."""
        return TargetDistribution(self._mixture(X), self.units)

    def mean(self, X: Any) -> Array:
        """Mean of y, shape (n,)."""
        return self._to_y(self.smooth.latent_mean(X))

    def mean_slopes(self, X: Any) -> Array:
        """Derivatives of the mean of y with respect to the inputs, shape (n, d)."""
        return self.units.scale * mean_slopes(self.smooth, X)

    def mean_and_std(self, X: Any) -> tuple[Array, Array]:
        """Mean and standard deviation of y, noise included, shape (n,) each."""
        mixture = self._mixture(X)
        return self._to_y(mixture.mean), mixture.std * self.units.scale

    def mean_and_covariance(self, X: Any) -> tuple[Array, Array]:
        """Mean, shape (n,), and joint covariance of the targets, shape (n, n)."""
        mean, _ = self.smooth.latent(X)
        noise = self.model.likelihood.noise_variance + self.model.nugget(X)
        covariance = self.smooth.covariance(X) + np.diag(noise)
        return self._to_y(mean), covariance * self.units.scale**2

    def quantiles(self, X: Any, levels: Array) -> Array:
        """Quantiles of y, shape (n, n_levels)."""
        if isinstance(self.smooth.posterior, SampledPosterior):
            return self._to_y(self._sampled_quantiles(self.smooth.posterior, X, levels))
        return self._to_y(self._mixture(X).quantile(levels))

    def log_density(self, X: Any, y: Array) -> Array:
        """ln p(y | x), shape (n,)."""
        return self.model.log_density(X, self.units.scaled(y)) - np.log(self.units.scale)

    def latent(self, X: Any) -> tuple[Array, Array]:
        """Mean and variance of the function without the noise, shape (n,) each."""
        mean, variance = self.smooth.latent(X)
        return self._to_y(mean), variance * self.units.scale**2

    def sample_latent(self, X: Any, n_samples: int, rng: np.random.RandomState) -> Array:
        """Draw functions, shape (n, n_samples)."""
        return self._to_y(self.smooth.sample(X, n_samples, rng))

    def sample_y(self, X: Any, n_samples: int, rng: np.random.RandomState) -> Array:
        """Draw targets, function plus noise, shape (n, n_samples)."""
        latent = self.smooth.sample(X, n_samples, rng)
        nugget = np.sqrt(self.model.nugget(X))[:, None] * rng.standard_normal(latent.shape)
        return self._to_y(latent + nugget + self.model.likelihood.sample_noise(latent.shape, rng))

    def _mixture(self, X: Any) -> NoiseMixture:
        """The predictive distribution of the scaled target."""
        mean, variance = self.smooth.latent(X)
        return NoiseMixture(self.model.likelihood, mean, variance + self.model.nugget(X))

    def _sampled_quantiles(self, posterior: SampledPosterior, X: Any, levels: Array) -> Array:
        """Quantiles of the scaled target averaged over the samples of the posterior, shape (n, n_levels)."""
        nugget, smooth = self.model.nugget(X), self.smooth
        out = np.empty((X.shape[0], len(levels)))
        step = max(1, BLOCK // len(posterior.kept()))
        for first in range(0, X.shape[0], step):
            part = X[first : first + step]
            K_star, k_diag = gram(smooth.kernel, part, smooth.rows.X), diag(smooth.kernel, part)
            means, variance = posterior.components(K_star, k_diag)
            mixture = SampledMixture(self.model.likelihood, means, variance + nugget[first : first + step])
            out[first : first + step] = mixture.quantile(levels)
        return out

    def _to_y(self, scaled: Array) -> Array:
        return self.units.center + self.units.scale * scaled
