"""Gaussian integrals of P(z)^w, P(z) = sigmoid(C r(z)), to about ten digits in every regime.

Three odd, increasing functions r: the hinge's link r = z + clip(z, -1, 1), the squared hinge's link
(r = 2z inside |z| <= 1, sign(z)(1 + |z|)^2 / 2 outside) and the logistic r = z.

L(z) = -(z - m)^2 / 2v + w ln P(z) has one mode on each side of the kinks at +-1, and two beyond +1 where the squared
hinge's link outgrows the Gaussian: a valley between them then ends a piece too. So on each piece we find its mode and
step outwards with ten-point Gauss-Legendre panels, short enough for the local slope and curvature, until L has dropped
by 36 below the highest mode: nothing is lost in the tails, where fixed rules fail.

What is compiled loops over scalars and fills arrays it is given: numba translates array functions far more slowly,
and the first fit on a machine waits for it.
"""

import math

import numpy as np

from softmargin._compiled import njit
from softmargin.likelihoods.integrals.sigmoid.panels import fill_easy

HINGE_LINK, SQUARED_LINK, LOGISTIC = 0, 1, 2

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(10)
_DROP = 36.0
# ln P(z) bends where the log-odds C r(z) pass these values: panels end there.
_BENDS = np.array([-30.0, -12.0, -5.0, -2.0, 0.0, 2.0, 5.0, 12.0, 30.0])


@njit(cache=True)
def _r(z, kind):
    """r(z) and r'(z)."""
    if kind == LOGISTIC:
        return z, 1.0
    if abs(z) <= 1:
        return 2 * z, 2.0
    if kind == HINGE_LINK:
        return z + math.copysign(1.0, z), 1.0
    return math.copysign(0.5 * (1 + abs(z)) ** 2, z), 1 + abs(z)


def _bends(C, kind):
    """The z at which C r(z) equals each of the bends, increasing."""
    u = _BENDS / C
    if kind == LOGISTIC:
        return u
    outside = u - np.sign(u) if kind == HINGE_LINK else np.sign(u) * (np.sqrt(2 * np.abs(u)) - 1)
    return np.where(np.abs(u) <= 2, 0.5 * u, outside)


@njit(cache=True)
def _log_p(u):
    """ln sigmoid(u)."""
    return -math.log1p(math.exp(-u)) if u > 0 else u - math.log1p(math.exp(u))


@njit(cache=True)
def _q(u):
    """1 - sigmoid(u)."""
    return math.exp(-u) / (1 + math.exp(-u)) if u > 0 else 1 / (1 + math.exp(u))


@njit(cache=True)
def _log_density(z, m, v, C, w, kind):
    return -0.5 * (z - m) ** 2 / v + w * _log_p(C * _r(z, kind)[0])


@njit(cache=True)
def _slope_curvature(z, m, v, C, w, kind):
    """L'(z) and an upper bound of -L''(z)."""
    r, dr = _r(z, kind)
    q = _q(C * r)
    return (m - z) / v + w * C * dr * q, 1 / v + w * C * C * dr * dr * q * (1 - q) + w * C * q * (kind == 1)


@njit(cache=True)
def _inside(z, lower, upper):
    """Keep z off the kinks, where r' is that of the neighbouring piece."""
    width = min(upper - lower, 1.0)
    return min(max(z, lower + 1e-12 * width), upper - 1e-12 * width)


