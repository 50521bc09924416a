"""Gaussian integrals of the hinge's link where it is neither extreme nor weighted: nearly every row of a fit.

The panels of `_sigmoid_quadrature` feel their way along each row. Here they follow from what is known beforehand:
P = sigmoid(C r(z)) has kinks at +-1 and, off the real line, poles at C r = +-i pi, and the Gaussian is smooth on the
scale of its standard deviation s. A 16-point Gauss-Legendre panel of half width a that starts at a distance D from
the real part of the nearest pole is good to ten digits if a <= 3 s, a <= max(2/C, 3 D) and, where P is not yet flat,
a <= 8/C. All panels have as many nodes, so that the compiler can work on several of them at a time.
"""

import math

import numpy as np

from softmargin._compiled import njit

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)
_N = _NODES.size
_LOWEST_ODDS = -9.0
"""Log-odds at the cavity mean below which the mass moves away from it."""
_BELOW, _ABOVE = 7.4, 8.6
"""Standard deviations around the cavity mean beyond which less than 1e-12 of the integral lies. P grows with z: below
the mean it takes mass away, above it adds at most the e^9 of `_LOWEST_ODDS`."""
_FLAT, _NOTHING = 36.0, 45.0
"""Log-odds C r above which P is 1, and negative ones below which nothing of the integral is left."""

# exp(x) = 2^k exp(r), r = x - k ln 2: adding SHIFT rounds to the integer k and leaves it in the lowest bits.
_SHIFT = 1.5 * 2.0**52
_LOG2_E = 1 / math.log(2)
_LN2_HIGH, _LN2_LOW = 0.693147180369123816490, 1.90821492927058770002e-10
_T13, _T12, _T11, _T10, _T9, _T8, _T7, _T6, _T5, _T4, _T3 = (1 / math.factorial(k) for k in range(13, 2, -1))


def fill_easy(m, v, C, w, out):
    """Fill the easy columns of `out` (ln Z, its first two derivatives in m, that in C); return which are not easy."""
    easy = (w == 1) & (C * (m + np.clip(m, -1, 1)) > _LOWEST_ODDS)
    space = np.empty((10, _N))
    _fill(m, v, C, easy, space, space[:2].view(np.int64), out)
    return ~easy


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def _exp(x, y, bits):
    """Replace x by exp(x), -708 < x <= 0, of shape (2, 16); `bits` are those of y."""
    for i in range(2):
        for k in range(_N):
            y[i, k] = x[i, k] * _LOG2_E + _SHIFT
        for k in range(_N):
            whole = y[i, k] - _SHIFT
            r = (x[i, k] - whole * _LN2_HIGH) - whole * _LN2_LOW
            p = ((((_T13 * r + _T12) * r + _T11) * r + _T10) * r + _T9) * r + _T8
            p = (((((p * r + _T7) * r + _T6) * r + _T5) * r + _T4) * r + _T3) * r + 0.5
            x[i, k] = (p * r + 1) * r + 1
        for k in range(_N):
            bits[i, k] = (bits[i, k] + 1023) << 52
        for k in range(_N):
            x[i, k] *= y[i, k]


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def _add_panel(centre, half, m, v, C, dr, shift, space, bits):
    """Add the panel [centre - half, centre + half], where r = dr z + shift, to the sums of its sixteen nodes.

    Sums of 1, z - m, r' q, r' q (z - m) and r q over the density, q = 1 - P.
    """
    x, z, sums = space[2:4], space[4], space[5:]
    for k in range(_N):
        z[k] = half * _NODES[k] + (centre - m)
        x[0, k] = -0.5 * z[k] * z[k] / v
        x[1, k] = max(-abs(C * (dr * (z[k] + m) + shift)), -700.0)
    _exp(x, space[:2], bits)
    for k in range(_N):
        r_k, e = dr * (z[k] + m) + shift, x[1, k]
        positive = r_k > 0
        density = half * _WEIGHTS[k] * x[0, k] * (1.0 if positive else e) / (1 + e)
        q = density * (e if positive else 1.0) / (1 + e)
        sums[0, k] += density
        sums[1, k] += density * z[k]
        sums[2, k] += q * dr
        sums[3, k] += q * dr * z[k]
        sums[4, k] += q * r_k


@njit(cache=True, error_model="numpy")
def _panel(z, last, s, C):
    """The panel that starts at z: where it ends, and the slope and shift of r(z) = dr z + shift on it."""
    if z < -1:
        edge, dr, shift = -1.0, 1.0, -1.0
    elif z < 1:
        edge, dr, shift = (0.0 if z < 0 else 1.0), 2.0, 0.0
    else:
        edge, dr, shift = last, 1.0, 1.0
    r = dr * z + shift
    # D is the distance of the nearer end, r/dr itself or, left of the pole, of the far end: a <= 3 (-r/dr - 2a).
    half = max(2 / C, 3 * (r if r > 0 else -r / 7) / dr)
    if C * r < _FLAT:
        half = min(half, 8 / C)
    stop, edge = z + 2 * min(half, 3 * s), min(edge, last)
    # No slivers.
    return (edge if edge - stop < 0.1 * (stop - z) else stop), dr, shift


@njit(cache=True, error_model="numpy")
def _fill(m, v, C, easy, space, bits, out):
    """Fill the easy columns of `out`; `space` holds the exponents, z and the sums of each node."""
    sums = space[5:]
    nothing = min(-0.5 * _NOTHING / C, 1 - _NOTHING / C)
    for i in range(m.size):
        if not easy[i]:
            continue
        s = math.sqrt(v[i])
        sums[:] = 0.0
        z, last = max(m[i] - _BELOW * s, nothing), m[i] + _ABOVE * s
        while z < last:
            stop, dr, shift = _panel(z, last, s, C)
            _add_panel(0.5 * (z + stop), 0.5 * (stop - z), m[i], v[i], C, dr, shift, space, bits)
            z = stop
        mass, first, slope, cross, loss = 0.0, 0.0, 0.0, 0.0, 0.0
        for k in range(_N):
            mass += sums[0, k]
            first += sums[1, k]
            slope += sums[2, k]
            cross += sums[3, k]
            loss += sums[4, k]
        slope /= mass
        out[0, i] = math.log(mass) - 0.5 * math.log(2 * math.pi * v[i])
        out[1, i] = C * slope
        out[2, i] = C * (cross - slope * first) / mass / v[i]
        out[3, i] = loss / mass
