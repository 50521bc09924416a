"""The noise of a regression likelihood, p(y | f) = p(y - f), by quadrature: what predictions of y need of it."""

from functools import lru_cache
from typing import Any

import numpy as np
from scipy.integrate import cumulative_trapezoid
from scipy.special import ndtr, ndtri

from softmargin.likelihoods._protocol import Array
from softmargin.likelihoods.integrals.quadrature import Rows, integrate
from softmargin.likelihoods.noise_mixture import NoiseMixture

FARTHEST = 60
"""The noise is integrated out to 2^60 of its units."""
NEGLIGIBLE = 1e-6
"""Share of the variance in the last octaves above which it counts as infinite."""
N_TABLE, TABLE_REACH = 40_001, 1e7
"""Entries of the table that samples are drawn from, and its reach in units of the noise."""
MAX_STEPS = 200
WIDEST = 1e8
"""Width of the Gaussian, in units of the noise, above which the noise cannot be seen in their sum."""


class NoiseDefaults:
    """Variance, distribution function, quantiles and samples of the noise (regression only), and those of a target."""

    @property
    def noise_variance(self) -> float:
        """Variance of y given f; infinite if the tails are too heavy."""
        return _variance(self)

    def noise_cdf(self, d: Array, s: Array) -> Array:
        """Probability that the noise plus a Gaussian of standard deviation s is at most d, shape (n,)."""
        d, s = (np.array(a, dtype=float) for a in np.broadcast_arrays(d, s))
        unit = _unit(self)
        near = unit * 2.0 ** np.arange(-4, FARTHEST, 2)
        step = s[:, None] * np.array([-8.0, -2.0, 0.0, 2.0, 8.0])
        edges = np.tile(np.concatenate([-near[::-1], [0.0], near]), (len(d), 1))
        edges = np.sort(np.clip(np.concatenate([edges, d[:, None] + step], axis=1), -near[-1], near[-1]), axis=1)

        def values(rows: Rows, e: Array) -> Array:
            return (_density(self, e) * ndtr((d[rows, None] - e) / s[rows, None]))[None]

        return np.clip(integrate(values, edges)[0], 0.0, 1.0)

    def noise_quantile(self, level: float, s: Array) -> Array:
        """Invert `noise_cdf` at a level, shape (n,): Newton's method inside a bracket."""
        s = np.asarray(s, dtype=float)
        wide = s > WIDEST * _unit(self)
        if np.any(wide):
            quantile: Array = s * ndtri(level)
            quantile[~wide] = self.noise_quantile(level, s[~wide]) if not np.all(wide) else 0.0
            return quantile
        unit = np.maximum(s, _unit(self))
        low, high = -unit, unit.copy()
        for end, sign in ((low, 1.0), (high, -1.0)):
            while np.any(out := sign * (self.noise_cdf(end, s) - level) > 0):
                end[out] *= 4
        d = np.zeros_like(s)
        for _ in range(MAX_STEPS):
            excess = self.noise_cdf(d, s) - level
            low, high = np.where(excess < 0, d, low), np.where(excess < 0, high, d)
            slope = np.exp(self.tilted_moments(d, np.zeros_like(d), s**2).log_z)  # type: ignore[attr-defined]
            proposal = d - excess / np.maximum(slope, 1e-280)
            proposal = np.where((proposal > low) & (proposal < high), proposal, 0.5 * (low + high))
            moved, d = np.abs(proposal - d), proposal
            if np.all(moved <= 1e-11 * (unit + np.abs(d))):
                break
        return d

    def sample_noise(self, shape: tuple[int, ...], rng: np.random.RandomState) -> Array:
        """Draw from the noise density."""
        e, cdf = _table(self)
        return np.interp(rng.uniform(size=shape), cdf, e)

    def predictive(self, mean: Array, variance: Array) -> NoiseMixture:
        """The distributions of y where the latent value is Gaussian, f ~ N(mean, variance), each of shape (n,)."""
        return NoiseMixture(self, mean, variance)


def _density(likelihood: Any, e: Array) -> Array:
    with np.errstate(over="ignore"):
        return np.exp(likelihood.log_prob(e.ravel(), np.zeros(e.size)).reshape(e.shape))


@lru_cache(maxsize=64)
def _unit(likelihood: Any) -> float:
    """The size of a typical error: where |e| p(e) is largest."""
    e = np.geomspace(1e-8, 1e8, 641)
    mass = e * np.maximum(_density(likelihood, e), _density(likelihood, -e))
    return float(e[np.argmax(mass)])


@lru_cache(maxsize=64)
def _variance(likelihood: Any) -> float:
    near = _unit(likelihood) * 2.0 ** np.arange(-4, FARTHEST)

    def values(rows: Rows, e: Array) -> Array:
        p = _density(likelihood, e)
        return np.stack([p, p * e, p * e * e])

    edges = np.concatenate([-near[::-1], [0.0], near])
    total, mean, second = integrate(values, edges[None])[:, 0]
    inner = integrate(values, edges[None, 10:-10])[2, 0]
    return float(second / total - (mean / total) ** 2) if second - inner <= NEGLIGIBLE * second else float("inf")


@lru_cache(maxsize=16)
def _table(likelihood: Any) -> tuple[Array, Array]:
    """Points e and the distribution function there, each of shape (N_TABLE,)."""
    reach = np.arcsinh(TABLE_REACH)
    e = _unit(likelihood) * np.sinh(np.linspace(-reach, reach, N_TABLE))
    cdf = cumulative_trapezoid(_density(likelihood, e), e, initial=0.0)
    return e, cdf / cdf[-1]
