"""Predictions of y by a machine of a warped target t = t(y): see `TargetWarp`.

Quantiles of y are those of t, mapped back; the density of y is that of t times dt/dy. Moments are averages of the
inverse map over the latent value (Gauss-Hermite) and the tube noise (Gauss-Legendre on its flat top, Gauss-Laguerre on
its tails). The function that y is said to have is h(f) = E[y | f], averaged over the noise, so that as always
var y = var h(f) + E var(y | f).
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from softmargin._linalg import Array
from softmargin.likelihoods import EpsilonInsensitive
from softmargin.machines.regression.predictive import Predictive, TargetDistribution
from softmargin.machines.regression.target_warp import TargetWarp
from softmargin.tuning import latent_slopes

N_LATENT, N_TOP, N_TAIL = 16, 8, 12
BLOCK = 2048
"""Rows whose quadrature is held at once."""


class Moments(NamedTuple):
    """What a row's prediction needs, each of shape (n,)."""

    mean: Array
    variance: Array
    """Of y."""
    latent_variance: Array
    """Of h(f)."""
    slope: Array
    """E dh/df, which by Stein's lemma is cov(h, f)/var f."""
    curvature: Array
    """d E h/d var f = E h''/2 = E h (z^2 - 1)/(2 var f) for f = mean + sd z."""


@dataclass(frozen=True)
class WarpedDistribution:
    """Distributions of y at n rows, given those of t."""

    inner: TargetDistribution
    warp: TargetWarp

    def log_density(self, y: Array) -> Array:
        """ln of the density at y, shape (n,)."""
        return self.inner.log_density(self.warp(y)) + self.warp.log_slope(y)

    def cdf(self, y: Array) -> Array:
        """Probability of a target up to y, shape (n,)."""
        return self.inner.cdf(self.warp(y))

    def quantile(self, levels: Array) -> Array:
        """Shape (n, n_levels)."""
        return self.warp.inverse(self.inner.quantile(levels))


@dataclass(frozen=True)
class WarpedPredictive:
    """The predictions of y by a model of t = warp(y)."""

    inner: Predictive
    warp: TargetWarp

    def at(self, X: Any) -> WarpedDistribution:
        """The distributions of y at rows."""
        return WarpedDistribution(self.inner.at(X), self.warp)

    def mean(self, X: Any) -> Array:
        """Mean of y, shape (n,)."""
        return self._moments(X).mean

    def mean_slopes(self, X: Any) -> Array:
        """Derivatives of the mean of y with respect to the inputs, shape (n, d)."""
        units = self.inner.units

        def outer(mean: Array, variance: Array) -> tuple[Array, Array]:
            moments = self._at(units.center + units.scale * mean, units.scale**2 * variance)
            return units.scale * moments.slope, units.scale**2 * moments.curvature

        return latent_slopes(self.inner.smooth, X, outer)

    def mean_and_std(self, X: Any) -> tuple[Array, Array]:
        """Mean and standard deviation of y, noise included, shape (n,) each."""
        moments = self._moments(X)
        return moments.mean, np.sqrt(moments.variance)

    def mean_and_covariance(self, X: Any) -> tuple[Array, Array]:
        """Mean, shape (n,), and joint covariance of the targets, shape (n, n).

        Variances are exact; a covariance is the first term of its expansion in that of the latent values
        (Price's theorem), slope_i slope_j cov(f_i, f_j).
        """
        moments = self._moments(X)
        scale = self.inner.units.scale * moments.slope
        covariance = self.inner.smooth.covariance(X) * scale[:, None] * scale
        np.fill_diagonal(covariance, moments.variance)
        return moments.mean, covariance

    def latent(self, X: Any) -> tuple[Array, Array]:
        """Mean and variance of the function h(f), shape (n,) each."""
        moments = self._moments(X)
        return moments.mean, moments.latent_variance

    def sample_latent(self, X: Any, n_samples: int, rng: np.random.RandomState) -> Array:
        """Draw functions h(f), shape (n, n_samples)."""
        f = self.inner.sample_latent(X, n_samples, rng)
        return np.concatenate([self._outcomes(part) @ self._noise[1] for part in _blocks(f)])

    def sample_y(self, X: Any, n_samples: int, rng: np.random.RandomState) -> Array:
        """Draw targets, shape (n, n_samples)."""
        return self.warp.inverse(self.inner.sample_y(X, n_samples, rng))

    @cached_property
    def _noise(self) -> tuple[Array, Array]:
        """Nodes and weights of the noise of t, in the units of t."""
        noise = self.inner.model.likelihood.in_units(self.inner.units.scale)
        assert isinstance(noise, EpsilonInsensitive)
        return tube_nodes(noise)

    def _outcomes(self, f: Array) -> Array:
        """y at every node of the noise, for latent values f in the units of t: shape (*f.shape, n_nodes)."""
        return self.warp.inverse(f[..., None] + self._noise[0])

    def _moments(self, X: Any) -> Moments:
        return self._at(*self.inner.latent(X))

    def _at(self, mean: Array, variance: Array) -> Moments:
        """The moments for latent values in the units of t, shape (n,) each."""
        sd = np.sqrt(variance)
        x, weight = np.polynomial.hermite_e.hermegauss(N_LATENT)
        weight = weight / weight.sum()
        bend = 0.5 * weight * (x**2 - 1)
        parts = []
        for f in _blocks(mean[:, None] + sd[:, None] * x):
            y = self._outcomes(f)
            h = y @ self._noise[1]
            center = h @ weight
            spread = ((y - center[:, None, None]) ** 2 @ self._noise[1]) @ weight
            parts.append(np.stack([center, spread, (h - center[:, None]) ** 2 @ weight, h @ (weight * x), h @ bend]))
        center, spread, latent, along, bent = np.concatenate(parts, axis=1)
        return Moments(center, spread, latent, along / sd, bent / variance)


def tube_nodes(noise: EpsilonInsensitive) -> tuple[Array, Array]:
    """Nodes e and weights w of shape (n_nodes,) so that w @ g(e) is the mean of g over the noise."""
    top, top_weight = np.polynomial.legendre.leggauss(N_TOP)
    tail, tail_weight = np.polynomial.laguerre.laggauss(N_TAIL)
    q = noise.epsilon * noise.C
    far, far_weight = noise.epsilon + tail / noise.C, 0.5 * tail_weight / (1 + q)
    nodes = np.concatenate([-far[::-1], noise.epsilon * top, far])
    return nodes, np.concatenate([far_weight[::-1], 0.5 * top_weight * q / (1 + q), far_weight])


def _blocks(values: Array) -> list[Array]:
    """Blocks of rows, at least one."""
    step = max(1, BLOCK * N_LATENT // max(values.shape[1], 1))
    return [values[first : first + step] for first in range(0, max(len(values), 1), step)]
