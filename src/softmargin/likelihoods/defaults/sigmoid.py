"""Likelihoods sigmoid(C r(y f)) of class labels: what follows from the ln-odds C r."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import expit, log_expit

from softmargin.likelihoods._protocol import Array, Derivatives, ExpectedLogProb, MapCurvature, TiltedMoments, power
from softmargin.likelihoods.defaults.label import LabelDefaults
from softmargin.likelihoods.integrals.sigmoid.expected import expected_log_sigmoid
from softmargin.likelihoods.integrals.sigmoid.quadrature import LOGISTIC, sigmoid_moments


@dataclass(frozen=True)
class SigmoidDefaults(LabelDefaults):
    """Base class; by itself r(z) = z.

    Parameters
    ----------
    C : float
        Inverse noise level.
    """

    _kind: ClassVar[int] = LOGISTIC

    def odds(self, z: Array) -> tuple[Array, Array, Array]:
        """Return r(z) and its first two derivatives; ln-odds are C r."""
        return z, np.ones_like(z), np.zeros_like(z)

    def prob(self, y: Array | float, f: Array) -> Array:
        """P(y | f)."""
        return expit(self.C * self.odds(y * f)[0])

    def log_prob(self, y: Array, f: Array, weight: Array | None = None) -> Array:
        """Return w ln P(y | f)."""
        w = power(weight)
        return w * log_expit(self.C * self.odds(y * f)[0])

    def derivatives(self, y: Array, f: Array, weight: Array | None = None) -> Derivatives:
        """Return slope and curvature of `log_prob` in f (kinks at +-1 aside)."""
        w = power(weight)
        r, dr, d2r = self.odds(y * f)
        q = expit(-self.C * r)
        return Derivatives(w * self.C * y * dr * q, w * q * (self.C * d2r - (self.C * dr) ** 2 * (1 - q)))

    def map_curvature(self, y: Array, f: Array, weight: Array | None = None) -> MapCurvature:
        """Return minus the curvature of `log_prob` and its derivatives (kinks at +-1 aside)."""
        w, C = power(weight), self.C
        r, dr, d2r = self.odds(y * f)
        q = expit(-C * r)
        by_z, by_C = -C * dr * q * (1 - q), -r * q * (1 - q)
        # d2 ln P/df2 = q a with a = C r'' - C^2 r'^2 (1 - q); the third derivative of r is zero on every piece
        a = C * d2r - (C * dr) ** 2 * (1 - q)
        a_by_z = -2 * C**2 * dr * d2r * (1 - q) + (C * dr) ** 2 * by_z
        a_by_C = d2r - 2 * C * dr**2 * (1 - q) + (C * dr) ** 2 * by_C
        return MapCurvature(
            precision=-w * q * a,
            d_f=-w * y * (by_z * a + q * a_by_z),
            d_params=np.atleast_2d(-w * (by_C * a + q * a_by_C)),
            slope_d_params=np.atleast_2d(w * y * dr * (q + C * by_C)),
        )

    def d_log_prob_d_params(self, y: Array, f: Array, weight: Array | None = None) -> Array:
        """d log_prob / dC, shape (1, n)."""
        w = power(weight)
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


def _rows(y: Array, m: Array, v: Array, weight: Array | None) -> tuple[Array, ...]:
    """Broadcast to contiguous float arrays of one shape, as the compiled loops want them."""
    w = np.ones(np.shape(m)) if weight is None else weight
    rows = [np.ascontiguousarray(a, dtype=float) for a in (y, m, v, w)]
    if any(a.shape != rows[1].shape for a in rows):
        rows = [np.array(a) for a in np.broadcast_arrays(*rows)]
    return tuple(rows)
