"""Gaussian integrals of any log-probability, by adaptive quadrature: what a likelihood without closed forms gets.

Each row is integrated by Gauss-Kronrod panels (7 and 15 nodes) that are halved until the two rules agree, all rows
at a time. Kinks cost a few more halvings, and nothing about the likelihood need be known. The tilted density's
highest point is sought first, in steps that grow geometrically away from the Gaussian's mean, the target and zero: a
panel edge lies on it, so that a peak much narrower than the Gaussian is not missed.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from softmargin._linalg import Array

Rows = NDArray[np.intp]
LogProb = Callable[[Rows, Array], Array]
"""(rows, f), both of shape (p, ...) -> w ln p(y | f) of these rows."""

TOLERANCE = 1e-11
"""Largest disagreement of the two rules in a panel, relative to the row's integral; the finer rule is much better."""
MOST_HALVINGS = 60
MOST_PANELS = 600
"""Of a row: where rounding, not the rule, makes the difference, halving does not help and ends here."""
DROP = 45.0
"""Nats below the peak at which nothing is left."""
REACH = 9.5
"""The same in standard deviations of a Gaussian."""
# Kronrod's 15 nodes (every second one is Gauss's), right half and the centre.
_X = [0.991455371120813, 0.949107912342759, 0.864864423359769, 0.741531185599394, 0.586087235467691,
      0.405845151377397, 0.207784955007898, 0.0]  # fmt: skip
_K = [0.022935322010529, 0.063092092629979, 0.104790010322250, 0.140653259715525, 0.169004726639267,
      0.190350578064785, 0.204432940075298, 0.209482141084728]  # fmt: skip
_G = [0.0, 0.129484966168870, 0.0, 0.279705391489277, 0.0, 0.381830050505119, 0.0, 0.417959183673469]
NODES = np.array([*(-x for x in _X[:-1]), *reversed(_X)])
KRONROD, GAUSS = (np.array([*half[:-1], *reversed(half)]) for half in (_K, _G))
END = 1 - 1e-10
GAP = 0.01
"""Width of the gap between a panel's last node and its end, with some to spare, in units of half the panel."""


def _to_end() -> Array:
    """Weights of the polynomial through the nodes at the right end, shape (15,)."""
    others = NODES[:, None] - NODES + np.eye(len(NODES))
    ratios = (END - NODES) / others
    np.fill_diagonal(ratios, 1.0)
    weights: Array = np.prod(ratios, axis=1)
    return weights


TO_END = _to_end()
ALL_NODES = np.array([-END, *NODES, END])
OFFSETS = 4.0 ** np.arange(-10, 11)
"""Distances from the target and from zero at which a peak is sought."""
FIRST_PANELS = np.concatenate([-(8.0 ** np.arange(3, -5, -1)), [0.0], 8.0 ** np.arange(-4, 4)])
"""Panel ends around the target and zero: what changes quickly does so there, at a scale that is not known."""
SPREADS = 2.0 ** np.arange(-3, 10)
"""Distances from the mean, in standard deviations."""


def integrate(values: Callable[[Rows, Array], Array], edges: Array, tolerance: Array | float = TOLERANCE) -> Array:
    """Integrate functions of f over each row's interval, shape (n_functions, n).

    Parameters
    ----------
    values : callable
        (rows of shape (p,), f of shape (p, 17)) -> the integrands, shape (n_functions, p, 17).
    edges : ndarray of shape (n, k)
        Increasing along a row: where the first panels end.
    tolerance : float or ndarray of shape (n,)
        Largest disagreement of the two rules; more where the integrand has fewer digits.
    """
    n = len(edges)
    tolerance = np.broadcast_to(tolerance, n)
    rows, low, high = np.repeat(np.arange(n), edges.shape[1] - 1), edges[:, :-1].ravel(), edges[:, 1:].ravel()
    kept = high > low
    rows, low, high = rows[kept], low[kept], high[kept]
    total: Array | None = None
    used = np.zeros(n, dtype=int)
    size = np.zeros(())
    for halving in range(MOST_HALVINGS):
        half, centre = 0.5 * (high - low), 0.5 * (high + low)
        found = values(rows, centre[:, None] + half[:, None] * ALL_NODES)
        left_end, right_end, found = found[..., 0], found[..., -1], found[..., 1:-1]
        if total is None:
            total, size = np.zeros((len(found), n)), np.zeros((len(found), n))
        fine, coarse, absolute = half * (found @ KRONROD), half * (found @ GAUSS), half * (np.abs(found) @ KRONROD)
        # A zero integral has no digits to ask for.
        allowed = (tolerance * (size + _by_row(rows, absolute, n)))[:, rows]
        # Both rules are blind between the last node and the end of the panel: a kink there shows in the end value.
        surprise = np.maximum(np.abs(found @ TO_END[::-1] - left_end), np.abs(found @ TO_END - right_end))
        done = np.all((np.abs(fine - coarse) <= allowed) & (GAP * half * surprise <= allowed), axis=0)
        used += np.bincount(rows, minlength=n)
        done |= (half <= 4e-16 * np.abs(centre)) | (used[rows] > MOST_PANELS) | (halving == MOST_HALVINGS - 1)
        total += _by_row(rows[done], fine[:, done], n)
        size += _by_row(rows[done], absolute[:, done], n)
        left = ~done
        if not left.any():
            break
        rows, middle = np.repeat(rows[left], 2), centre[left]
        low, high = np.stack([low[left], middle], 1).ravel(), np.stack([middle, high[left]], 1).ravel()
    assert total is not None
    return total


