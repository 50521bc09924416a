"""The hinge's normalised class probability P(y | f) = sigmoid(C [l(-y f) - l(y f)]) (Sollich 2002, eq. 11).

As a likelihood of its own it gives the *link evidence*; averaged over a posterior it gives the predictive
class probability (Sollich 2002, eq. 33). It is not log-concave at y f = -1, so EP sites can be negative.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import expit, log_expit

from softmargin.likelihoods._defaults import LikelihoodDefaults
from softmargin.likelihoods._protocol import Array, Derivatives, ExpectedLogProb, TiltedMoments
from softmargin.likelihoods.integrals.expected_sigmoid import expected_log_sigmoid
from softmargin.likelihoods.integrals.sigmoid_quadrature import (
    HINGE_LINK,
    SQUARED_LINK,
    sigmoid_moments,
)
from softmargin.policy import POLICY, Range


@dataclass(frozen=True)
class Link(LikelihoodDefaults):
    """Normalised hinge: ln-odds C (f + clip(f, -1, 1)).

    Parameters
    ----------
    C : float
        Inverse noise level.

    Examples
    --------
    >>> import numpy as np
    >>> Link(C=2.0).prob(np.array([1.0, -1.0]), np.array([0.5, 0.5])).round(4)
    array([0.8808, 0.1192])
    """

    C: float = 1.0

    name: ClassVar[str] = "link"
    param_names: ClassVar[tuple[str, ...]] = ("C",)
    param_bounds: ClassVar[dict[str, Range]] = {"C": POLICY.likelihood.C}
    is_classifier: ClassVar[bool] = True
    is_smooth: ClassVar[bool] = False
    _kind: ClassVar[int] = HINGE_LINK

    def odds(self, z: Array) -> tuple[Array, Array, Array]:
        """Return r(z) = l(-z) - l(z) and its first two derivatives; ln-odds are C r."""
        inside = np.abs(z) <= 1
        return z + np.clip(z, -1, 1), np.where(inside, 2.0, 1.0), np.zeros_like(z)

    def prob(self, y: Array | float, f: Array) -> Array:
        """P(y | f)."""
        return expit(self.C * self.odds(y * f)[0])

    def log_prob(self, y: Array, f: Array, weight: Array | None = None) -> Array:
        """Return w ln P(y | f)."""
        w = 1.0 if weight is None else weight
        return w * log_expit(self.C * self.odds(y * f)[0])

    def derivatives(self, y: Array, f: Array, weight: Array | None = None) -> Derivatives:
        """Return slope and curvature of `log_prob` in f (kinks at +-1 aside)."""
        w = 1.0 if weight is None else weight
        r, dr, d2r = self.odds(y * f)
        q = expit(-self.C * r)
        return Derivatives(w * self.C * y * dr * q, w * q * (self.C * d2r - (self.C * dr) ** 2 * (1 - q)))

    def d_log_prob_d_params(self, y: Array, f: Array, weight: Array | None = None) -> Array:
        """d log_prob / dC, shape (1, n)."""
        w = 1.0 if weight is None else weight
        r = self.odds(y * f)[0]
        return np.atleast_2d(w * r * expit(-self.C * r))

    def tilted_moments(self, y: Array, m: Array, v: Array, weight: Array | None = None) -> TiltedMoments:
        """Integrate P(y | f)^w against N(f; m, v), by quadrature."""
        y, m, v, w = _rows(y, m, v, weight)
        log_z, d_mean, d2_mean, d_C = sigmoid_moments(y * m, v, float(self.C), w, self._kind)
        return TiltedMoments(log_z, y * d_mean, d2_mean, d_C[None])

    def expected_log_prob(self, y: Array, m: Array, v: Array, weight: Array | None = None) -> ExpectedLogProb:
        """Average w ln P(y | f) over f ~ N(m, v), by quadrature."""
        y, m, v, w = _rows(y, m, v, weight)
        value, d_mean, d_var, d_C = expected_log_sigmoid(y * m, v, float(self.C), w, self._kind)
        return ExpectedLogProb(value, y * d_mean, d_var, d_C[None])

    def log_odds(self, f: Array) -> Array:
        """ln P(+1 | f)/P(-1 | f) = C r(f)."""
        return self.C * self.odds(f)[0]


@dataclass(frozen=True)
class SquaredLink(Link):
    """Normalised squared hinge: ln-odds 2 C f inside ``|f| <= 1``, ``C sign(f) (1 + |f|)^2 / 2`` outside.

    Parameters
    ----------
    C : float
        Inverse noise level.
    """

    name: ClassVar[str] = "squared_link"
    _kind: ClassVar[int] = SQUARED_LINK

    def odds(self, z: Array) -> tuple[Array, Array, Array]:
        """Return r(z) = l(-z) - l(z) and its first two derivatives; ln-odds are C r."""
        inside, size, sign = np.abs(z) <= 1, 1 + np.abs(z), np.sign(z)
        return (
            np.where(inside, 2 * z, 0.5 * sign * size**2),
            np.where(inside, 2.0, size),
            np.where(inside, 0.0, sign),
        )


def _rows(y: Array, m: Array, v: Array, weight: Array | None) -> tuple[Array, ...]:
    """Broadcast to contiguous float arrays of one shape, as the compiled loops want them."""
    w = np.ones(np.shape(m)) if weight is None else weight
    rows = [np.ascontiguousarray(a, dtype=float) for a in (y, m, v, w)]
    if any(a.shape != rows[1].shape for a in rows):
        rows = [np.array(a) for a in np.broadcast_arrays(*rows)]
    return tuple(rows)
