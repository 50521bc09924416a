"""The probit likelihood Phi(C y f): a label with Gaussian noise on the latent value, the classic of EP."""

from dataclasses import dataclass

import numpy as np
from scipy.special import log_ndtr

from softmargin.likelihoods._protocol import Array, Derivatives, TiltedMoments, power
from softmargin.likelihoods.defaults import LabelDefaults
from softmargin.likelihoods.integrals.gauss import hazard, rho


@dataclass(frozen=True)
class Probit(LabelDefaults):
    """Probit likelihood. Already normalised over y.

    Parameters
    ----------
    C : float
        Inverse standard deviation of the noise on f.

    See Also
    --------
    Logistic : The same with heavier tails.

    References
    ----------
    Rasmussen & Williams (2006), Gaussian processes for machine learning, eqs. 3.80-3.82.

    Examples
    --------
    >>> float(Probit(C=2.0).prob(1.0, 0.5).round(4))
    0.8413
    """

    name = "probit"

    def log_prob(self, y: Array, f: Array, weight: Array | None = None) -> Array:
        """Return w ln Phi(C y f)."""
        return power(weight) * log_ndtr(self.C * y * f)

    def derivatives(self, y: Array, f: Array, weight: Array | None = None) -> Derivatives:
        """Return slope C y h and curvature -C^2 h (x + h) of `log_prob` in f, h = phi(x)/Phi(x) at x = C y f."""
        w, x = power(weight), self.C * y * f
        h = hazard(x)
        return Derivatives(w * self.C * y * h, -w * self.C**2 * h * rho(x))

    def d_log_prob_d_params(self, y: Array, f: Array, weight: Array | None = None) -> Array:
        """d log_prob / dC = w y f h, shape (1, n)."""
        return np.atleast_2d(power(weight) * y * f * hazard(self.C * y * f))

    def tilted_moments(self, y: Array, m: Array, v: Array, weight: Array | None = None) -> TiltedMoments:
        """Integrate Phi(C y f)^w against N(f; m, v): Phi(x), x = C y m/sqrt(1 + C^2 v), where the weight is one."""
        if np.any(power(weight) != 1):
            return super().tilted_moments(y, m, v, weight)
        s = np.sqrt(1 + self.C**2 * v)
        x = self.C * y * m / s
        h, a = hazard(x), self.C / s
        return TiltedMoments(log_ndtr(x), y * a * h, -(a**2) * h * rho(x), (h * y * m / s**3)[None])
