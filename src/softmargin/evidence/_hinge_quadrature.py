"""Nested quadrature of the hinge's evidence, compiled: <prod_i exp(-C_i max(1 - a_i, 0))> over a ~ N(0, G).

With G = LL' and a = Lt the average is an integral over independent t_k ~ N(0, 1), one after the other; the last row is
a closed form. As a function of t_k the integrand has a kink where a_k = 1, and bends within about
sd(a_j | t_1..t_k) / L_jk of the point where the mean of a later a_j crosses 1. Panels of Gauss-Legendre nodes start at
these points and grow away from them, so that the rule converges fast whatever C, the scale of G and its condition.

Everything is a sum of logarithms: no probability underflows. A branch is left out once its bound, the partial product
times the smallest of the remaining factors' averages (every factor is at most one), falls below `floor`. Compiled by
numba, which does its own typing.
"""

import math

import numpy as np

from softmargin._compiled import njit
from softmargin.likelihoods import LOG_SQRT_2PI, ratios

WIDEST = 3.5
"""Of a panel, in prior standard deviations: there exp(-t^2/2) is smooth to 1e-10 for 8 nodes."""
GROWTH = 5.0
"""Of the panels with the distance from a kink."""
STEEPEST = 4.0
"""Nats that the first panel at a kink may fall."""


@njit(cache=True, error_model="numpy")
def log_hinge(m, s, C):
    """ln <exp(-C max(1 - a, 0))> over a ~ N(m, s^2); s may be zero."""
    if s == 0:
        return -C * max(1 - m, 0.0)
    a = (m - 1) / s
    b = -a - C * s
    log_A = ratios(a)[1]
    log_R_b, log_Phi_b = ratios(b)[:2]
    # For b < 0 in the form that does not cancel.
    log_B = -0.5 * a * a - LOG_SQRT_2PI + log_R_b if b < 0 else C * s * (a + 0.5 * C * s) + log_Phi_b
    high, low = max(log_A, log_B), min(log_A, log_B)
    return high + math.log1p(math.exp(low - high))


@njit(cache=True, error_model="numpy")
def _grade(edges, count, point, first, side, reach):
    """Add `point` and points at growing distances on one side of it (-1 or +1); return the new count."""
    if -reach < point < reach and count < edges.size:
        edges[count] = point
        count += 1
    step = first
    while step < WIDEST and count < edges.size:
        if -reach < point + side * step < reach:
            edges[count] = point + side * step
            count += 1
        step *= GROWTH
    return count


@njit(cache=True, error_model="numpy")
def _panels(k, L, sd, C, mean, reach, middles, halves):
    """Fill the middles and half widths of the panels of t_k within +-reach; return how many."""
    edges = np.empty(middles.size // 4)
    edges[0], edges[1] = -reach, reach
    count = _grade(edges, 2, (1 - mean[k]) / L[k, k], STEEPEST / (C[k] * L[k, k]), -1.0, reach)
    for j in range(k + 1, len(C)):
        slope = abs(L[j, k])
        if slope == 0 or sd[k + 1, j] > WIDEST * slope:
            continue
        first = sd[k + 1, j] / slope
        if first < 1e-12:
            first = STEEPEST / (C[j] * slope)
        for side in (-1.0, 1.0):
            count = _grade(edges, count, (1 - mean[j]) / L[j, k], first, side, reach)
    edges[:count].sort()
    n_panels = 0
    for e in range(count - 1):
        width = edges[e + 1] - edges[e]
        pieces = min(math.ceil(width / WIDEST), middles.size - n_panels)
        for piece in range(pieces):
            halves[n_panels] = 0.5 * width / pieces
            middles[n_panels] = edges[e] + (piece + 0.5) * width / pieces
            n_panels += 1
    return n_panels


@njit(cache=True, error_model="numpy")
def nested(L, sd, C, rank, nodes, log_weights, reach, floor, most):
    """ln of the average within +-reach for every t, and the number of evaluations.

    L of shape (n, n), lower triangular, with `rank` columns that are not zero; sd[k, j] of shape (n, n), the standard
    deviation of a_j given t_1..t_k. Branches of a density below exp(floor) are left out; after `most` evaluations the
    loop ends.
    """
    n, n_nodes = len(C), nodes.size
    depth = min(rank, n - 1)
    middles, halves = np.empty((n, 160 * n)), np.empty((n, 160 * n))
    size, place = np.zeros(n, np.int64), np.zeros(n, np.int64)
    means, log_p, log_w = np.zeros((n, n)), np.zeros(n), np.zeros(n)
    unit, total, count = floor, 0.0, 0
    k = -1
    while True:
        # Row k + 1 of `means`, `log_p` and `log_w` holds a branch: add it, or open its next level.
        if k + 1 == depth:
            term = log_p[k + 1] + log_w[k + 1]
            for j in range(depth, n):
                term += log_hinge(means[k + 1, j], L[j, j], C[j])
            # Raise the unit of the sum before anything overflows.
            if term - unit > 200:
                total *= math.exp(unit - term)
                unit = term
            total += math.exp(term - unit)
            count += 1
            if count > most:
                break
        else:
            k += 1
            size[k] = n_nodes * _panels(k, L, sd, C, means[k], reach, middles[k], halves[k])
            place[k] = 0
        # The next node whose branch is worth its while, of this level or one above.
        found = False
        while k >= 0 and not found:
            if place[k] == size[k]:
                k -= 1
                continue
            panel, q = place[k] // n_nodes, place[k] % n_nodes
            place[k] += 1
            t = middles[k, panel] + halves[k, panel] * nodes[q]
            log_p[k + 1] = log_p[k] - 0.5 * t * t - LOG_SQRT_2PI - C[k] * max(1 - means[k, k] - L[k, k] * t, 0.0)
            bound = 0.0
            for j in range(k + 1, n):
                means[k + 1, j] = means[k, j] + L[j, k] * t
                if k + 1 < depth and log_p[k + 1] + bound > floor:
                    bound = min(bound, log_hinge(means[k + 1, j], sd[k + 1, j], C[j]))
            if log_p[k + 1] + bound > floor:
                log_w[k + 1] = log_w[k] + log_weights[q] + math.log(halves[k, panel])
                found = True
        if not found:
            break
    return math.log(total) + unit, count
