"""The epsilon-insensitive noise density of support vector regression (Gao, Gunn & Harris, eq. 2.2).

p(t | f) = C / (2 (epsilon C + 1)) exp(-C max(|t - f| - epsilon, 0)). It is normalised over the target t.
Tilted moments are eqs. 3.5-3.9 in a form referred to the kinks t +- epsilon (`integrals/tube_moments.py`).
"""

from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np
from scipy.special import ndtr

from softmargin.likelihoods._protocol import Array, Derivatives, ExpectedLogProb, TiltedMoments, power
from softmargin.likelihoods.defaults import LikelihoodDefaults
from softmargin.likelihoods.integrals.gauss import log_phi, rho
from softmargin.likelihoods.integrals.kinks import kink_precision
from softmargin.likelihoods.integrals.superposition import Superposition
from softmargin.likelihoods.integrals.tube_moments import tube_moments
from softmargin.likelihoods.integrals.tube_noise import lower_cdf, lower_quantile
from softmargin.policy import POLICY
from softmargin.svm import BoxProblem


@dataclass(frozen=True)
class EpsilonInsensitive(LikelihoodDefaults):
    """Epsilon-insensitive likelihood.

    Parameters
    ----------
    C : float
        Inverse scale of the exponential tails.
    epsilon : float
        Half-width of the flat top.

    See Also
    --------
    Gaussian : Noise without a tube: the Gaussian process.
    StudentT : Noise with heavier tails, which bound an outlier's influence.

    References
    ----------
    Gao, Gunn & Harris (2003), Mean field method for the support vector machine regression, eqs. 2.2 and 3.5-3.9.

    Examples
    --------
    >>> import numpy as np
    >>> likelihood = EpsilonInsensitive(C=10.0, epsilon=0.1)
    >>> round(float(likelihood.noise_variance), 4)
    0.0267
    """

    C: float = 1.0
    epsilon: float = 0.1

    name: ClassVar[str] = "epsilon_insensitive"
    param_names: ClassVar[tuple[str, ...]] = ("C", "epsilon")
    param_units: ClassVar[dict[str, float]] = {"C": -1.0, "epsilon": 1.0}
    param_start: ClassVar[dict[str, float]] = {"C": 5.4, "epsilon": 0.4}
    is_classifier: ClassVar[bool] = False
    is_smooth: ClassVar[bool] = False

    @property
    def log_norm(self) -> float:
        """ln[C / (2 (epsilon C + 1))]."""
        return float(np.log(self.C / 2) - np.log1p(self.epsilon * self.C))

    @property
    def d_log_norm(self) -> Array:
        """Derivatives of `log_norm` with respect to C and epsilon."""
        q = 1 + self.epsilon * self.C
        return np.array([1 / self.C - self.epsilon / q, -self.C / q])

    @property
    def noise_variance(self) -> float:
        """2/C^2 + epsilon^2 (epsilon C + 3) / (3 (epsilon C + 1))."""
        q = self.epsilon * self.C
        return 2 / self.C**2 + self.epsilon**2 * (q + 3) / (3 * (q + 1))

    def scale_and_shape(self) -> tuple[float, float]:
        """Return the standard deviation sigma and q = epsilon C, which the data determine nearly independently.

        sigma^2 C^2 = h(q) = 2 + q^2 (q + 3)/(3 (q + 1)).
        """
        return float(np.sqrt(self.noise_variance)), max(self.epsilon * self.C, POLICY.likelihood.shape[0])

    def with_scale_and_shape(self, sigma: float, shape: float) -> Self:
        """Return the noise with this standard deviation and this epsilon C."""
        C = float(np.sqrt(_h(shape)) / sigma)
        return replace(self, C=C, epsilon=float(shape / C))

    def d_scale_and_shape(self, shape: float, d_params: Array) -> Array:
        """Turn derivatives with respect to C and epsilon into those with respect to ln sigma and ln q, shape (2,)."""
        q = shape
        # d ln C/d ln q = q h'/(2 h), h' = 2 (q^3 + 3 q^2 + 3 q)/(3 (q + 1)^2)
        slope = q * (q**3 + 3 * q**2 + 3 * q) / (3 * (q + 1) ** 2) / _h(q)
        by_C, by_epsilon = self.C * d_params[0], self.epsilon * d_params[1]
        return np.array([by_epsilon - by_C, slope * by_C + (1 - slope) * by_epsilon])

    def log_prob(self, y: Array, f: Array, weight: Array | None = None) -> Array:
        """Return w ln p(y | f)."""
        w = power(weight)
        return w * (self.log_norm - self.C * np.maximum(np.abs(y - f) - self.epsilon, 0))

    def derivatives(self, y: Array, f: Array, weight: Array | None = None) -> Derivatives:
        """Return the slope of `log_prob` in f and its (zero) curvature; the kinks count as flat."""
        w = power(weight)
        residual = y - f
        return Derivatives(w * self.C * np.sign(residual) * (np.abs(residual) > self.epsilon), np.zeros_like(f))

    def d_log_prob_d_params(self, y: Array, f: Array, weight: Array | None = None) -> Array:
        """d log_prob / d(C, epsilon), shape (2, n)."""
        w = power(weight)
        excess = np.abs(y - f) - self.epsilon
        d_norm = self.d_log_norm
        return np.stack([w * (d_norm[0] - np.maximum(excess, 0)), w * (d_norm[1] + self.C * (excess > 0))])

    def tilted_moments(self, y: Array, m: Array, v: Array, weight: Array | None = None) -> TiltedMoments:
        """Integrate p(y | f)^w against N(f; m, v), in closed form."""
        w = np.ones_like(m) if weight is None else weight
        log_G, slope, drop, mean_excess, outside = tube_moments(np.abs(y - m), v, self.C * w, self.epsilon)
        d_norm = self.d_log_norm
        return TiltedMoments(
            # A row of weight zero is no row: exactly 0, where rounding would leave 1e-16.
            log_z=np.where(w > 0, log_G, 0.0) + w * self.log_norm,
            d_mean=np.sign(y - m) * slope,
            d2_mean=-drop,
            d_params=np.stack([w * (d_norm[0] - mean_excess), w * (d_norm[1] + self.C * outside)]),
        )

    def expected_log_prob(self, y: Array, m: Array, v: Array, weight: Array | None = None) -> ExpectedLogProb:
        """Average w ln p(y | f) over f ~ N(m, v), in closed form."""
        w = np.ones_like(m) if weight is None else weight
        s = np.sqrt(v)
        lo, hi = (y - self.epsilon - m) / s, (y + self.epsilon - m) / s
        below, above = ndtr(lo), ndtr(-hi)
        mean_excess = s * (below * rho(lo) + above * rho(-hi))
        d_norm = self.d_log_norm
        return ExpectedLogProb(
            value=w * (self.log_norm - self.C * mean_excess),
            d_mean=w * self.C * (below - above),
            d_var=-0.5 * w * self.C * (np.exp(log_phi(lo)) + np.exp(log_phi(hi))) / s,
            d_params=np.stack([w * (d_norm[0] - mean_excess), w * (d_norm[1] + self.C * (below + above))]),
        )

    def initial_sites(self, y: Array, weight: Array | None = None) -> tuple[Array, Array]:
        """Return the sites (tau, nu) of Gaussian noise with the same variance, each of shape (n,).

        Targets far outside the bulk get none: their Gaussian sites would pull where the loss is linear.
        """
        distance = np.abs(y - np.median(y))
        inside = distance <= 10 * np.median(distance) + np.sqrt(self.noise_variance)
        tau = inside * (np.ones_like(y) if weight is None else weight) / self.noise_variance
        return tau, tau * y

    def dual(self, y: Array, weight: Array | None = None) -> BoxProblem:
        """Return the dual of support vector regression: beta in [-C w, C w] and an ``epsilon |beta|`` term."""
        C = self.C * (np.ones_like(y) if weight is None else weight)
        return BoxProblem(y, -C, C, np.zeros_like(y), float(self.epsilon))

    def site_precision_at_map(self, alpha: Array, C: Array, smoothing: float) -> tuple[Array, Array, Array]:
        """2 pi [alpha (C - alpha)/C]^2 at rows on the edge of the tube, where the kink is the hinge's."""
        return kink_precision(alpha, C)

    def d_map_value_d_params(self, y: Array, f: Array, weight: Array | None, beta: Array) -> Array:
        """Return d/d(C, epsilon) of sum ln p(y | f) at the most probable f, shape (2,)."""
        d_params = self.d_log_prob_d_params(y, f, weight).sum(axis=1)
        # Marginal rows sit on a kink of the loss in epsilon; the dual's slope there is |beta|, not 0 or C.
        w = np.ones(len(y)) if weight is None else weight
        d_params[1] = w.sum() * self.d_log_norm[1] + np.abs(beta).sum()
        return d_params

    def noise_cdf(self, d: Array, s: Array) -> Array:
        """Probability that the noise plus a Gaussian of standard deviation s is at most d, in closed form."""
        lower = lower_cdf(self.C, self.epsilon, -np.abs(d), s)
        return np.where(d <= 0, lower, 1 - lower)

    def noise_quantile(self, level: float, s: Array) -> Array:
        """Invert `noise_cdf` at a level, shape (n,)."""
        d = lower_quantile(self, min(level, 1 - level), s)
        return d if level <= 0.5 else -d

    def superposition(self) -> Superposition:
        """Return the same density as a superposition of Gaussians (Pontil, Mukherjee & Girosi 1998)."""
        return Superposition(self.C, self.epsilon)

    def sample_noise(self, shape: tuple[int, ...], rng: np.random.RandomState) -> Array:
        """Draw from the noise density."""
        q = self.epsilon * self.C
        top = rng.uniform(-self.epsilon, self.epsilon, size=shape)
        tail = self.epsilon + rng.exponential(1 / self.C, size=shape)
        sign = np.where(rng.uniform(size=shape) < 0.5, -1.0, 1.0)
        return np.where(rng.uniform(size=shape) < q / (1 + q), top, sign * tail)


def _h(q: float) -> float:
    """The noise variance in units of 1/C^2."""
    return 2 + q * q * (q + 3) / (3 * (q + 1))