def _by_row(rows: Rows, values: Array, n: int) -> Array:
    return np.stack([np.bincount(rows, weights=v, minlength=n) for v in values])


def log_normal(f: Array, m: Array, v: Array) -> Array:
    """ln N(f; m, v) without its constant."""
    return -0.5 * (f - m) ** 2 / v


def tilted_panels(log_prob: LogProb, y: Array, m: Array, v: Array) -> tuple[Array, Array, Array]:
    """Panel edges (n, k) for the integral of N(f; m, v) exp(log_prob), its peak and the ln of its height, (n,) each."""
    n, s = len(m), np.sqrt(v)
    away, wide = np.concatenate([-OFFSETS, [0.0], OFFSETS]), np.concatenate([-SPREADS, [0.0], SPREADS])
    f = np.concatenate([m[:, None] + s[:, None] * wide, y[:, None] + away, np.tile(away, (n, 1))], axis=1)
    f.sort(axis=1)
    rows = np.arange(n)
    own = np.broadcast_to(rows[:, None], f.shape)
    with np.errstate(all="ignore"):
        log_p = np.nan_to_num(log_prob(own, f), nan=-np.inf, posinf=-np.inf)
    height = log_p + log_normal(f, m[:, None], v[:, None])
    for _ in range(MOST_HALVINGS):
        # Seven points between the neighbours of the highest one, until these are not much lower.
        at = np.argmax(height, axis=1)
        before, after = np.maximum(at - 1, 0), np.minimum(at + 1, f.shape[1] - 1)
        left, right = f[rows, before], f[rows, after]
        drop = height[rows, at] - np.minimum(height[rows, before], height[rows, after])
        if np.all((drop < 0.5) | (right - left <= 1e-14 * np.abs(left))):
            break
        new = left[:, None] + (right - left)[:, None] * np.arange(1, 8) / 8
        with np.errstate(all="ignore"):
            new_p = np.nan_to_num(log_prob(own[:, :7], new), nan=-np.inf, posinf=-np.inf)
        f, log_p = np.concatenate([f, new], axis=1), np.concatenate([log_p, new_p], axis=1)
        order = np.argsort(f, axis=1)
        f, log_p = np.take_along_axis(f, order, 1), np.take_along_axis(log_p, order, 1)
        height = log_p + log_normal(f, m[:, None], v[:, None])
    at, top = np.argmax(height, axis=1), height.max(axis=1)
    peak = f[rows, at]
    # Beyond this distance from m even the most probable f would be DROP below the peak.
    reach = s * np.sqrt(2 * np.maximum(log_p.max(axis=1) - top + DROP, DROP))
    low, high = m - reach, m + reach
    edges = [low, high, m, peak, *(y[:, None] + FIRST_PANELS).T, *np.tile(FIRST_PANELS[:, None], n)]
    for drop in (1.0, 8.0, DROP):
        inside = height >= (top - drop)[:, None]
        # The next points outward of the first and the last one within `drop` of the peak.
        first, last = np.argmax(inside, axis=1), f.shape[1] - 1 - np.argmax(inside[:, ::-1], axis=1)
        edges += [f[rows, np.maximum(first - 1, 0)], f[rows, np.minimum(last + 1, f.shape[1] - 1)]]
    return np.sort(np.clip(np.stack(edges, 1), low[:, None], high[:, None]), axis=1), peak, top


def gaussian_panels(y: Array, m: Array, v: Array) -> Array:
    """Panel edges for averages over N(m, v), shape (n, k)."""
    s = np.sqrt(v)[:, None]
    own = m[:, None] + s * np.array([-REACH, -3.0, 0.0, 3.0, REACH])
    edges = np.concatenate([own, y[:, None] + FIRST_PANELS, 0 * s + FIRST_PANELS], axis=1)
    return np.sort(np.clip(edges, m[:, None] - REACH * s, m[:, None] + REACH * s), axis=1)
