"""Brute-force references for the likelihoods: they share no line with the integrals under test.

Every integral over f is a composite Gauss-Legendre rule whose panels grow geometrically away from all points
that can matter (the Gaussian's mean, the integrand's modes, the kinks of the log-probability), so that each
length scale from 1e-10 to 1e9 is resolved without knowing which one rules. Averages are taken in log space.
"""

from typing import NamedTuple

import numpy as np

NODES, WEIGHTS = np.polynomial.legendre.leggauss(16)
# Panel edges around a centre: distances grow by 1.45 from one to the next.
OFFSETS = 10 ** np.arange(-10, 9, np.log10(1.45))
OFFSETS = np.concatenate([-OFFSETS[::-1], [0.0], OFFSETS])


class Tilted(NamedTuple):
    """ln Z of N(f; m, v) p(y | f)^w, its derivatives, and the tilted variance."""

    log_z: float
    d_mean: float
    d2_mean: float
    d_params: np.ndarray
    variance: float


class Expected(NamedTuple):
    """E[w ln p(y | f)] over N(m, v), and its derivatives."""

    value: float
    d_mean: float
    d_var: float
    d_params: np.ndarray


def tilted(likelihood, y, m, v, w):
    """Integrate the tilted density; derivatives by Stein's identity.

    d ln Z/dm = <w g>, d2 ln Z/dm2 = Cov(w g, f)/v, d ln Z/d param = <w d log_prob/d param>, g the slope of log_prob.
    """

    def log_density(f):
        return log_normal(f, m, v) + w * likelihood.log_prob(np.full_like(f, y), f)

    f, log_weight = rule(log_density, [m, y, 0.0, *find_kinks(likelihood, y)])
    log_mass = log_weight + log_density(f)
    top = log_mass.max()
    p = np.exp(log_mass - top)
    total, p = p.sum(), p / p.sum()
    g = w * likelihood.derivatives(np.full_like(f, y), f).slope
    centred = f - p @ f
    return Tilted(
        log_z=top + np.log(total),
        d_mean=p @ g,
        d2_mean=p @ ((g - p @ g) * centred) / v,
        d_params=w * likelihood.d_log_prob_d_params(np.full_like(f, y), f) @ p,
        variance=p @ centred**2,
    )


def expected(likelihood, y, m, v, w):
    """Average over the Gaussian; d/dv = E[g (f - m)] / 2v by Stein's identity."""
    f, log_weight = rule(lambda f: log_normal(f, m, v), [m, y, 0.0, *find_kinks(likelihood, y)])
    p = np.exp(log_weight + log_normal(f, m, v))
    target = np.full_like(f, y)
    g = likelihood.derivatives(target, f).slope
    return Expected(
        value=w * (p @ likelihood.log_prob(target, f)),
        d_mean=w * (p @ g),
        d_var=0.5 * w * (p @ (g * (f - m))) / v,
        d_params=w * likelihood.d_log_prob_d_params(target, f) @ p,
    )


def central_difference(function, x, step):
    """Derivative of a function of one number."""
    return (function(x + step) - function(x - step)) / (2 * step)


def log_normal(f, m, v):
    """ln N(f; m, v)."""
    return -0.5 * (f - m) ** 2 / v - 0.5 * np.log(2 * np.pi * v)


def find_kinks(likelihood, y, reach=20.0):
    """Points f near y where the slope or the curvature of `log_prob` jumps, found by bisection.

    A cell that holds a jump keeps its difference when halved; in a smooth one the difference halves too.
    """
    kinks = []
    for order in (0, 1):
        edges = np.linspace(y - reach, y + reach, 4001)
        cells = np.stack([edges[:-1], edges[1:]])
        for _ in range(40):
            middle = cells.mean(axis=0)
            cells = np.concatenate([[cells[0], middle], [middle, cells[1]]], axis=1)
            jump = _jumps(likelihood, y, cells, order)
            largest = np.argpartition(-jump, 256)[:256]
            cells, jump = cells[:, largest], jump[largest]
        scale = np.max(np.abs(likelihood.derivatives(np.full_like(edges, y), edges)[order]))
        kinks.extend(cells[1, jump > 1e-9 * scale])
    kinks = np.sort(kinks)
    return kinks[np.diff(kinks, prepend=-np.inf) > 1e-12]


def _jumps(likelihood, y, cells, order):
    """Change of the slope (order 0) or of the curvature (order 1) over each cell."""
    return np.abs(np.diff(likelihood.derivatives(np.full_like(cells, y), cells)[order], axis=0)[0])


def rule(log_density, centres):
    """Nodes and ln weights, in panels around the centres and around the highest point between any two of them."""
    centres = np.unique(centres)
    edges = _panels(centres)
    for _ in range(8):
        cuts = np.searchsorted(edges, centres)
        parts = zip(np.split(edges, cuts), np.split(log_density(edges), cuts))
        modes = [part[np.argmax(values)] for part, values in parts if len(part)]
        edges = _panels(np.concatenate([centres, modes]))
    half, middle = 0.5 * np.diff(edges), 0.5 * (edges[1:] + edges[:-1])
    return (middle[:, None] + half[:, None] * NODES).ravel(), np.log(half[:, None] * WEIGHTS).ravel()


def _panels(centres):
    """Edges that resolve every length scale around every centre."""
    edges = np.unique((centres[:, None] + OFFSETS).ravel())
    return edges[np.diff(edges, prepend=-np.inf) > 1e-13 + 4e-16 * np.abs(edges)]
