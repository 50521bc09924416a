"""Student's t noise for regression: tails that bound the influence of an outlier. Not log-concave."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import gammaln, psi

from softmargin.likelihoods._protocol import Array, Derivatives, power
from softmargin.likelihoods.defaults import ScaleMixtureDefaults


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
    Gaussian, EpsilonInsensitive : Noise with lighter tails.

    References
    ----------
    Rasmussen & Williams (2006), Gaussian processes for machine learning, section 9.3.

    Examples
    --------
    >>> float(StudentT(scale=0.5, df=4.0).log_prob(9.0, 0.5).round(4))
    -11.0224
    """

    scale: float = 0.4
    df: float = 4.0
    name: ClassVar[str] = "student_t"
    param_names: ClassVar[tuple[str, ...]] = ("scale", "df")
    param_units: ClassVar[dict[str, float]] = {"scale": 1.0, "df": 0.0}

    def log_prob(self, y: Array, f: Array, weight: Array | None = None) -> Array:
        """Return w ln p(y | f), p = c [1 + r^2/(df scale^2)]^(-(df + 1)/2), r = y - f."""
        norm = gammaln((self.df + 1) / 2) - gammaln(self.df / 2) - 0.5 * np.log(np.pi * self.df * self.scale**2)
        return power(weight) * (norm - 0.5 * (self.df + 1) * np.log1p((y - f) ** 2 / (self.df * self.scale**2)))

    def derivatives(self, y: Array, f: Array, weight: Array | None = None) -> Derivatives:
        """Return slope (df + 1) r/d and curvature (df + 1) (r^2 - df scale^2)/d^2, d = df scale^2 + r^2."""
        w, r, a = power(weight) * (self.df + 1), y - f, self.df * self.scale**2
        d = a + r**2
        return Derivatives(w * r / d, w * ((r**2 - a) / d) / d)  # d^2 overflows for residuals of 1e77 widths

    def d_log_prob_d_params(self, y: Array, f: Array, weight: Array | None = None) -> Array:
        """d log_prob / d(scale, df), shape (2, n)."""
        w, df, u = power(weight), self.df, ((y - f) / self.scale) ** 2 / self.df
        d_df = 0.5 * (psi((df + 1) / 2) - psi(df / 2) - 1 / df - np.log1p(u) + (df + 1) / df * (u / (1 + u)))
        return np.stack([w * ((df + 1) * (u / (1 + u)) - 1) / self.scale, w * d_df])
