"""Gaussian noise for regression: every inference is then exact, and the posterior that of a Gaussian process.

With p = 1/sigma^2 and s = 1 + w p v: ln Z = w ln(p/2 pi)/2 - ln(s)/2 - w p (y - m)^2/(2 s) (a row of weight w).
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import ndtr, ndtri

from softmargin.likelihoods._protocol import Array, Derivatives, ExpectedLogProb, TiltedMoments, power
from softmargin.likelihoods.defaults import LikelihoodDefaults


@dataclass(frozen=True)
class Gaussian(LikelihoodDefaults):
    """Gaussian likelihood.

    Parameters
    ----------
    sigma : float
        Standard deviation, in the units of y.

    See Also
    --------
    EpsilonInsensitive : The tube of support vector regression.
    StudentT : Noise with heavy tails.

    References
    ----------
    Rasmussen & Williams (2006), Gaussian processes for machine learning, section 2.2.

    Examples
    --------
    >>> import numpy as np
    >>> Gaussian(sigma=0.5).log_prob(np.array([1.0]), np.array([0.5])).round(4)
    array([-0.7258])
    """

    sigma: float = 0.4

    name: ClassVar[str] = "gaussian"
    param_names: ClassVar[tuple[str, ...]] = ("sigma",)
    is_classifier: ClassVar[bool] = False
    param_units: ClassVar[dict[str, float]] = {"sigma": 1.0}

    @property
    def noise_variance(self) -> float:
        """sigma^2."""
        return self.sigma**2

    def log_prob(self, y: Array, f: Array, weight: Array | None = None) -> Array:
        """Return w ln p(y | f)."""
        r = (y - f) / self.sigma
        return power(weight) * -0.5 * (r**2 + np.log(2 * np.pi * self.sigma**2))

    def derivatives(self, y: Array, f: Array, weight: Array | None = None) -> Derivatives:
        """Return slope (y - f)/sigma^2 and curvature -1/sigma^2."""
        w = power(weight) / self.sigma**2
        return Derivatives(w * (y - f), -w * np.ones_like(f))

    def d_log_prob_d_params(self, y: Array, f: Array, weight: Array | None = None) -> Array:
        """d log_prob / d sigma, shape (1, n)."""
        return np.atleast_2d(power(weight) * (((y - f) / self.sigma) ** 2 - 1) / self.sigma)

    def tilted_moments(self, y: Array, m: Array, v: Array, weight: Array | None = None) -> TiltedMoments:
        """Integrate p(y | f)^w against N(f; m, v)."""
        q, r = (np.ones_like(m) if weight is None else weight) / self.sigma**2, y - m
        s, w = 1 + q * v, q * self.sigma**2
        log_z = -0.5 * (w * np.log(2 * np.pi * self.sigma**2) + np.log(s) + q * r**2 / s)
        d_sigma = (q * v / s + q * r**2 / s**2 - w) / self.sigma
        return TiltedMoments(log_z, q * r / s, -q / s, d_sigma[None])

    def expected_log_prob(self, y: Array, m: Array, v: Array, weight: Array | None = None) -> ExpectedLogProb:
        """Average w ln p(y | f) over f ~ N(m, v)."""
        slope, curvature = self.derivatives(y, m, weight)
        d_params = self.d_log_prob_d_params(y, m, weight) - curvature * v / self.sigma
        return ExpectedLogProb(self.log_prob(y, m, weight) + 0.5 * v * curvature, slope, 0.5 * curvature, d_params)

    def initial_sites(self, y: Array, weight: Array | None = None) -> tuple[Array, Array]:
        """Return the likelihood itself as sites (tau, nu), each of shape (n,): EP starts where it ends."""
        tau = (np.ones_like(y) if weight is None else weight) / self.sigma**2
        return tau, tau * y

    def noise_cdf(self, d: Array, s: Array) -> Array:
        """Probability that the noise plus a Gaussian of standard deviation s is at most d."""
        return np.asarray(ndtr(d / np.hypot(self.sigma, s)))

    def noise_quantile(self, level: float, s: Array) -> Array:
        """Invert `noise_cdf` at a level, shape (n,)."""
        return float(ndtri(level)) * np.hypot(self.sigma, s)

    def sample_noise(self, shape: tuple[int, ...], rng: np.random.RandomState) -> Array:
        """Draw from the noise density."""
        return self.sigma * rng.standard_normal(shape)
