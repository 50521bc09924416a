"""The smallest ball in feature space that holds all rows, exactly.

    R^2 = max over mu >= 0, sum mu = 1 of   sum_i mu_i K_ii - mu'K mu

Pair steps (the largest distance from the centre takes weight from the smallest) come close; an active-set method on
the rows with weight then ends at the solution: solve for the weights of a set, drop the row that would turn
negative first, add the row farthest outside, until nothing is left to do.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from softmargin._compiled import njit
from softmargin._linalg import Array


@dataclass(frozen=True)
class Ball:
    """The smallest enclosing ball: its centre is sum_i mu_i phi(x_i)."""

    radius2: float
    mu: Array
    """Shape (n,)."""
    violation: float
    """By how much the farthest row's squared distance from the centre exceeds radius2."""


def smallest_ball(K: Array) -> Ball:
    """Find the ball from a Gram matrix of shape (n, n).

    References
    ----------
    Gold & Sollich (2003), Model selection for support vector machine classification, eq. 9: the radius R.
    """
    d = np.ascontiguousarray(np.diag(K))
    mu = np.zeros(len(d))
    mu[np.argmax(d)] = 1.0
    tol = 1e-12 * max(float(d.max()), np.finfo(float).tiny)
    _pair_steps(np.ascontiguousarray(K), d, mu, 1e8 * tol, 20 * len(d))
    # A weight that pair steps left tiny is no support: the active-set method brings it back if it is one.
    mu[mu < 1e-6 * mu.max()] = 0.0
    mu /= mu.sum()
    for _ in range(10 * len(d)):
        support = np.flatnonzero(mu)
        target = _on_sphere(K, d, support)
        mu, complete = _towards(mu, support, target)
        if not complete:
            continue
        distance = d - 2 * K @ mu + mu @ K @ mu
        # At the maximum all supports are at distance R; one more row with a larger distance improves it.
        radius2 = float(mu @ distance)
        farthest = int(np.argmax(distance))
        if distance[farthest] - radius2 <= tol * 100 or mu[farthest] > 0:
            break
        mu[farthest] = 1e-300
    distance = d - 2 * K @ mu + mu @ K @ mu
    radius2 = float(mu @ d - mu @ K @ mu)
    return Ball(radius2, mu, float(distance.max()) - radius2)


def _on_sphere(K: Array, d: Array, support: NDArray[np.intp]) -> Array:
    """Weights of sum 1 on the support that put all of it at one distance from the centre (2 K mu + rho = d)."""
    m = len(support)
    system = np.zeros((m + 1, m + 1))
    system[:m, :m] = 2 * K[np.ix_(support, support)]
    system[:m, m] = system[m, :m] = 1.0
    right = np.append(d[support], 1.0)
    scale = float(np.abs(system[:m, :m]).max()) or 1.0
    system[m, :m] = system[:m, m] = scale
    right[m] = scale
    try:
        return np.linalg.solve(system, right)[:m]
    except np.linalg.LinAlgError:
        # More rows than dimensions: many weights describe the same centre, take the smallest.
        return np.linalg.lstsq(system, right, rcond=None)[0][:m]


def _towards(mu: Array, support: NDArray[np.intp], target: Array) -> tuple[Array, bool]:
    """Move to the target as far as weights stay non-negative; the first to vanish leaves. Also: was it reached?"""
    moved = mu.copy()
    step = target - mu[support]
    falling = target < 0
    if not falling.any():
        moved[support] = target
        return moved, True
    ratio = np.full(len(step), np.inf)
    ratio[falling] = mu[support][falling] / -step[falling]
    first = int(np.argmin(ratio))
    moved[support] += ratio[first] * step
    moved[support[first]] = 0.0
    return np.maximum(moved, 0.0), False


@njit(cache=True)
def _pair_steps(K, d, mu, tol, max_steps):
    """Move weight from the row closest to the centre to the one farthest from it, in place."""
    n = d.size
    gradient = d - 2 * (K @ mu)
    for _ in range(max_steps):
        far, near = 0, -1
        for i in range(n):
            if gradient[i] > gradient[far]:
                far = i
            if mu[i] > 0 and (near < 0 or gradient[i] < gradient[near]):
                near = i
        gain = gradient[far] - gradient[near]
        curvature = 2 * (d[far] + d[near] - 2 * K[far, near])
        if gain <= tol or curvature <= 0:
            return
        step = min(gain / curvature, mu[near])
        mu[far] += step
        mu[near] = mu[near] - step if step < mu[near] else 0.0
        for i in range(n):
            gradient[i] -= 2 * step * (K[far, i] - K[near, i])
