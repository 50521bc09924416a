"""Mixtures of distributions of y.

The mixture's density and distribution function are weighted sums of its parts'; its quantile lies between the smallest
and the largest of theirs, where Newton's method finds it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.special import logsumexp

from softmargin._linalg import Array

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
class MixtureDistribution:
    """Mixtures of distributions of y at n rows."""

    parts: Sequence[Distribution]
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
class WidenedDistribution:
    """Distributions of y stretched around their means by a common factor."""

    inner: Distribution
    mean: Array
    """Shape (n,)."""
    width: float

    def log_density(self, y: Array) -> Array:
        """ln of the density at y, shape (n,)."""
        return self.inner.log_density(self._inside(y)) - np.log(self.width)

    def cdf(self, y: Array) -> Array:
        """Probability of a target up to y, shape (n,)."""
        return self.inner.cdf(self._inside(y))

    def quantile(self, levels: Array) -> Array:
        """Shape (n, n_levels)."""
        return self.mean[:, None] + self.width * (self.inner.quantile(levels) - self.mean[:, None])

    def _inside(self, y: Array) -> Array:
        return self.mean + (y - self.mean) / self.width