@njit(cache=True)
def _mode(lower, upper, m, v, C, w, kind):
    """Maximum of L on [lower, upper] by bisection (P increases, so it lies at or right of m)."""
    left = max(lower, m)
    # Where the slope of the Gaussian balances the largest w C r'.
    steepest = max(2.0, 1 + abs(m)) if kind == SQUARED_LINK else 2.0
    right = min(upper, min(m + v * w * C * steepest, 1e300))
    if left >= upper:
        return upper
    if right <= left:
        return left
    if _slope_curvature(_inside(left, lower, upper), m, v, C, w, kind)[0] <= 0:
        return left
    if _slope_curvature(_inside(right, lower, upper), m, v, C, w, kind)[0] >= 0:
        if kind != SQUARED_LINK or right == upper or lower < 1:
            return right
        # Beyond 1 the link steepens: u (1 - P) < 0.28, u = C r, holds (z - m)(1 + z) below 0.56 v w.
        left, right = right, max(right, m) + math.sqrt(0.56 * v * w)
    # Halvings from the largest number to the distance of neighbours, at worst.
    for _ in range(1200):
        middle = 0.5 * (left + right)
        if not left < middle < right:
            break
        slope = _slope_curvature(middle, m, v, C, w, kind)[0]
        if slope > 0:
            left = middle
        else:
            right = middle
        # A start near the mode, and nearly as high, is enough: the panels cover both sides of it.
        width = right - left
        if width <= 0.05 * math.sqrt(v) and width <= 0.05 / C and width * abs(slope) <= 1:
            break
    return 0.5 * (left + right)


@njit(cache=True)
def _valley(m, v, C, w):
    """The lowest point between two modes of the squared hinge's L beyond 1; 1 where there is one mode at most.

    With t = 1 + z and u = C r = C t^2/2, L' = (m + 1)/v + g, g = t (w C (1 - P) - 1/v). As t grows from 2, g rises
    while w C (1 - P)(1 - 2 u P) > 1/v and falls ever after. There are two modes if L' < 0 at 1 and L' > 0 at g's
    maximum.
    """
    base, falls, rises = (m + 1) / v, 2.0, max(2.0, math.sqrt(2 / C))
    if base + 2 * (w * C * _q(2 * C) - 1 / v) >= 0:
        return 1.0
    # g falls at u = 1: its maximum lies between.
    low, high = 2.0, rises
    for _ in range(60):
        middle = 0.5 * (low + high)
        u = 0.5 * C * middle * middle
        q = _q(u)
        if w * C * q * (1 - 2 * u * (1 - q)) > 1 / v:
            low = middle
        else:
            high = middle
    rises = low
    if base + rises * (w * C * _q(0.5 * C * rises * rises) - 1 / v) <= 0:
        return 1.0
    # Near the valley is enough, on the side that rises: the panels from 1 end at it.
    while rises - falls > 1e-3 * rises:
        middle = 0.5 * (falls + rises)
        if base + middle * (w * C * _q(0.5 * C * middle * middle) - 1 / v) > 0:
            rises = middle
        else:
            falls = middle
    return rises - 1


@njit(cache=True)
def _walk(start, end, peak, top, m, v, C, w, kind, bends, sums):
    """Add panels from start towards end until L < top - 36, in units of e^top.

    Sums of 1, z - peak, g, g (z - peak) and r (1 - P), where g = C r' (1 - P) is the slope of ln P.
    """
    direction = 1.0 if end > start else -1.0
    lower, upper = min(start, end), max(start, end)
    z = start
    while z != end:
        slope, curvature = _slope_curvature(_inside(z, lower, upper), m, v, C, w, kind)
        step = min(2.5 / math.sqrt(curvature), 6 / max(abs(slope), 1e-300))
        stop = z + direction * step
        for edge in bends:
            if (edge - z) * direction > 1e-14 * abs(edge) and (stop - edge) * direction > 0:
                stop = edge
        if (stop - end) * direction >= 0:
            stop = end
        if stop == z:
            break
        half, centre = 0.5 * abs(stop - z), 0.5 * (stop + z)
        for k in range(_NODES.size):
            x = centre + half * _NODES[k]
            r, dr = _r(x, kind)
            # P = e^min(u, 0)/(1 + e^-|u|), u = C r: one exponential serves P and 1 - P.
            u = C * r
            e = math.exp(-abs(u))
            q = (e if u > 0 else 1.0) / (1 + e)
            bent, log_bent = (1 / (1 + e), 0.0) if w == 1 else (1.0, -w * math.log1p(e))
            # With a large weight both are far out of range, and only their product with e^-top is not.
            density = half * _WEIGHTS[k] * bent * math.exp(-0.5 * (x - m) ** 2 / v + w * min(u, 0.0) + log_bent - top)
            sums[0] += density
            sums[1] += density * (x - peak)
            sums[2] += density * C * dr * q
            sums[3] += density * C * dr * q * (x - peak)
            sums[4] += density * r * q
        z = stop
        if _log_density(z, m, v, C, w, kind) < top - _DROP:
            break


