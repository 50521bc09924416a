"""The hinge: Q(y | f) = kappa(C) exp(-C max(1 - y f, 0)), the support vector machine's own likelihood.

Sollich 2002, eqs. 4, 5 and 7 (kappa); tilted moments are the mean-field equations in closed form.
Q sums over y to v(f) <= 1; `normalised` gives the class probability of Sollich 2002, eq. 11.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import expit, log_ndtr, ndtr

from softmargin.likelihoods._gauss import log_phi, log_R, rho
from softmargin.likelihoods._protocol import Array, Derivatives, ExpectedLogProb, TiltedMoments
from softmargin.likelihoods.link import Link


@dataclass(frozen=True)
class Hinge:
    """Hinge likelihood (linear slack penalty, p = 1).

    Parameters
    ----------
    C : float
        Inverse noise level: the slope of the hinge.

    Examples
    --------
    >>> import numpy as np
    >>> Hinge(C=2.0).log_prob(np.array([1.0]), np.array([-0.5])).round(4)
    array([-3.0182])
    """

    C: float = 1.0

    name: ClassVar[str] = "hinge"
    param_names: ClassVar[tuple[str, ...]] = ("C",)
    is_classifier: ClassVar[bool] = True

    @property
    def log_kappa(self) -> float:
        """ln kappa, kappa = 1 / (1 + exp(-2C)): the largest constant that keeps v(f) <= 1."""
        return -float(np.log1p(np.exp(-2 * self.C)))

    @property
    def d_log_kappa(self) -> float:
        """d ln kappa / dC."""
        return 2 * float(expit(-2 * self.C))

    def log_prob(self, y: Array | float, f: Array, weight: Array | None = None) -> Array:
        """Return w ln Q(y | f)."""
        w = 1.0 if weight is None else weight
        return w * (self.log_kappa - self.C * np.maximum(1 - y * f, 0))

    def log_v(self, f: Array) -> Array:
        """ln v(f) = ln[Q(+1 | f) + Q(-1 | f)] <= 0."""
        return np.logaddexp(self.log_prob(1.0, f), self.log_prob(-1.0, f))

    def d_log_v(self, f: Array) -> tuple[Array, Array]:
        """Derivatives of ln v(f) with respect to f and to C."""
        p = self.normalised().prob(1.0, f)
        plus, minus = np.maximum(1 - f, 0), np.maximum(1 + f, 0)
        d_f = self.C * (p * (f < 1) - (1 - p) * (f > -1))
        return d_f, self.d_log_kappa - p * plus - (1 - p) * minus

    def derivatives(self, y: Array, f: Array, weight: Array | None = None) -> Derivatives:
        """Return the slope of `log_prob` in f and its (zero) curvature; the kink at y f = 1 counts as flat."""
        w = 1.0 if weight is None else weight
        return Derivatives(w * self.C * y * (y * f < 1), np.zeros_like(f))

    def d_log_prob_d_params(self, y: Array, f: Array, weight: Array | None = None) -> Array:
        """d log_prob / dC, shape (1, n)."""
        w = 1.0 if weight is None else weight
        return np.atleast_2d(w * (self.d_log_kappa - np.maximum(1 - y * f, 0)))

    def tilted_moments(self, y: Array, m: Array, v: Array, weight: Array | None = None) -> TiltedMoments:
        """Integrate Q(y | f)^w against N(f; m, v), in closed form."""
        w = np.ones_like(m) if weight is None else weight
        C = self.C * w
        s = np.sqrt(v)
        # Margin z = y f has mean y m; A is the mass beyond the kink (z > 1), B the mass on the slope.
        a = (y * m - 1) / s
        b = -a - C * s
        log_a = log_ndtr(a)
        # ln B = C s (a + C s / 2) + ln Phi(b); for b < 0 in the form that does not cancel.
        log_b = np.where(
            b < 0,
            log_phi(a) + log_R(np.minimum(b, 0)),
            C * s * (a + C * s / 2) + log_ndtr(b),
        )
        r = expit(log_R(b) - log_R(a))
        slope = C * r
        curvature = -(C / s) * r * (1 - r) * (rho(a) + rho(b))
        mean_loss = s * r * rho(b)
        return TiltedMoments(
            log_z=np.logaddexp(log_a, log_b) + w * self.log_kappa,
            d_mean=y * slope,
            d2_mean=curvature,
            d_params=np.atleast_2d(w * (self.d_log_kappa - mean_loss)),
        )

    def expected_log_prob(self, y: Array, m: Array, v: Array, weight: Array | None = None) -> ExpectedLogProb:
        """Average w ln Q(y | f) over f ~ N(m, v), in closed form."""
        w = np.ones_like(m) if weight is None else weight
        s = np.sqrt(v)
        t = (1 - y * m) / s
        Phi = ndtr(t)
        # E[max(1 - z, 0)] = u Phi(t) + s phi(t) = s Phi(t) rho(t).
        mean_loss = s * Phi * rho(t)
        return ExpectedLogProb(
            value=w * (self.log_kappa - self.C * mean_loss),
            d_mean=w * self.C * y * Phi,
            d_var=-0.5 * w * self.C * np.exp(log_phi(t)) / s,
            d_params=np.atleast_2d(w * (self.d_log_kappa - mean_loss)),
        )

    def normalised(self) -> Link:
        """Return the class probability P(y | f) = Q(y | f) / v(f)."""
        return Link(self.C)
