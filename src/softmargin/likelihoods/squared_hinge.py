"""The squared hinge: Q(y | f) = kappa(C) exp(-C max(1 - y f, 0)^2 / 2) (Gold & Sollich 2003, section 2, p = 2)."""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, log_ndtr, ndtr

from softmargin.likelihoods._gauss import log_R, one_plus_x_rho, rho
from softmargin.likelihoods._protocol import Array, Derivatives, ExpectedLogProb, TiltedMoments
from softmargin.likelihoods.link import SquaredLink


@dataclass(frozen=True)
class SquaredHinge:
    """Squared hinge likelihood (quadratic slack penalty, p = 2).

    Parameters
    ----------
    C : float
        Inverse noise level: the curvature of the loss.

    Examples
    --------
    >>> import numpy as np
    >>> SquaredHinge(C=2.0).log_prob(np.array([1.0]), np.array([1.5])).round(4)
    array([-0.2325])
    """

    C: float = 1.0

    name: ClassVar[str] = "squared_hinge"
    param_names: ClassVar[tuple[str, ...]] = ("C",)
    is_classifier: ClassVar[bool] = True

    @cached_property
    def _peak(self) -> float:
        """z* = argmax of v: 0 for C <= 1, else the non-zero root of z = tanh(C z)."""
        C = self.C
        if C <= 1:
            return 0.0
        # tanh(Cz) > z just right of 0; close to C = 1 the root is sqrt(3 (C - 1)) to leading order.
        left = min(0.5 * np.sqrt(3 * (C - 1)) / C, 0.5)
        return float(brentq(lambda z: np.tanh(C * z) - z, left, 1.0, xtol=1e-15))

    @property
    def log_kappa(self) -> float:
        """ln kappa = C (1 + z*^2)/2 - ln(2 cosh(C z*))."""
        z = self._peak
        return self.C * (1 + z * z) / 2 - float(np.logaddexp(self.C * z, -self.C * z))

    @property
    def d_log_kappa(self) -> float:
        """d ln kappa / dC = (1 + z*^2)/2 - z* tanh(C z*)."""
        z = self._peak
        return (1 + z * z) / 2 - z * float(np.tanh(self.C * z))

    def log_prob(self, y: Array | float, f: Array, weight: Array | None = None) -> Array:
        """Return w ln Q(y | f)."""
        w = 1.0 if weight is None else weight
        return w * (self.log_kappa - 0.5 * self.C * np.maximum(1 - y * f, 0) ** 2)

    def log_v(self, f: Array) -> Array:
        """ln v(f) = ln[Q(+1 | f) + Q(-1 | f)] <= 0."""
        return np.logaddexp(self.log_prob(1.0, f), self.log_prob(-1.0, f))

    def d_log_v(self, f: Array) -> tuple[Array, Array]:
        """Derivatives of ln v(f) with respect to f and to C."""
        p = self.normalised().prob(1.0, f)
        plus, minus = np.maximum(1 - f, 0), np.maximum(1 + f, 0)
        d_f = self.C * (p * plus - (1 - p) * minus)
        return d_f, self.d_log_kappa - 0.5 * (p * plus**2 + (1 - p) * minus**2)

    def derivatives(self, y: Array, f: Array, weight: Array | None = None) -> Derivatives:
        """Return slope and curvature of `log_prob` in f."""
        w = 1.0 if weight is None else weight
        slack = np.maximum(1 - y * f, 0)
        return Derivatives(w * self.C * y * slack, -w * self.C * np.where(slack > 0, 1.0, 0.0))

    def d_log_prob_d_params(self, y: Array, f: Array, weight: Array | None = None) -> Array:
        """d log_prob / dC, shape (1, n)."""
        w = 1.0 if weight is None else weight
        return np.atleast_2d(w * (self.d_log_kappa - 0.5 * np.maximum(1 - y * f, 0) ** 2))

    def tilted_moments(self, y: Array, m: Array, v: Array, weight: Array | None = None) -> TiltedMoments:
        """Integrate Q(y | f)^w against N(f; m, v), in closed form."""
        w = np.ones_like(m) if weight is None else weight
        C = self.C * w
        s = np.sqrt(v)
        q = 1 + C * v
        a = (y * m - 1) / s
        b = -a / np.sqrt(q)
        log_a = log_ndtr(a)
        log_b = -0.5 * np.log(q) - 0.5 * a * a * (C * v / q) + log_ndtr(b)
        r = expit(log_R(b) - 0.5 * np.log(q) - log_R(a))
        rho_b = rho(b)
        slope = C * s / np.sqrt(q) * r * rho_b
        curvature = -(C / q) * r * (1 + C * v / np.sqrt(q) * (1 - r) * rho(a) * rho_b)
        mean_loss = 0.5 * (v / q) * r * one_plus_x_rho(b)
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
        # E[max(1 - z, 0)^2] = v [(1 + t^2) Phi(t) + t phi(t)] = v Phi(t) (1 + t rho(t)).
        mean_loss = 0.5 * v * Phi * one_plus_x_rho(t)
        return ExpectedLogProb(
            value=w * (self.log_kappa - self.C * mean_loss),
            d_mean=w * self.C * y * s * Phi * rho(t),
            d_var=-0.5 * w * self.C * Phi,
            d_params=np.atleast_2d(w * (self.d_log_kappa - mean_loss)),
        )

    def normalised(self) -> SquaredLink:
        """Return the class probability P(y | f) = Q(y | f) / v(f)."""
        return SquaredLink(self.C)
