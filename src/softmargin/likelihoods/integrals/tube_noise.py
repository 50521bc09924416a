"""Epsilon-insensitive noise plus a Gaussian: distribution function and quantiles in closed form.

Gao, Gunn & Harris, eq. 5.2. The noise is a uniform variable on [-epsilon, epsilon] with probability q/(1 + q),
q = epsilon C, and otherwise +-(epsilon + an exponential variable of rate C). With s the Gaussian's standard deviation,
A(u) = u Phi(u/s) + s phi(u/s) and E(u) = exp(C u + C^2 v/2) Phi(-u/s - C s) the distribution function is

    F(d) = c [A(d + epsilon) - A(d - epsilon)]
         + [Phi((d + epsilon)/s) + E(d + epsilon) + Phi((d - epsilon)/s) - E(epsilon - d)] / (2 (1 + q)),

c = C/(2 (1 + q)). E is written with erfcx, and F is only ever evaluated for d <= 0, where nothing cancels:
F(-d) = 1 - F(d).
"""

from typing import Any

import numpy as np
from scipy.special import erfcx, log_ndtr, ndtr

from softmargin.likelihoods._protocol import Array
from softmargin.likelihoods.integrals.gauss import LOG_SQRT_HALF_PI, log_phi, rho

MAX_NEWTON = 100


def log_tail(edge: Array, slope: Array) -> Array:
    """ln of the integral of phi(x) exp(slope (x - edge)) over x < edge.

    It is phi(edge) M(slope - edge), M(a) = sqrt(pi/2) erfcx(a / sqrt 2) = Phi(-a)/phi(a).
    """
    a = slope - edge
    # For very negative a erfcx overflows: there exp(slope^2/2 - slope edge) Phi(-a) is safe.
    near = np.maximum(a, -8.0)
    return np.where(
        a > -8,
        log_phi(edge) + LOG_SQRT_HALF_PI + np.log(erfcx(near / np.sqrt(2))),
        slope * (slope / 2 - edge) + log_ndtr(-a),
    )


def lower_cdf(C: float, epsilon: float, d: Array, s: Array) -> Array:
    """F(d) for d <= 0, shape (n,), with full relative accuracy."""
    near, far = (d + epsilon) / s, (d - epsilon) / s
    near_phi, far_phi = ndtr(near), ndtr(far)
    # A(u) = s Phi(u/s) rho(u/s)
    top = C * s * (near_phi * rho(near) - far_phi * rho(far))
    below = near_phi + np.exp(log_tail(-near, C * s))
    above = far_phi - np.exp(log_tail(far, C * s))
    return 0.5 * (top + below + above) / (1 + epsilon * C)


def lower_quantile(likelihood: Any, level: float, s: Array) -> Array:
    """Solve F(d) = level <= 1/2 for d <= 0, shape (n,).

    The density is log-concave, hence so is F, and Newton's method on ln F converges: from the right its first step
    lands left of the root (the tangent lies above), and from there it climbs. A bracket catches steps too far out.
    """
    mean = np.zeros_like(s)
    unit = np.sqrt(s**2 + likelihood.noise_variance)
    low, high = np.full_like(s, -np.inf), np.zeros_like(s)
    d = np.zeros_like(s)
    for _ in range(MAX_NEWTON):
        F = lower_cdf(likelihood.C, likelihood.epsilon, d, s)
        low, high = np.where(level > F, d, low), np.where(level > F, high, d)
        safe = np.maximum(F, 1e-280)
        slope = np.exp(likelihood.tilted_moments(d, mean, s**2).log_z) / safe
        step = (np.log(level) - np.log(safe)) / np.maximum(slope, 1e-280)
        inside = (F > 1e-280) & (d + step >= low) & (d + step <= high)
        proposal = np.where(inside, d + step, 0.5 * (low + high))
        moved = np.abs(proposal - d)
        d = proposal
        if np.all(moved <= 1e-12 * (unit + np.abs(d))):
            break
    return d
