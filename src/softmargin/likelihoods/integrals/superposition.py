"""The epsilon-insensitive density as a superposition of Gaussians (Pontil, Mukherjee & Girosi 1998).

A density p with exponential tails of rate C is the convolution of the Laplace density (C/2) exp(-C |x|) with
(1 - C^-2 d^2/dx^2) p. For p = kappa exp(-C max(|x| - epsilon, 0)) the second derivative is C^2 p beyond the kinks, zero
between them, and -C kappa at each: what is left are the distribution of the means,

    lambda(m) = kappa [1(|m| < epsilon) + (delta(m - epsilon) + delta(m + epsilon))/C],

of mass kappa (2 epsilon + 2/C) = 1, and the Laplace density, whose variances are exponential with mean 2/C^2.
"""

from typing import NamedTuple

import numpy as np

from softmargin.likelihoods._protocol import Array


class Superposition(NamedTuple):
    """The epsilon-insensitive density as Gaussians N(m, s) with independent means and variances.

    References
    ----------
    Sollich (2002), Bayesian methods for support vector machines, section 2; Pontil, Mukherjee & Girosi (1998), On the
    noise model of support vector machine regression.

    Examples
    --------
    >>> from softmargin.likelihoods import EpsilonInsensitive
    >>> parts = EpsilonInsensitive(C=2.0, epsilon=0.5).superposition()
    >>> parts, parts.edge, parts.mean_variance
    (Superposition(C=2.0, epsilon=0.5), 0.25, 0.5)
    """

    C: float
    """Inverse scale of the tails."""
    epsilon: float
    """Half-width of the flat top."""

    @property
    def edge(self) -> float:
        """The probability of each of the means -epsilon and epsilon; the rest is uniform between them."""
        return 0.5 / (1 + self.epsilon * self.C)

    @property
    def mean_variance(self) -> float:
        """Average of the variances, 2/C^2: they are exponentially distributed."""
        return 2 / self.C**2

    def variance_density(self, s: Array) -> Array:
        """Return the density of the variances at s: exponential."""
        return np.exp(-s / self.mean_variance) / self.mean_variance

    def sample(self, shape: tuple[int, ...], rng: np.random.RandomState) -> tuple[Array, Array]:
        """Draw means and variances."""
        u = rng.uniform(size=shape)
        flat = rng.uniform(-self.epsilon, self.epsilon, size=shape)
        mean = np.where(u < self.edge, -self.epsilon, np.where(u > 1 - self.edge, self.epsilon, flat))
        return mean, rng.exponential(self.mean_variance, size=shape)
