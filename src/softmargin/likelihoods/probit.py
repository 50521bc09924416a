"""The probit likelihood Phi(C y f): a label with Gaussian noise on the latent value, the classic of EP.

Rasmussen & Williams 2006, eqs. 3.80-3.82: with s = sqrt(1 + C^2 v) and x = C y m/s, ln Z = ln Phi(x). A row of weight
other than one has no closed form; the default quadrature takes it.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import log_ndtr

from softmargin.likelihoods._defaults import LikelihoodDefaults
from softmargin.likelihoods._protocol import Array, Derivatives, TiltedMoments
from softmargin.likelihoods.integrals.gauss import log_R, rho


@dataclass(frozen=True)
class Probit(LikelihoodDefaults):
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
    >>> import numpy as np
    >>> Probit(C=2.0).prob(1.0, np.array([0.5])).round(4)
    array([0.8413])
    """

    C: float = 1.0

    name: ClassVar[str] = "probit"
    param_names: ClassVar[tuple[str, ...]] = ("C",)
    is_classifier: ClassVar[bool] = True

    def log_prob(self, y: Array, f: Array, weight: Array | None = None) -> Array:
        """Return w ln Phi(C y f)."""
        return (1.0 if weight is None else weight) * log_ndtr(self.C * y * f)

    def derivatives(self, y: Array, f: Array, weight: Array | None = None) -> Derivatives:
        """Return slope C y h and curvature -C^2 h (x + h) of `log_prob` in f, h = phi(x)/Phi(x) at x = C y f."""
        w, x = (1.0 if weight is None else weight), self.C * y * f
        h = np.exp(-log_R(x))
        return Derivatives(w * self.C * y * h, -w * self.C**2 * h * rho(x))

    def d_log_prob_d_params(self, y: Array, f: Array, weight: Array | None = None) -> Array:
        """d log_prob / dC = w y f h, shape (1, n)."""
        return np.atleast_2d((1.0 if weight is None else weight) * y * f * np.exp(-log_R(self.C * y * f)))

    def tilted_moments(self, y: Array, m: Array, v: Array, weight: Array | None = None) -> TiltedMoments:
        """Integrate Phi(C y f)^w against N(f; m, v)."""
        if weight is not None and np.any(weight != 1):
            z = super().tilted_moments(np.ones_like(m), y * m, v, weight)
            return TiltedMoments(z.log_z, y * z.d_mean, z.d2_mean, z.d_params)
        s = np.sqrt(1 + self.C**2 * v)
        x = self.C * y * m / s
        h, a = np.exp(-log_R(x)), self.C / s
        return TiltedMoments(log_ndtr(x), y * a * h, -(a**2) * h * rho(x), (h * y * m / s**3)[None])
