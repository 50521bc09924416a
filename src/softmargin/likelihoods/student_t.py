"""Student's t noise for regression: tails that bound the influence of an outlier. Not log-concave.

p(y | f) = c [1 + r^2/(df scale^2)]^(-(df + 1)/2), r = y - f. Its integrals are those of a mixture of normal densities.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import gammaln, psi

from softmargin.likelihoods._protocol import Array, Derivatives
from softmargin.likelihoods._scale_mixture import ScaleMixtureDefaults


@dataclass(frozen=True)
class StudentT(ScaleMixtureDefaults):
    """Student's t likelihood.

    Parameters
    ----------
    scale : float
        Width of the density, in the units of y.
    df : float
        Degrees of freedom: 1 is Cauchy's density, infinitely many are Gaussian noise.

    See Also
    --------
    Gaussian : The limit of many degrees of freedom.
    EpsilonInsensitive : The tube of support vector regression.

    References
    ----------
    Rasmussen & Williams (2006), Gaussian processes for machine learning, section 9.3.

    Examples
    --------
    >>> import numpy as np
    >>> StudentT(scale=0.5, df=4.0).log_prob(np.array([1.0, 9.0]), np.array([0.5, 0.5])).round(4)
    array([ -0.8455, -11.0224])
    """

    scale: float = 0.4
    df: float = 4.0

    name: ClassVar[str] = "student_t"
    param_names: ClassVar[tuple[str, ...]] = ("scale", "df")
    is_classifier: ClassVar[bool] = False
    param_units: ClassVar[dict[str, float]] = {"scale": 1.0, "df": 0.0}
    param_bounds: ClassVar[dict[str, tuple[float, float]]] = {"scale": (1e-4, 1e2), "df": (2.1, 1e2)}
    param_start: ClassVar[dict[str, float]] = {"scale": 0.4, "df": 4.0}

    @property
    def noise_variance(self) -> float:
        """scale^2 df/(df - 2); infinite for df <= 2."""
        return self.scale**2 * self.df / (self.df - 2) if self.df > 2 else float("inf")

    def log_prob(self, y: Array, f: Array, weight: Array | None = None) -> Array:
        """Return w ln p(y | f)."""
        norm = gammaln((self.df + 1) / 2) - gammaln(self.df / 2) - 0.5 * np.log(np.pi * self.df * self.scale**2)
        body = 0.5 * (self.df + 1) * np.log1p((y - f) ** 2 / (self.df * self.scale**2))
        return (1.0 if weight is None else weight) * (norm - body)

    def derivatives(self, y: Array, f: Array, weight: Array | None = None) -> Derivatives:
        """Return slope (df + 1) r/d and curvature (df + 1) (r^2 - df scale^2)/d^2, d = df scale^2 + r^2."""
        w, r, a = (1.0 if weight is None else weight) * (self.df + 1), y - f, self.df * self.scale**2
        d = a + r**2
        # d^2 overflows for residuals of 1e77 widths, the ratio does not.
        return Derivatives(w * r / d, w * ((r**2 - a) / d) / d)

    def d_log_prob_d_params(self, y: Array, f: Array, weight: Array | None = None) -> Array:
        """d log_prob / d(scale, df), shape (2, n)."""
        w, u = (1.0 if weight is None else weight), ((y - f) / self.scale) ** 2 / self.df
        share, df = u / (1 + u), self.df
        d_df = 0.5 * (psi((df + 1) / 2) - psi(df / 2) - 1 / df - np.log1p(u) + (df + 1) / df * share)
        return np.stack([w * ((df + 1) * share - 1) / self.scale, w * d_df])
