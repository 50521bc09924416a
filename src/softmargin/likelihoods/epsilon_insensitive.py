"""The epsilon-insensitive noise density of support vector regression (Gao, Gunn & Harris, eq. 2.2).

p(t | f) = C / (2 (epsilon C + 1)) exp(-C max(|t - f| - epsilon, 0)). It is normalised over the target t.
Tilted moments are eqs. 3.5-3.9 in a form referred to the kinks t +- epsilon and written as sums of
positive terms, which neither overflows nor cancels.
"""

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from scipy.special import erfcx, log_ndtr, ndtr

from softmargin.likelihoods._gauss import LOG_SQRT_HALF_PI, log_phi, log_R, rho
from softmargin.likelihoods._protocol import Array, Derivatives, ExpectedLogProb, TiltedMoments

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)
_NODES, _WEIGHTS = 0.5 * (1 + _NODES), 0.5 * _WEIGHTS


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
        # Mirror so that the Gaussian sits on the lower side: m <= y. Edges of the flat top, in units of s from m:
        lo, hi, width = (np.abs(y - m) - self.epsilon) / s, (np.abs(y - m) + self.epsilon) / s, 2 * self.epsilon / s
        below, above = lo - C * s, -hi - C * s
        log_top, rise = _truncated_normal(lo, hi, width)
        # Shares of the mass below, on and above the flat top. Relative to phi(lo) nothing cancels.
        logs = np.stack([log_R(below), log_top, log_R(above) - 0.5 * width * (lo + hi)])
        shares = np.exp(logs - logs.max(axis=0))
        below_share, top_share, above_share = shares / shares.sum(axis=0)
        # Mean distances from the flat top's edges, outwards (depth, height) and inwards (rise, width - rise).
        depth, height = rho(below), rho(above)
        # -d2 ln G/dm2 = C/s times the sum over pairs of parts of share * share * distance of their means (in s),
        # the outer pair counted twice.
        spread = (
            below_share * top_share * (depth + rise)
            + above_share * top_share * (height + width - rise)
            + 2 * below_share * above_share * (depth + width + height)
        )
        tails = np.logaddexp(log_tail(lo, C * s), log_tail(-hi, C * s))
        log_G = np.logaddexp(tails, _log_mass(lo, hi, log_top))
        mean_excess = s * (below_share * depth + above_share * height)
        d_norm = self.d_log_norm
        return TiltedMoments(
            # A row of weight zero is no row: exactly 0, where rounding would leave 1e-16.
            log_z=np.where(w > 0, log_G, 0.0) + w * self.log_norm,
            d_mean=np.sign(y - m) * C * (below_share - above_share),
            d2_mean=-(C / s) * spread,
            d_params=np.stack([w * (d_norm[0] - mean_excess), w * d_norm[1] + C * (below_share + above_share)]),
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

        Targets far outside the bulk get none: their Gaussian sites would pull where the real ones let go.
        """
        distance = np.abs(y - np.median(y))
        inside = distance <= 10 * np.median(distance) + np.sqrt(self.noise_variance)
        tau = inside * (np.ones_like(y) if weight is None else weight) / self.noise_variance
        return tau, tau * y

    def normalised(self) -> Self:
        """Return itself: it integrates to one over y."""
        return self


def log_tail(edge: Array, slope: Array) -> Array:
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


def _truncated_normal(lo: Array, hi: Array, width: Array) -> tuple[Array, Array]:
    """ln of the mass of a standard normal on [lo, hi] over phi(lo), and its mean distance from lo.

    `width` is hi - lo, free of rounding; lo + hi >= 0.
    """
    # A short interval: Gauss-Legendre on phi(lo + u)/phi(lo) = exp(-lo u - u^2/2), 0 <= u <= width.
    short = width * np.maximum(np.maximum(np.abs(lo), width), 1) <= 4
    lo_, hi_, width_ = np.where(short, lo, 0), np.where(short, 0, hi), np.where(short, width, 0)
    u = width_ * _NODES[:, None]
    density = _WEIGHTS[:, None] * np.exp(-u * (lo_ + 0.5 * u))
    mass = density.sum(axis=0)
    with np.errstate(divide="ignore"):  # epsilon = 0: no flat top, no mass
        log_short = np.log(width_) + np.log(mass)
    # A long one: the tail beyond lo less the tail beyond hi, a fraction t of it and below 1/5.
    lo_ = np.where(short, 0, lo)
    t = np.where(short, 0, np.exp(-0.5 * width * (lo + hi) + log_R(-hi_) - log_R(-lo_)))
    log_long = log_R(-lo_) + np.log1p(-t)
    rise = (rho(-lo_) - t * (rho(-hi_) + width)) / (1 - t)
    return np.where(short, log_short, log_long), np.where(short, (density * u).sum(axis=0) / mass, rise)


def _log_mass(lo: Array, hi: Array, log_top: Array) -> Array:
    """ln[Phi(hi) - Phi(lo)], from its complement where that is small."""
    complement = ndtr(np.minimum(lo, -1)) + ndtr(-np.maximum(hi, 1))
    return np.where(lo < -1, np.log1p(-complement), log_phi(lo) + log_top)
