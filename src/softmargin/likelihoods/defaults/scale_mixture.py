"""What Student's t has as a mixture of normal densities over their scale, in place of adaptive quadrature."""

from typing import ClassVar

import numpy as np

from softmargin.likelihoods._protocol import Array, ExpectedLogProb, TiltedMoments, power
from softmargin.likelihoods.defaults.likelihood import LikelihoodDefaults
from softmargin.likelihoods.integrals import scale_mixture


class ScaleMixtureDefaults(LikelihoodDefaults):
    """Integrals of a t density of width `scale` with `df` degrees of freedom; see `integrals.scale_mixture`."""

    scale: float
    df: float

    is_classifier: ClassVar[bool] = False

    @property
    def noise_variance(self) -> float:
        """The mean of the mixed variances, scale^2 df/(df - 2); infinite for df <= 2."""
        return self.scale**2 * self.df / (self.df - 2) if self.df > 2 else float("inf")

    def tilted_moments(self, y: Array, m: Array, v: Array, weight: Array | None = None) -> TiltedMoments:
        """Integrate p(y | f)^w against N(f; m, v); by adaptive quadrature where the weight is extreme."""
        y, m, v, w = np.broadcast_arrays(*np.atleast_1d(y, m, v, power(weight)))
        k = 0.5 * w * (self.df + 1)
        mixed = (k >= scale_mixture.SHAPES[0]) & (k <= scale_mixture.SHAPES[1])
        if not np.any(mixed):
            return super().tilted_moments(y, m, v, w)
        if np.all(mixed):
            return scale_mixture.tilted_moments(y, m, v, w, self.scale, self.df)
        found = scale_mixture.tilted_moments(y[mixed], m[mixed], v[mixed], w[mixed], self.scale, self.df)
        others = super().tilted_moments(y[~mixed], m[~mixed], v[~mixed], w[~mixed])
        parts = []
        for one, other in zip(found, others):
            parts.append(np.empty((*one.shape[:-1], len(y))))
            parts[-1][..., mixed], parts[-1][..., ~mixed] = one, other
        return TiltedMoments(*parts)

    def expected_log_prob(self, y: Array, m: Array, v: Array, weight: Array | None = None) -> ExpectedLogProb:
        """Average w ln p(y | f) over f ~ N(m, v)."""
        y, m, v, w = np.broadcast_arrays(*np.atleast_1d(y, m, v, power(weight)))
        found = scale_mixture.expected_log_prob(y, m, v, self.scale, self.df)
        return ExpectedLogProb(*(w * part for part in found))

    def noise_cdf(self, d: Array, s: Array) -> Array:
        """Probability that the noise plus a Gaussian of standard deviation s is at most d, shape (n,)."""
        d, s = np.broadcast_arrays(*np.atleast_1d(d, s))
        return scale_mixture.noise_cdf(d, s, self.scale, self.df) if self.df >= 1 else super().noise_cdf(d, s)
