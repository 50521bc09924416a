"""Ratios of the normal cdf Phi and density phi that stay accurate where both vanish.

R(x) = Phi(x) / phi(x); rho(x) = R'(x) / R(x) = x + phi(x) / Phi(x) > 0; R''(x) / R(x) = 1 + x rho(x).
"""

import numpy as np
from scipy.special import erfcx, log_ndtr

from softmargin.likelihoods._protocol import Array

LOG_SQRT_2PI = 0.5 * np.log(2 * np.pi)
LOG_SQRT_HALF_PI = 0.5 * np.log(np.pi / 2)
_FAR = -8.0
"""Left of this point x + phi/Phi cancels and the continued fraction takes over."""


def log_phi(x: Array) -> Array:
    """ln phi(x)."""
    return -0.5 * x * x - LOG_SQRT_2PI


def log_R(x: Array) -> Array:
    """ln(Phi(x) / phi(x)), without overflow or cancellation."""
    left = LOG_SQRT_HALF_PI + np.log(erfcx(-np.minimum(x, 0) / np.sqrt(2)))
    right = log_ndtr(np.maximum(x, 0)) - log_phi(np.maximum(x, 0))
    return np.where(x < 0, left, right)


def _tail(t: Array) -> Array:
    """c = 2/(t + 3/(t + 4/(t + ...))), so that rho(-t) = 1/(t + c) (Laplace's continued fraction)."""
    c = np.zeros_like(t)
    for k in range(40, 1, -1):
        c = k / (t + c)
    return c


def rho(x: Array) -> Array:
    """x + phi(x)/Phi(x)."""
    near = np.maximum(x, _FAR)
    result = near + np.exp(-log_R(near))
    far = x < _FAR
    if np.any(far):
        t = -x[far]
        result[far] = 1 / (t + _tail(t))
    return result


def one_plus_x_rho(x: Array) -> Array:
    """1 + x rho(x) = R''(x)/R(x)."""
    near = np.maximum(x, _FAR)
    result = 1 + near * rho(near)
    far = x < _FAR
    if np.any(far):
        t = -x[far]
        c = _tail(t)
        result[far] = c / (t + c)
    return result
