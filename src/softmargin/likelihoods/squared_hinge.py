"""The squared hinge: Q(y | f) = kappa(C) exp(-C max(1 - y f, 0)^2 / 2) (Gold & Sollich 2003, eq. 6, p = 2)."""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, log_ndtr, ndtr

from softmargin.likelihoods._protocol import Array
from softmargin.likelihoods.defaults import ExpectedLoss, SlackDefaults, TiltedLoss
from softmargin.likelihoods.integrals.gauss import log_R, one_plus_x_rho, rho
from softmargin.likelihoods.integrals.kinks import smoothed_precision
from softmargin.likelihoods.link import SquaredLink
from softmargin.svm import BoxProblem


@dataclass(frozen=True)
class SquaredHinge(SlackDefaults):
    """Squared hinge likelihood (quadratic slack penalty, p = 2).

    Parameters
    ----------
    C : float
        Inverse noise level: the curvature of the loss.

    See Also
    --------
    Hinge : The linear slack penalty.
    SquaredLink : Its normalised class probability.

    References
    ----------
    Gold & Sollich (2003), Model selection for support vector machine classification, eq. 6.

    Examples
    --------
    >>> import numpy as np
    >>> SquaredHinge(C=2.0).log_prob(np.array([1.0]), np.array([1.5])).round(4)
    array([-0.0197])
    """

    name: ClassVar[str] = "squared_hinge"
    slack_power: ClassVar[int | None] = 2

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

    def loss(self, z: Array) -> Array:
        """l(z) = max(1 - z, 0)^2 / 2."""
        return 0.5 * np.maximum(1 - z, 0) ** 2

    def d_loss(self, z: Array) -> tuple[Array, Array]:
        """First and second derivative of l(z)."""
        return -np.maximum(1 - z, 0), np.where(z < 1, 1.0, 0.0)

    def tilted_loss(self, m: Array, v: Array, C: Array) -> TiltedLoss:
        """Integrate exp(-C l(z)) against N(z; m, v)."""
        s = np.sqrt(v)
        q = 1 + C * v
        a = (m - 1) / s
        b = -a / np.sqrt(q)
        # Z = A + B: A = Phi(a) is the mass beyond z = 1, B = q^-1/2 exp(-a^2 C v / 2q) Phi(b) that on the parabola.
        log_A = log_ndtr(a)
        log_B = -0.5 * np.log(q) - 0.5 * a * a * (C * v / q) + log_ndtr(b)
        r = expit(log_R(b) - 0.5 * np.log(q) - log_R(a))  # B / Z
        rho_b = rho(b)
        return TiltedLoss(
            log_z=np.logaddexp(log_A, log_B),
            slope=C * s / np.sqrt(q) * r * rho_b,
            curvature=-(C / q) * r * (1 + C * v / np.sqrt(q) * (1 - r) * rho(a) * rho_b),
            mean_loss=0.5 * (v / q) * r * one_plus_x_rho(b),
        )

    def expected_loss(self, m: Array, v: Array) -> ExpectedLoss:
        """Average l(z) over z ~ N(m, v)."""
        s = np.sqrt(v)
        t = (1 - m) / s
        Phi = ndtr(t)
        # E[max(1 - z, 0)^2] = v [(1 + t^2) Phi(t) + t phi(t)] = v Phi(t) (1 + t rho(t)).
        return ExpectedLoss(value=0.5 * v * Phi * one_plus_x_rho(t), d_mean=-s * Phi * rho(t), d_var=0.5 * Phi)

    def normalised(self) -> SquaredLink:
        """Return the class probability P(y | f) = Q(y | f) / v(f)."""
        return SquaredLink(self.C)

    def site_precision_at_map(self, alpha: Array, C: Array, smoothing: float) -> tuple[Array, Array, Array]:
        """C exp(-a/(1 - y f)) at support vectors, `a` the smoothing."""
        return smoothed_precision(alpha, C, smoothing)

    def dual(self, y: Array, weight: Array | None = None) -> BoxProblem:
        """Return the SVM's dual: y beta >= 0, with 1/(C w) added to the diagonal of K."""
        C = self.C * (np.ones_like(y) if weight is None else weight)
        # A row of weight zero is removed: its box is the point 0, its ridge without effect.
        kept = C > 0
        top = np.where(kept, np.inf, 0.0)
        ridge = np.divide(1.0, C, out=np.ones_like(y), where=kept)
        return BoxProblem(y, np.where(y < 0, -top, 0.0), np.where(y > 0, top, 0.0), ridge)
