"""The Gaussian integral G = <exp(-C max(|f - y| - epsilon, 0))>, f ~ N(m, v), and what EP reads off it, compiled.

With s = v^1/2 the flat top reaches from lo = (|y - m| - epsilon)/s to hi = (|y - m| + epsilon)/s above m, after a
mirroring that puts m below y. G has three parts, below, on and above the top, which relative to phi(lo) are

    R(lo - C s),    (Phi(hi) - Phi(lo))/phi(lo),    phi(hi)/phi(lo) R(-hi - C s).

With their shares b, t, a of the sum and the mean distances from the top's edges, outwards rho(lo - C s) and
rho(-hi - C s), inwards `rise` and hi - lo - rise, everything is a sum of positive terms: nothing cancels.
"""

import math

import numpy as np

from softmargin._compiled import njit
from softmargin.likelihoods._protocol import Array
from softmargin.likelihoods.integrals.gauss import LOG_SQRT_2PI
from softmargin.likelihoods.integrals.ratios import ROOT_HALF, ratios

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)
_NODES, _WEIGHTS = 0.5 * (1 + _NODES), 0.5 * _WEIGHTS


def tube_moments(distance: Array, v: Array, C: Array, epsilon: float) -> Array:
    """ln G, d ln G/dm, -d2 ln G/dm2, the mean excess over epsilon and the share outside the tube; shape (5, n).

    `distance` is |y - m|, and d ln G/dm its value for m <= y.
    """
    distance, v, C = (np.ascontiguousarray(a, dtype=float) for a in np.broadcast_arrays(distance, v, C))
    out = np.empty((5, *distance.shape))
    _fill(distance.ravel(), v.ravel(), C.ravel(), float(epsilon), out.reshape(5, -1))
    return out


@njit(cache=True, error_model="numpy")
def _fill(distance, v, C, epsilon, out):
    for i in range(distance.size):
        s = math.sqrt(v[i])
        slope = C[i] * s
        lo, hi, width = (distance[i] - epsilon) / s, (distance[i] + epsilon) / s, 2 * epsilon / s
        log_R_b, log_Phi_b, depth, _, _ = ratios(lo - slope)
        log_R_a, log_Phi_a, height, _, _ = ratios(-hi - slope)
        log_top, rise = _top(lo, hi, width)
        log_a = log_R_a - 0.5 * width * (lo + hi)
        highest = max(log_R_b, log_top, log_a)
        b, t, a = math.exp(log_R_b - highest), math.exp(log_top - highest), math.exp(log_a - highest)
        total = b + t + a
        b, t, a = b / total, t / total, a / total
        tails = _log_add(_log_tail(lo, slope, log_R_b, log_Phi_b), _log_tail(-hi, slope, log_R_a, log_Phi_a))
        out[0, i] = _log_add(tails, _log_mass(lo, hi, log_top))
        out[1, i] = C[i] * (b - a)
        # C/s times the sum over pairs of parts of share * share * distance of their means (in s), the outer pair twice.
        out[2, i] = (
            C[i] / s * (b * t * (depth + rise) + a * t * (height + width - rise) + 2 * b * a * (depth + width + height))
        )
        out[3, i] = s * (b * depth + a * height)
        out[4, i] = b + a


@njit(cache=True, error_model="numpy")
def _top(lo, hi, width):
    """ln of the mass of a standard normal on [lo, hi] over phi(lo), and its mean distance from lo.

    `width` is hi - lo, free of rounding; lo + hi >= 0.
    """
    if width == 0:
        return -np.inf, 0.0
    if width * max(abs(lo), width, 1.0) <= 4:
        # A short interval: Gauss-Legendre on phi(lo + u)/phi(lo) = exp(-lo u - u^2/2), 0 <= u <= width.
        mass, first = 0.0, 0.0
        for k in range(_NODES.size):
            u = width * _NODES[k]
            density = _WEIGHTS[k] * math.exp(-u * (lo + 0.5 * u))
            mass += density
            first += density * u
        return math.log(width) + math.log(mass), first / mass
    # A long one: the tail beyond lo less the tail beyond hi, a fraction t of it and below 1/5.
    log_R_lo, _, rho_lo, _, _ = ratios(-lo)
    log_R_hi, _, rho_hi, _, _ = ratios(-hi)
    t = math.exp(-0.5 * width * (lo + hi) + log_R_hi - log_R_lo)
    return log_R_lo + math.log1p(-t), (rho_lo - t * (rho_hi + width)) / (1 - t)


@njit(cache=True, error_model="numpy")
def _log_tail(edge, slope, log_R, log_Phi):
    """ln of the integral of phi(x) exp(slope (x - edge)) over x < edge, from the ratios at edge - slope."""
    if edge < slope:
        return -0.5 * edge * edge - LOG_SQRT_2PI + log_R
    return slope * (0.5 * slope - edge) + log_Phi


@njit(cache=True, error_model="numpy")
def _log_mass(lo, hi, log_top):
    """ln[Phi(hi) - Phi(lo)], from its complement where that is small."""
    if lo < -1:
        return math.log1p(-0.5 * (math.erfc(-lo * ROOT_HALF) + math.erfc(hi * ROOT_HALF)))
    return -0.5 * lo * lo - LOG_SQRT_2PI + log_top


@njit(cache=True, error_model="numpy")
def _log_add(x, y):
    """ln(e^x + e^y)."""
    high = max(x, y)
    return high if high == -np.inf else high + math.log1p(math.exp(min(x, y) - high))
