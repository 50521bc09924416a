"""A warped target: a power transform after which a skewed target is closer to normal (Yeo & Johnson 2000).

With u = (y - center)/scale of mean 0 and variance 1 and the power p,

    t(u) = ((1 + u)^p - 1)/p  for u >= 0,    t(u) = -((1 - u)^(2 - p) - 1)/(2 - p)  for u < 0,

with logarithms at p = 0 and p = 2. Its slope is (1 + |u|)^((p - 1) sign u), and -y has the power 2 - p. Outside
[low, high] the map goes on as a straight line: it is then onto, so that densities of y integrate to one, and its
inverse grows no faster than t, so that y has moments.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar

from softmargin._linalg import Array
from softmargin.policy import POLICY

STACK = POLICY.stack


@dataclass(frozen=True)
class TargetWarp:
    """An increasing map from targets y to warped ones t, with a continuous slope.

    Parameters
    ----------
    center, scale : float
        Of y; the rest is in units of u = (y - center)/scale.
    power : float
        1 is the identity.
    low, high : float
        Where the straight lines begin.

    Examples
    --------
    >>> warp = TargetWarp(center=1.0, scale=2.0, power=0.0, low=-3.0, high=3.0)
    >>> bool(np.isclose(warp.inverse(warp(np.array([5.0]))), 5.0)[0])
    True
    """

    center: float
    scale: float
    power: float
    low: float
    high: float

    @classmethod
    def of(cls, y: Array, weight: Array) -> "TargetWarp | None":
        """The warp of most likelihood for targets with these weights; None if it gains too little on the identity."""
        share = weight / weight.sum()
        center = float(share @ y)
        largest = float(np.abs(y - center).max())
        if not largest > 1e-12 * np.abs(y).max():
            return None
        # Squares of extreme targets would overflow.
        scale = largest * float(np.sqrt(share @ ((y - center) / largest) ** 2))
        u = (y - center) / scale
        # Targets and their negatives must get mirrored warps to the last bit: only one of the two is searched.
        mirrored = bool(share @ u**3 < 0)
        v = -u if mirrored else u

        def loss(power: float) -> float:
            return -_log_likelihood(v, share, power)

        found = minimize_scalar(loss, bounds=STACK.target_power, method="bounded", options={"xatol": 1e-6})
        if weight.sum() * (loss(1.0) - float(found.fun)) < STACK.target_gain:
            return None
        power = 2 - float(found.x) if mirrored else float(found.x)
        return cls(center, scale, power, float(u.min()) - STACK.target_reach, float(u.max()) + STACK.target_reach)

    def __call__(self, y: Array) -> Array:
        """The warped targets, the shape of y."""
        u = (y - self.center) / self.scale
        v = np.clip(u, self.low, self.high)
        return _power(v, self.power) + np.exp(_log_slope(v, self.power)) * (u - v)

    def log_slope(self, y: Array) -> Array:
        """ln dt/dy, the shape of y."""
        u = (y - self.center) / self.scale
        return _log_slope(np.clip(u, self.low, self.high), self.power) - np.log(self.scale)

    def inverse(self, t: Array) -> Array:
        """The targets of warped ones, the shape of t."""
        ends = _power(np.array([self.low, self.high]), self.power)
        inside = np.clip(t, *ends)
        v = _inverse(inside, self.power)
        return self.center + self.scale * (v + (t - inside) * np.exp(-_log_slope(v, self.power)))


def _log_likelihood(u: Array, share: Array, power: float) -> float:
    """Per row, of a normal distribution of the warped targets, at its best mean and variance."""
    t = _power(u, power)
    return float(share @ _log_slope(u, power)) - 0.5 * float(np.log(share @ (t - share @ t) ** 2))


def _log_slope(u: Array, power: float) -> Array:
    return (power - 1) * np.sign(u) * np.log1p(np.abs(u))


def _power(u: Array, power: float) -> Array:
    log_1 = np.log1p(np.abs(u))
    return np.where(u >= 0, _box_cox(log_1, power), -_box_cox(log_1, 2 - power))


def _box_cox(log_1: Array, power: float) -> Array:
    """((1 + u)^p - 1)/p for log_1 = ln(1 + u)."""
    return log_1 if abs(power) < 1e-9 else np.expm1(power * log_1) / power


def _inverse(t: Array, power: float) -> Array:
    size = np.abs(t)
    return np.where(t >= 0, _inverse_box_cox(size, power), -_inverse_box_cox(size, 2 - power))


def _inverse_box_cox(t: Array, power: float) -> Array:
    """u >= 0 for t >= 0; where t is out of range, which only the branch of the other sign asks for, anything finite."""
    if abs(power) < 1e-9:
        return np.expm1(np.minimum(t, 700.0))
    with np.errstate(over="ignore"):
        return np.expm1(np.minimum(np.log1p(np.maximum(power * t, -1 + 1e-12)) / power, 700.0))
