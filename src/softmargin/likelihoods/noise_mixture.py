"""The distribution of a new target: Gaussian latent value plus the noise of a regression likelihood.

Gao, Gunn & Harris, eq. 5.2, for any noise: the likelihood gives the distribution function and the quantiles of its
noise plus a Gaussian (`noise_cdf`, `noise_quantile`), in closed form for the epsilon-insensitive one.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from softmargin.likelihoods._protocol import Array

NARROWEST = 1e-8
"""Smallest standard deviation of the latent value, in units of the noise's: less cannot be told from a point."""
MAX_NEWTON = 100


@dataclass(frozen=True)
class NoiseMixture:
    """Predictive distributions of the target at n rows.

    Parameters
    ----------
    likelihood : Likelihood
        Of regression.
    mean, variance : ndarrays of shape (n,)
        Of the Gaussian part (the latent value, and a nugget where there is one).

    See Also
    --------
    SampledMixture : The same when the posterior is a set of samples.

    References
    ----------
    Gao, Gunn & Harris (2003), Mean field method for the support vector machine regression, eq. 5.2.

    Examples
    --------
    >>> from softmargin.likelihoods import EpsilonInsensitive
    >>> mixture = NoiseMixture(EpsilonInsensitive(C=10.0, epsilon=0.1), np.zeros(1), np.full(1, 0.01))
    >>> mixture.quantile(np.array([0.025, 0.5, 0.975])).round(4) + 0.0
    array([[-0.38,  0.  ,  0.38]])
    """

    likelihood: Any
    mean: Array = field(repr=False)
    variance: Array = field(repr=False)

    @property
    def std(self) -> Array:
        """Standard deviation of the target, shape (n,)."""
        return np.sqrt(self.variance + self.likelihood.noise_variance)

    def log_density(self, y: Array) -> Array:
        """ln of the density at y, shape (n,)."""
        return np.asarray(self.likelihood.tilted_moments(y, self.mean, self._width() ** 2).log_z)

    def cdf(self, y: Array) -> Array:
        """Probability of a target up to y, shape (n,)."""
        return np.asarray(self.likelihood.noise_cdf(y - self.mean, self._width()))

    def quantile(self, q: Array) -> Array:
        """Invert the distribution function; shape (n, n_q) for levels 0 < q < 1 of shape (n_q,)."""
        s = self._width()
        out = np.empty((len(self.mean), len(q)))
        for k, level in enumerate(q):
            out[:, k] = self.mean + self.likelihood.noise_quantile(float(level), s)
        return out

    def _width(self) -> Array:
        return np.maximum(np.sqrt(self.variance), NARROWEST * np.sqrt(_finite_variance(self.likelihood)))


@dataclass(frozen=True)
class SampledMixture:
    """Averages of `NoiseMixture` objects: predictive distributions when the posterior is a set of samples.

    Parameters
    ----------
    likelihood : Likelihood
        Of regression.
    means : ndarray of shape (n, n_samples)
        Mean of the Gaussian part at each row under each sample.
    variance : ndarray of shape (n,)
        Its variance, the same for all samples.

    See Also
    --------
    NoiseMixture : The same when the posterior is Gaussian.

    References
    ----------
    Gao, Gunn & Harris (2003), Mean field method for the support vector machine regression, eq. 5.2.

    Examples
    --------
    >>> from softmargin.likelihoods import EpsilonInsensitive
    >>> noise = EpsilonInsensitive(C=10.0, epsilon=0.1)
    >>> mixture = SampledMixture(noise, np.array([[-1.0, 1.0]]), np.full(1, 0.01))
    >>> mixture.quantile(np.array([0.025, 0.975])).round(2)
    array([[-1.31,  1.31]])
    """

    likelihood: Any
    means: Array = field(repr=False)
    variance: Array = field(repr=False)

    def cdf(self, y: Array) -> Array:
        """Probability of a target up to y, shape (n,)."""
        flat, t = self._flat(y)
        return flat.cdf(t).reshape(self.means.shape).mean(axis=1)

    def density(self, y: Array) -> Array:
        """Density at y, shape (n,)."""
        flat, t = self._flat(y)
        return np.exp(flat.log_density(t)).reshape(self.means.shape).mean(axis=1)

    def quantile(self, q: Array) -> Array:
        """Invert the distribution function; shape (n, n_q) for levels 0 < q < 1 of shape (n_q,)."""
        shift = NoiseMixture(self.likelihood, np.zeros(len(self.means)), self.variance).quantile(q)
        return np.stack([self._invert(float(level), d) for level, d in zip(q, shift.T)], axis=1)

    def _invert(self, level: float, shift: Array) -> Array:
        """Newton's method between the smallest and the largest quantile of the samples' own distributions."""
        low, high = self.means.min(axis=1) + shift, self.means.max(axis=1) + shift
        unit = np.sqrt(self.variance + _finite_variance(self.likelihood))
        t = self.means.mean(axis=1) + shift
        for _ in range(MAX_NEWTON):
            excess = self.cdf(t) - level
            low, high = np.where(excess < 0, t, low), np.where(excess < 0, high, t)
            proposal = t - excess / np.maximum(self.density(t), 1e-280)
            inside = (proposal >= low) & (proposal <= high)
            proposal = np.where(inside, proposal, 0.5 * (low + high))
            moved, t = np.abs(proposal - t), proposal
            if np.all(moved <= 1e-9 * unit):
                break
        return t

    def _flat(self, y: Array) -> tuple[NoiseMixture, Array]:
        """Every component as a row of its own, and the targets likewise."""
        variance, t = (np.broadcast_to(a[:, None], self.means.shape).ravel() for a in (self.variance, y))
        return NoiseMixture(self.likelihood, self.means.ravel(), variance), t


def _finite_variance(likelihood: Any) -> float:
    """The noise's variance, or where it is infinite the square of half the distance between the quartiles."""
    variance = float(likelihood.noise_variance)
    if np.isfinite(variance):
        return variance
    low, high = (float(likelihood.noise_quantile(level, np.full(1, 1e-9))[0]) for level in (0.25, 0.75))
    return (0.5 * (high - low)) ** 2
