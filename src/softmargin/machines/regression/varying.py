"""Predictions of y by a machine of t = (y - center)/s(x), for a noise scale s(x) that varies with x.

The function's part of y is center + s(x) f(x), where s is its posterior mean (in the logarithm), the same that the
machine was fitted with: the scale of the function is not uncertain. The noise's part is s(x) q(x) e, where ln q is
normal with the variance of ln s: distributions are averaged over q at the nodes of Gauss and Hermite.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import logsumexp

from softmargin._linalg import Array
from softmargin.likelihoods import Likelihood, NoiseMixture
from softmargin.machines.regression.mixture import MixtureDistribution
from softmargin.machines.regression.noise_scale import NoiseScale
from softmargin.machines.regression.predictive import Predictive
from softmargin.tuning import latent_slopes

N_NODES = 3


def nodes() -> tuple[Array, Array]:
    """Nodes and weights for an average over a standard normal variable, shape (N_NODES,) each."""
    x, weight = np.polynomial.hermite_e.hermegauss(N_NODES)
    return x, weight / weight.sum()


def log_density_of_scaled_noise(
    noise: Likelihood, t: Array, mean: Array, variance: Array, log_q: Array, sd: Array
) -> Array:
    """ln of the density of t = f + q e, for f of this mean and variance and ln q of mean `log_q` and deviation `sd`.

    All are of shape (n,), as is the result.
    """
    parts = []
    for x, weight in zip(*nodes()):
        q = np.exp(log_q + sd * x)
        parts.append(noise.tilted_moments(t / q, mean / q, variance / q**2).log_z - np.log(q) + np.log(weight))
    log_p: Array = logsumexp(parts, axis=0)
    return log_p


@dataclass(frozen=True)
class ScaledDistribution:
    """Distributions of y = center + scale t at n rows, where each has a scale of its own."""

    inner: NoiseMixture
    center: float
    scale: Array

    def log_density(self, y: Array) -> Array:
        """ln of the density at y, shape (n,)."""
        return self.inner.log_density((y - self.center) / self.scale) - np.log(self.scale)

    def cdf(self, y: Array) -> Array:
        """Probability of a target up to y, shape (n,)."""
        return self.inner.cdf((y - self.center) / self.scale)

    def quantile(self, levels: Array) -> Array:
        """Shape (n, n_levels)."""
        return self.center + self.scale[:, None] * self.inner.quantile(levels)


@dataclass(frozen=True)
class VaryingPredictive:
    """The predictions of y by a model of t = (y - center)/s(x)."""

    inner: Predictive
    """Of t, whose center is 0."""
    scale: NoiseScale
    center: float

    def at(self, X: Any) -> MixtureDistribution:
        """The distributions of y at rows."""
        mean, variance = self.inner.smooth.latent(X)
        variance = variance + self.inner.model.nugget(X)
        log_s, sd = self.scale.log_moments(X)
        x, weights = nodes()
        noise, parts = self.inner.model.likelihood, []
        for q in np.exp(sd * x[:, None]):
            inner = NoiseMixture(noise, mean / q, variance / q**2)
            parts.append(ScaledDistribution(inner, self.center, q * self.inner.units.scale * np.exp(log_s)))
        return MixtureDistribution(parts, weights)

    def mean(self, X: Any) -> Array:
        """Mean of y, shape (n,)."""
        return self.center + self.scale(X) * self.inner.mean(X)

    def mean_slopes(self, X: Any) -> Array:
        """Derivatives of the mean of y with respect to the inputs, shape (n, d)."""
        # The mean of y is center + sum_j k(x, z_j) beta_j/s(z_j): only the basis z is divided by s.
        smooth: Any = self.inner.smooth
        basis = smooth.rows.X if smooth.basis is None else smooth.basis
        beta = self.inner.units.scale * smooth.posterior.beta / self.scale(basis)
        plain = replace(smooth, kernel=smooth.kernel.k1)
        return latent_slopes(plain, X, lambda mean, _: (np.ones_like(mean), None), beta)

    def mean_and_std(self, X: Any) -> tuple[Array, Array]:
        """Mean and standard deviation of y, noise included, shape (n,) each."""
        mean, variance = self.latent(X)
        return mean, np.sqrt(variance + self._noise_variance(X))

    def mean_and_covariance(self, X: Any) -> tuple[Array, Array]:
        """Mean, shape (n,), and joint covariance of the targets, shape (n, n)."""
        unit = self.scale(X) * self.inner.units.scale
        covariance = self.inner.smooth.covariance(X) * unit[:, None] * unit
        return self.mean(X), covariance + np.diag(self._noise_variance(X))

    def latent(self, X: Any) -> tuple[Array, Array]:
        """Mean and variance of the function without the noise, shape (n,) each."""
        s = self.scale(X)
        mean, variance = self.inner.latent(X)
        return self.center + s * mean, s**2 * variance

    def sample_latent(self, X: Any, n_samples: int, rng: np.random.RandomState) -> Array:
        """Draw functions, shape (n, n_samples)."""
        return self.center + self.scale(X)[:, None] * self.inner.sample_latent(X, n_samples, rng)

    def sample_y(self, X: Any, n_samples: int, rng: np.random.RandomState) -> Array:
        """Draw targets, function plus noise, shape (n, n_samples)."""
        model, unit = self.inner.model, self.inner.units.scale
        y = self.sample_latent(X, n_samples, rng)
        nugget = np.sqrt(model.nugget(X)) * self.scale(X) * unit
        noise = self.scale.sample(X, n_samples, rng) * unit * model.likelihood.sample_noise(y.shape, rng)
        return y + nugget[:, None] * rng.standard_normal(y.shape) + noise

    def _noise_variance(self, X: Any) -> Array:
        """Of the noise and the nugget, averaged over the scale; shape (n,)."""
        log_s, sd = self.scale.log_moments(X)
        x, weights = nodes()
        square = weights @ np.exp(2 * sd * x[:, None])
        model = self.inner.model
        unit: Array = np.exp(log_s) * self.inner.units.scale
        return unit**2 * (square * model.likelihood.noise_variance + model.nugget(X))
