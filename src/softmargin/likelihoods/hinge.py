"""The hinge: Q(y | f) = kappa(C) exp(-C max(1 - y f, 0)), the support vector machine's own likelihood.

Sollich 2002, eq. 4 with its kappa; tilted moments are the mean-field equations in closed form.
Q sums over y to v(f) <= 1; `normalised` gives the class probability of Sollich 2002, eqs. 10 and 11.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import expit, ndtr

from softmargin.likelihoods._protocol import Array, TiltedSlopes
from softmargin.likelihoods.defaults import ExpectedLoss, SlackDefaults, TiltedLoss
from softmargin.likelihoods.integrals.gauss import log_phi, rho
from softmargin.likelihoods.integrals.hinge_moments import hinge_moments
from softmargin.likelihoods.integrals.kinks import kink_precision
from softmargin.likelihoods.link import Link
from softmargin.svm import BoxProblem


@dataclass(frozen=True)
class Hinge(SlackDefaults):
    """Hinge likelihood (linear slack penalty, p = 1).

    Parameters
    ----------
    C : float
        Inverse noise level: the slope of the hinge.

    See Also
    --------
    SquaredHinge : The quadratic slack penalty.
    Link : Its normalised class probability.

    References
    ----------
    Sollich (2002), Bayesian methods for support vector machines, eqs. 4, 10 and 11.

    Examples
    --------
    >>> import numpy as np
    >>> Hinge(C=2.0).log_prob(np.array([1.0]), np.array([-0.5])).round(4)
    array([-3.0181])
    """

    name: ClassVar[str] = "hinge"
    slack_power: ClassVar[int | None] = 1

    @property
    def log_kappa(self) -> float:
        """ln kappa, kappa = 1 / (1 + exp(-2C)): v(f) reaches 1 at f = +-1."""
        return -float(np.log1p(np.exp(-2 * self.C)))

    @property
    def d_log_kappa(self) -> float:
        """d ln kappa / dC."""
        return 2 * float(expit(-2 * self.C))

    def loss(self, z: Array) -> Array:
        """l(z) = max(1 - z, 0)."""
        return np.maximum(1 - z, 0)

    def d_loss(self, z: Array) -> tuple[Array, Array]:
        """First and second derivative of l(z); the kink at z = 1 counts as flat."""
        return np.where(z < 1, -1.0, 0.0), np.zeros_like(z)

    def tilted_loss(self, m: Array, v: Array, C: Array) -> TiltedLoss:
        """Integrate exp(-C l(z)) against N(z; m, v)."""
        k = hinge_moments(m, v, C)
        return TiltedLoss(log_z=k[0], slope=k[1], curvature=k[2], mean_loss=-k[5])

    def tilted_slopes(self, y: Array, m: Array, v: Array, weight: Array | None = None) -> TiltedSlopes:
        """Differentiate `tilted_moments`, in closed form."""
        w = np.ones_like(m) if weight is None else weight
        k = hinge_moments(y * m, v, self.C * w)
        return TiltedSlopes(y * k[3], k[4], (w * y * k[6])[None], (w * k[7])[None])

    def expected_loss(self, m: Array, v: Array) -> ExpectedLoss:
        """Average l(z) over z ~ N(m, v)."""
        s = np.sqrt(v)
        t = (1 - m) / s
        # E[max(1 - z, 0)] = (1 - m) Phi(t) + s phi(t) = s Phi(t) rho(t).
        return ExpectedLoss(value=s * ndtr(t) * rho(t), d_mean=-ndtr(t), d_var=0.5 * np.exp(log_phi(t)) / s)

    def normalised(self) -> Link:
        """Return the class probability P(y | f) = Q(y | f) / v(f)."""
        return Link(self.C)

    def site_precision_at_map(self, alpha: Array, C: Array, smoothing: float) -> tuple[Array, Array, Array]:
        """2 pi [alpha (C - alpha)/C]^2 at marginal rows."""
        return kink_precision(alpha, C)

    def dual(self, y: Array, weight: Array | None = None) -> BoxProblem:
        """Return the SVM's dual: y beta in [0, C w]."""
        C = self.C * (np.ones_like(y) if weight is None else weight)
        return BoxProblem(y, np.where(y < 0, -C, 0.0), np.where(y > 0, C, 0.0), np.zeros_like(y))