def sigmoid_moments(m, v, C, w, kind):
    """ln Z, d ln Z/dm, d2 ln Z/dm2 and d ln Z/dC of Z = integral of N(z; m, v) P(z)^w; shape (4, n).

    d ln Z/dm = w <g> and d2 ln Z/dm2 = w Cov(g, z) / v, averages over the tilted density (Stein's identity):
    unlike the tilted variance less v, both keep their relative accuracy when v is small.
    """
    if kind != HINGE_LINK:
        return _moments(m, v, C, w, kind)
    out = np.empty((4, m.size))
    hard = fill_easy(m, v, float(C), w, out)
    if hard.any():
        out[:, hard] = _moments(m[hard], v[hard], C, w[hard], kind)
    return out


def _moments(m, v, C, w, kind):
    """`sigmoid_moments` by panels that adapt to each row, for every regime and kind."""
    out = np.zeros((4, m.size))
    # Between the edges L is smooth and has one mode; the second 1 gives way to a valley beyond it.
    kinks = {HINGE_LINK: [-1.0, 1.0], SQUARED_LINK: [-1.0, 1.0, 1.0], LOGISTIC: []}[kind]
    edges = np.array([-np.inf, *kinks, np.inf])
    _fill_moments(m, v, float(C), w, kind, edges, _bends(C, kind), np.empty((2, edges.size - 1)), np.empty(5), out)
    return out


@njit(cache=True)
def _fill_moments(m, v, C, w, kind, edges, bends, peaks, sums, out):
    """Fill `out` for `sigmoid_moments`; `peaks` (modes and their heights) and `sums` are working space."""
    modes, heights = peaks[0], peaks[1]
    for i in range(m.size):
        if w[i] == 0:
            continue
        if not (abs(m[i]) < np.inf and 0 <= v[i] < np.inf):
            # Panels would never end.
            for k in range(4):
                out[k, i] = np.nan
            continue
        if kind == SQUARED_LINK:
            edges[3] = _valley(m[i], v[i], C, w[i])
        highest = 0
        for j in range(modes.size):
            modes[j] = _mode(edges[j], edges[j + 1], m[i], v[i], C, w[i], kind)
            heights[j] = _log_density(modes[j], m[i], v[i], C, w[i], kind)
            if heights[j] > heights[highest]:
                highest = j
        top, peak = heights[highest], modes[highest]
        for k in range(sums.size):
            sums[k] = 0.0
        for j in range(modes.size):
            if heights[j] > top - _DROP:
                for end in range(j, j + 2):
                    _walk(modes[j], edges[end], peak, top, m[i], v[i], C, w[i], kind, bends, sums)
        if sums[0] <= 0:
            # The Gaussian is narrower than the distance between numbers of the size of m: a point.
            r, dr = _r(m[i], kind)
            q = _q(C * r)
            out[0, i] = w[i] * _log_p(C * r)
            out[1, i] = w[i] * C * dr * q
            out[2, i] = -w[i] * C * C * dr * dr * q * (1 - q)
            out[3, i] = w[i] * r * q
            continue
        slope = sums[2] / sums[0]
        out[0, i] = top + math.log(sums[0]) - 0.5 * math.log(2 * math.pi * v[i])
        out[1, i] = w[i] * slope
        out[2, i] = w[i] * (sums[3] - slope * sums[1]) / sums[0] / v[i]
        out[3, i] = w[i] * sums[4] / sums[0]
