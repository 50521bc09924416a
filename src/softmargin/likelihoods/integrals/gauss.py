"""Ratios of the normal cdf Phi and density phi that stay accurate where both vanish.

R(x) = Phi(x) / phi(x); rho(x) = R'(x) / R(x) = x + phi(x) / Phi(x) > 0; R''(x) / R(x) = 1 + x rho(x).
"""

import numpy as np
from scipy.special import erfcx

from softmargin.likelihoods._protocol import Array

LOG_SQRT_2PI = 0.5 * np.log(2 * np.pi)
LOG_SQRT_HALF_PI = 0.5 * np.log(np.pi / 2)
SQRT_2, SQRT_2_OVER_PI = float(np.sqrt(2)), float(np.sqrt(2 / np.pi))
FAR = -8.0
"""Left of this point x + phi/Phi cancels and the continued fraction takes over."""
ONE = 30.0
"""Right of this point Phi is 1 to the last digit."""


def log_phi(x: Array) -> Array:
    """ln phi(x)."""
    return -0.5 * x * x - LOG_SQRT_2PI


def log_R(x: Array) -> Array:
    """ln(Phi(x) / phi(x)), without overflow or cancellation."""
    near = LOG_SQRT_HALF_PI + np.log(erfcx(-np.minimum(x, ONE) / np.sqrt(2)))
    # Beyond, Phi is one and erfcx would overflow.
    return np.where(x < ONE, near, 0.5 * x * x + LOG_SQRT_2PI)


def _tail(t: Array) -> Array:
    """c = 2/(t + 3/(t + 4/(t + ...))), so that rho(-t) = 1/(t + c) (Laplace's continued fraction)."""
    c = np.zeros_like(t)
    # All digits from -FAR on; far beyond, fewer terms have them.
    for k in range(20 if np.min(t) < 30 else 8, 1, -1):
        c = k / (t + c)
    return c


def hazard(x: Array) -> Array:
    """phi(x)/Phi(x) = 1/R(x); zero where Phi is one and erfcx infinite."""
    return SQRT_2_OVER_PI / erfcx(-x / SQRT_2)


def rho(x: Array) -> Array:
    """x + phi(x)/Phi(x)."""
    result = x + hazard(x)
    far = x < FAR
    if np.any(far):
        t = -x[far]
        result[far] = 1 / (t + _tail(t))
    return result


def one_plus_x_rho(x: Array) -> Array:
    """1 + x rho(x) = R''(x)/R(x)."""
    near = np.maximum(x, FAR)
    result = 1 + near * rho(near)
    far = x < FAR
    if np.any(far):
        t = -x[far]
        c = _tail(t)
        result[far] = c / (t + c)
    return result
