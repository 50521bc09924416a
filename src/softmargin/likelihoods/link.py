"""The hinge's normalised class probability P(y | f) = sigmoid(C [l(-y f) - l(y f)]) (Sollich 2002, eq. 11).

As a likelihood of its own it gives the *link evidence*; averaged over a posterior it gives the predictive
class probability (Sollich 2002, eq. 33). It is not log-concave at y f = -1, so EP sites can be negative, and the
posterior can have several maxima. At y f = 1 its slope falls from 2 C q to C q, q = sigmoid(-2 C): rows gather there as
the hinge's do at their margin.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import expit

from softmargin.likelihoods._protocol import Array, Kink
from softmargin.likelihoods.defaults import SigmoidDefaults
from softmargin.likelihoods.integrals.sigmoid.quadrature import HINGE_LINK, SQUARED_LINK


@dataclass(frozen=True)
class Link(SigmoidDefaults):
    """Normalised hinge: ln-odds C (f + clip(f, -1, 1)).

    Parameters
    ----------
    C : float
        Inverse noise level.

    See Also
    --------
    Hinge : The likelihood that this normalises over the two labels.
    SquaredLink : The same of the squared hinge.
    Logistic : The sigmoid of a straight line.

    References
    ----------
    Sollich (2002), Bayesian methods for support vector machines, eqs. 11 and 33.

    Examples
    --------
    >>> import numpy as np
    >>> Link(C=2.0).prob(np.array([1.0, -1.0]), np.array([0.5, 0.5])).round(4)
    array([0.8808, 0.1192])
    """

    name: ClassVar[str] = "link"
    is_smooth: ClassVar[bool] = False
    _kind: ClassVar[int] = HINGE_LINK

    def odds(self, z: Array) -> tuple[Array, Array, Array]:
        """Return r(z) = l(-z) - l(z) and its first two derivatives; ln-odds are C r."""
        inside = np.abs(z) <= 1
        return z + np.clip(z, -1, 1), np.where(inside, 2.0, 1.0), np.zeros_like(z)

    def kink(self, y: Array, weight: Array | None = None) -> Kink | None:
        """Return the kink at y f = 1: the slope falls from 2 C q to C q, q = sigmoid(-2 C)."""
        w = np.ones_like(y) if weight is None else np.asarray(weight, dtype=float)
        q = expit(-2 * self.C)
        size, by_C = self.C * q * w, np.atleast_2d((q - 2 * self.C * q * (1 - q)) * w)
        return Kink(size, size, by_C, by_C)


@dataclass(frozen=True)
class SquaredLink(SigmoidDefaults):
    """Normalised squared hinge: ln-odds 2 C f inside ``|f| <= 1``, ``C sign(f) (1 + |f|)^2 / 2`` outside.

    Parameters
    ----------
    C : float
        Inverse noise level.

    See Also
    --------
    SquaredHinge : The likelihood that this normalises over the two labels.
    Link : The same of the hinge.

    References
    ----------
    Sollich (2002), Bayesian methods for support vector machines, eq. 11, with the loss of Gold & Sollich (2003), eq. 6.

    Examples
    --------
    >>> import numpy as np
    >>> SquaredLink(C=2.0).prob(np.array([1.0, -1.0]), np.array([0.5, 0.5])).round(4)
    array([0.8808, 0.1192])
    """

    name: ClassVar[str] = "squared_link"
    # Its slope is continuous; Newton's method converges in spite of the jumps of its curvature at +-1.
    is_smooth: ClassVar[bool] = True
    _kind: ClassVar[int] = SQUARED_LINK

    def odds(self, z: Array) -> tuple[Array, Array, Array]:
        """Return r(z) = l(-z) - l(z) and its first two derivatives; ln-odds are C r."""
        inside, size, sign = np.abs(z) <= 1, 1 + np.abs(z), np.sign(z)
        return (
            np.where(inside, 2 * z, 0.5 * sign * size**2),
            np.where(inside, 2.0, size),
            np.where(inside, 0.0, sign),
        )
