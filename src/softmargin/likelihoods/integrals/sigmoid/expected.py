"""Gaussian averages of ln sigmoid(C r(z)), the expected log-probabilities of the normalised likelihoods.

Gauss-Legendre panels that end at the kinks +-1 and where ln P bends cover nine standard deviations to each side, to
about twelve digits. A pass over a million rows evaluates some 10^8 nodes, so the loop over the nodes of a row is
written for the processor's vector units: no branches, and an exponential and a logarithm that are polynomials.
"""

import math

import numpy as np

from softmargin._compiled import njit
from softmargin.likelihoods.integrals.sigmoid.quadrature import _BENDS, _NODES, _WEIGHTS, _bends, _r

_REACH = 9.0
_PANELS = 8
_MOST_CUTS = _BENDS.size + 2 + _PANELS + 1


@njit(cache=True, fastmath=True, error_model="numpy", nogil=True)
def _exp(x):
    """e^x for x <= 0: 2^k times the Taylor polynomial of the rest, |rest| <= ln(2)/2."""
    x = x if x > -700.0 else -700.0
    k = np.floor(x * 1.4426950408889634 + 0.5)
    # ln 2 in two parts, the first with zeros at its end: k times it is exact.
    f = (x - k * 0.6931471803691238) - k * 1.9082149292705877e-10
    p = 1 / 39916800.0
    p = p * f + 1 / 3628800.0
    p = p * f + 1 / 362880.0
    p = p * f + 1 / 40320.0
    p = p * f + 1 / 5040.0
    p = p * f + 1 / 720.0
    p = p * f + 1 / 120.0
    p = p * f + 1 / 24.0
    p = p * f + 1 / 6.0
    p = p * f + 0.5
    p = p * f + 1.0
    p = p * f + 1.0
    return p * np.int64((np.int64(np.int32(k)) + 1023) << 52).view(np.float64)


@njit(cache=True, fastmath=True, error_model="numpy", nogil=True)
def _log1p(e):
    """ln(1 + e) for 0 <= e <= 1, as 2 artanh(e / (2 + e))."""
    t = e / (2 + e)
    s = t * t
    p = 1 / 23.0
    p = p * s + 1 / 21.0
    p = p * s + 1 / 19.0
    p = p * s + 1 / 17.0
    p = p * s + 1 / 15.0
    p = p * s + 1 / 13.0
    p = p * s + 1 / 11.0
    p = p * s + 1 / 9.0
    p = p * s + 1 / 7.0
    p = p * s + 1 / 5.0
    p = p * s + 1 / 3.0
    p = p * s + 1.0
    return 2 * t * p


@njit(cache=True, error_model="numpy", nogil=True)
def _cut(m, s, kinks, cuts):
    """Merge the sorted kinks with equal panels over m +- 9 s; returns how many edges there are."""
    cuts[0] = m - _REACH * s
    n, next_kink = 1, 0
    for panel in range(1, _PANELS + 1):
        end = m + s * _REACH * (2 * panel / _PANELS - 1)
        while next_kink < kinks.size and kinks[next_kink] < end:
            if kinks[next_kink] > cuts[n - 1]:
                cuts[n] = kinks[next_kink]
                n += 1
            next_kink += 1
        cuts[n] = end
        n += 1
    return n


@njit(cache=True, error_model="numpy", nogil=True)
def _place(m, s, kind, cuts, n_cuts, nodes):
    """Fill the rows of `nodes` with t = (z - m)/s, weights, r(z) and r'(z); returns the number of nodes."""
    n = 0
    for j in range(n_cuts - 1):
        half, centre = 0.5 * (cuts[j + 1] - cuts[j]), 0.5 * (cuts[j + 1] + cuts[j])
        for k in range(_NODES.size):
            z = centre + half * _NODES[k]
            nodes[0, n] = (z - m) / s
            nodes[1, n] = half * _WEIGHTS[k]
            nodes[2, n], nodes[3, n] = _r(z, kind)
            n += 1
    return n


@njit(cache=True, fastmath=True, error_model="numpy", nogil=True)
def _average(nodes, n, C):
    """Sums of ln P, C r' (1 - P), C r' (1 - P) t / 2 and r (1 - P) times e^(-t^2/2) over the nodes."""
    value, slope, tilt, d_C = 0.0, 0.0, 0.0, 0.0
    T, weight, R, dR = nodes[0], nodes[1], nodes[2], nodes[3]
    for k in range(n):
        density = weight[k] * _exp(-0.5 * T[k] * T[k])
        # One exponential serves P = e^min(u, 0) / (1 + e^-|u|) and 1 - P.
        u = C * R[k]
        e = _exp(-abs(u))
        q = density * (e if u > 0 else 1.0) / (1 + e)
        value += density * ((u if u < 0 else 0.0) - _log1p(e))
        slope += q * dR[k]
        tilt += q * dR[k] * T[k]
        d_C += q * R[k]
    return value, C * slope, 0.5 * C * tilt, d_C


def expected_log_sigmoid(m, v, C, w, kind):
    """E[w ln P(z)], z ~ N(m, v), and its derivatives with respect to m, v and C; shape (4, n)."""
    out = np.zeros((4, m.size))
    kinks = np.sort(np.append(_bends(C, kind), (-1.0, 1.0)))
    cuts, nodes = np.empty(_MOST_CUTS), np.empty((4, _MOST_CUTS * _NODES.size))
    _fill(m, v, float(C), w, kind, kinks, cuts, nodes, out)
    return out


@njit(cache=True, error_model="numpy", nogil=True)
def _fill(m, v, C, w, kind, kinks, cuts, nodes, out):
    """Fill `out` for `expected_log_sigmoid`; `cuts` and `nodes` are working space."""
    for i in range(m.size):
        s = math.sqrt(v[i])
        n = _place(m[i], s, kind, cuts, _cut(m[i], s, kinks, cuts), nodes)
        value, slope, tilt, d_C = _average(nodes, n, C)
        scale = w[i] / (s * math.sqrt(2 * math.pi))
        out[0, i] = scale * value
        out[1, i] = scale * slope
        # Stein's identity: E[l''] = E[l' (z - m)]/v holds with the kinks.
        out[2, i] = scale * tilt / s
        out[3, i] = scale * d_C
