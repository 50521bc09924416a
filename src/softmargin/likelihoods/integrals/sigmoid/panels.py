"""Gaussian integrals of the hinge's link where it is neither extreme nor weighted: nearly every row of a fit.

The panels of `quadrature.py` adapt to each row. Here they follow from what is known beforehand:
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
_FARTHEST = 1e12
"""Standard deviations from zero beyond which the Gaussian is nearly a point."""
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
    # Panels narrower than the distance between numbers of the size of m would never end.
    easy &= np.abs(m) < _FARTHEST * np.sqrt(v)
    y = np.empty(_N)
    _fill(m, v, C, easy, y, y.view(np.int64), np.empty((3, _N)), np.empty((5, _N)), out)
    return ~easy


# One loop and no functions of its own: it is compiled in two thirds of the time, and runs in two thirds of the time.
@njit(cache=True, error_model="numpy", fastmath={"contract"})
def _fill(m, v, C, easy, y, bits, nodes, sums, out):
    """Fill the easy columns of `out`.

    `nodes` has z - m and two exponents for each node of a panel, `sums` those of 1, z - m, r' q, r' q (z - m) and r q
    over the density, q = 1 - P; `bits` are those of y, with which exp(x) is made.
    """
    nothing, other = -0.5 * _NOTHING / C, 1 - _NOTHING / C
    nothing = nothing if nothing < other else other
    for i in range(m.size):
        if not easy[i]:
            continue
        m_i, v_i, s = m[i], v[i], math.sqrt(v[i])
        for a in range(5):
            for k in range(_N):
                sums[a, k] = 0.0
        z, last = m_i - _BELOW * s, m_i + _ABOVE * s
        z = z if z > nothing else nothing
        while z < last:
            # The panel that starts at z, on which r(z) = dr z + shift.
            if z < -1:
                edge, dr, shift = -1.0, 1.0, -1.0
            elif z < 1:
                edge, dr, shift = (0.0 if z < 0 else 1.0), 2.0, 0.0
            else:
                edge, dr, shift = last, 1.0, 1.0
            r = dr * z + shift
            # D is the distance of the nearer end: r/dr or, left of the pole, that of the far end, a <= 3 (-r/dr - 2a).
            half, far = 2 / C, 3 * (r if r > 0 else -r / 7) / dr
            half = far if far > half else half
            if C * r < _FLAT and half > 8 / C:
                half = 8 / C
            stop, edge = z + 2 * (half if half < 3 * s else 3 * s), (edge if edge < last else last)
            # No slivers.
            if edge - stop < 0.1 * (stop - z):
                stop = edge
            start, half = 0.5 * (z + stop) - m_i, 0.5 * (stop - z)
            for k in range(_N):
                nodes[0, k] = half * _NODES[k] + start
                nodes[1, k] = -0.5 * nodes[0, k] * nodes[0, k] / v_i
                e = -abs(C * (dr * (nodes[0, k] + m_i) + shift))
                nodes[2, k] = e if e > -700.0 else -700.0
            # Replace both exponents x, -708 < x <= 0, by exp(x).
            for a in range(1, 3):
                for k in range(_N):
                    y[k] = nodes[a, k] * _LOG2_E + _SHIFT
                for k in range(_N):
                    whole = y[k] - _SHIFT
                    x = (nodes[a, k] - whole * _LN2_HIGH) - whole * _LN2_LOW
                    p = ((((_T13 * x + _T12) * x + _T11) * x + _T10) * x + _T9) * x + _T8
                    p = (((((p * x + _T7) * x + _T6) * x + _T5) * x + _T4) * x + _T3) * x + 0.5
                    nodes[a, k] = (p * x + 1) * x + 1
                for k in range(_N):
                    bits[k] = (bits[k] + 1023) << 52
                for k in range(_N):
                    nodes[a, k] *= y[k]
            for k in range(_N):
                r_k, e = dr * (nodes[0, k] + m_i) + shift, nodes[2, k]
                positive = r_k > 0
                density = half * _WEIGHTS[k] * nodes[1, k] * (1.0 if positive else e) / (1 + e)
                q = density * (e if positive else 1.0) / (1 + e)
                sums[0, k] += density
                sums[1, k] += density * nodes[0, k]
                sums[2, k] += q * dr
                sums[3, k] += q * dr * nodes[0, k]
                sums[4, k] += q * r_k
            z = stop
        mass, first, slope, cross, loss = 0.0, 0.0, 0.0, 0.0, 0.0
        for k in range(_N):
            mass += sums[0, k]
            first += sums[1, k]
            slope += sums[2, k]
            cross += sums[3, k]
            loss += sums[4, k]
        slope /= mass
        out[0, i] = math.log(mass) - 0.5 * math.log(2 * math.pi * v_i)
        out[1, i] = C * slope
        out[2, i] = C * (cross - slope * first) / mass / v_i
        out[3, i] = loss / mass
