"""The epsilon-insensitive noise density of support vector regression (Gao, Gunn & Harris, eq. 2.3).

p(t | f) = C / (2 (epsilon C + 1)) exp(-C max(|t - f| - epsilon, 0)). It is normalised over the target t.
Tilted moments are eqs. 3.5-3.9 in a form referred to the kinks t +- epsilon, which neither overflows nor cancels.
"""

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from scipy.special import erfcx, log_ndtr, logsumexp, ndtr

from softmargin.likelihoods._gauss import LOG_SQRT_HALF_PI, log_phi, rho
from softmargin.likelihoods._protocol import Array, Derivatives, ExpectedLogProb, TiltedMoments


@dataclass(frozen=True)
class EpsilonInsensitive:
    """Epsilon-insensitive likelihood.

    Parameters
    ----------
    C : float
        Inverse scale of the exponential tails.
    epsilon : float
        Half-width of the flat top.

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
    is_classifier: ClassVar[bool] = False

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

    def log_prob(self, y: Array, f: Array, weight: Array | None = None) -> Array:
        """Return w ln p(y | f)."""
        w = 1.0 if weight is None else weight
        return w * (self.log_norm - self.C * np.maximum(np.abs(y - f) - self.epsilon, 0))

    def derivatives(self, y: Array, f: Array, weight: Array | None = None) -> Derivatives:
        """Return the slope of `log_prob` in f and its (zero) curvature; the kinks count as flat."""
        w = 1.0 if weight is None else weight
        residual = y - f
        return Derivatives(w * self.C * np.sign(residual) * (np.abs(residual) > self.epsilon), np.zeros_like(f))

    def d_log_prob_d_params(self, y: Array, f: Array, weight: Array | None = None) -> Array:
        """d log_prob / d(C, epsilon), shape (2, n)."""
        w = 1.0 if weight is None else weight
        excess = np.abs(y - f) - self.epsilon
        d_norm = self.d_log_norm
        return np.stack([w * (d_norm[0] - np.maximum(excess, 0)), w * (d_norm[1] + self.C * (excess > 0))])

    def tilted_moments(self, y: Array, m: Array, v: Array, weight: Array | None = None) -> TiltedMoments:
        """Integrate p(y | f)^w against N(f; m, v), in closed form."""
        w = np.ones_like(m) if weight is None else weight
        C, s = self.C * w, np.sqrt(v)
        lo, hi = (y - self.epsilon - m) / s, (y + self.epsilon - m) / s
        # Three parts: below the flat top (f < y - eps), on it, above it. Each as the log of its mass.
        log_lo, log_hi = _log_tail(lo, C * s), _log_tail(-hi, C * s)
        log_parts = np.stack([log_lo, _log_interval(lo, hi), log_hi])
        log_G = logsumexp(log_parts, axis=0)
        p_lo, p_hi = np.exp(log_lo - log_G), np.exp(log_hi - log_G)
        slope = C * (p_lo - p_hi)
        rho_lo, rho_hi = rho(lo - C * s), rho(-hi - C * s)
        curvature = -_minus_curvature(p_lo, p_hi, rho_lo, rho_hi, lo, hi, C, s)
        # <max(|y - f| - eps, 0)> = s [Lo rho(lo - C s) + Up rho(-hi - C s)] / G.
        mean_excess = s * (p_lo * rho_lo + p_hi * rho_hi)
        d_norm = self.d_log_norm
        return TiltedMoments(
            log_z=log_G + w * self.log_norm,
            d_mean=slope,
            d2_mean=curvature,
            d_params=np.stack([w * (d_norm[0] - mean_excess), w * d_norm[1] + C * (p_lo + p_hi)]),
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

    def normalised(self) -> Self:
        """Return itself: it integrates to one over y."""
        return self


def _log_tail(edge: Array, slope: Array) -> Array:
    """ln of the integral of phi(x) exp(slope (x - edge)) over x < edge.

    It is phi(edge) M(slope - edge), M(a) = sqrt(pi/2) erfcx(a / sqrt 2) = Phi(-a)/phi(a).
    """
    a = slope - edge
    # For very negative a erfcx overflows: there exp(slope^2/2 - slope edge) Phi(-a) is safe.
    near = np.maximum(a, -8.0)
    return np.where(
        a > -8,
        log_phi(edge) + LOG_SQRT_HALF_PI + np.log(erfcx(near / np.sqrt(2))),
        slope * (slope / 2 - edge) + log_ndtr(-a),
    )


def _minus_curvature(
    p_lo: Array, p_hi: Array, rho_lo: Array, rho_hi: Array, lo: Array, hi: Array, C: Array, s: Array
) -> Array:
    """-d2 ln G/dm2 = (C/s) [phi(lo) + phi(hi)]/G - C^2 (p_lo + p_hi) + C^2 (p_lo - p_hi)^2 >= 0.

    With phi(lo)/Lo = rho_lo - lo + C s the C^2 can be taken out by hand: near the kinks from the first two
    terms, far from them (outliers, where each term is C^2) from the last two.
    """
    near = (C / s) * (p_lo * (rho_lo - lo) + p_hi * (rho_hi + hi)) + (C * (p_lo - p_hi)) ** 2
    far = (C / s) * (p_lo * (rho_lo - lo + C * s) + p_hi * (rho_hi + hi + C * s)) - C**2 * (
        p_lo * (1 - p_lo) + p_hi * (1 - p_hi) + 2 * p_lo * p_hi
    )
    return np.where(np.maximum(p_lo * np.abs(lo), p_hi * np.abs(hi)) < C * s, near, far)


def _log_interval(lo: Array, hi: Array) -> Array:
    """ln[Phi(hi) - Phi(lo)], on the side of the tail where the difference does not cancel."""
    flip = lo > 0
    a, b = np.where(flip, -hi, lo), np.where(flip, -lo, hi)
    log_b, log_a = log_ndtr(b), log_ndtr(a)
    with np.errstate(divide="ignore"):
        return log_b + np.log(-np.expm1(np.minimum(log_a - log_b, 0)))
