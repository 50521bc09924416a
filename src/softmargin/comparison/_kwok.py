"""Kwok's choice of C on a Gram matrix: the maximum of level 2, directly or by MacKay's fixed point."""

from typing import Literal

import numpy as np
from scipy.optimize import minimize_scalar

from softmargin._linalg import Array
from softmargin.criteria import KwokLevels, Problem, kwok_levels
from softmargin.criteria.kwok import ETA
from softmargin.inference import MAP, Posterior
from softmargin.likelihoods import Hinge

BOUNDS = (1e-4, 1e5)
GRID = 19
MAX_STEPS = 200


def choose_C(
    K: Array,
    y: Array,
    *,
    method: Literal["direct", "fixed_point"] = "direct",
    weight: Array | None = None,
    eta: float = ETA,
    bounds: tuple[float, float] = BOUNDS,
) -> KwokLevels:
    """Choose C by level 2 and return the levels there.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        Gram matrix of the rows.
    y : ndarray of shape (n,)
        Labels -1 and +1.
    method : {"direct", "fixed_point"}
        Maximise level 2 in ln C, or iterate ``C = |w|^2/gamma``, damped in ln C, from C = 1. The fixed point neglects
        that the curvatures depend on C, so it need not be the maximum.
    weight : ndarray of shape (n,), optional
        Weight of each row, its number of copies.
    eta : float
        Steepness of Kwok's smoothed step.
    bounds : (float, float)
        Smallest and largest C.

    References
    ----------
    Kwok (1999), Integrating the evidence framework and the support vector machine, eq. 3, sections 4.3 and 5.2.
    """
    levels = _Levels(K, y, weight, eta)
    low, high = np.log(bounds)
    if method == "fixed_point":
        return _fixed_point(levels, low, high)
    grid = np.linspace(low, high, GRID)
    values = [levels(x).level_2 for x in grid]
    best = int(np.argmax(values))
    inner = minimize_scalar(
        lambda x: -levels(x).level_2,
        bounds=(grid[max(best - 1, 0)], grid[min(best + 1, GRID - 1)]),
        method="bounded",
        options={"xatol": 1e-4},
    )
    return levels(inner.x if -inner.fun > values[best] else grid[best])


class _Levels:
    """ln C -> levels, warm-started."""

    def __init__(self, K: Array, y: Array, weight: Array | None, eta: float) -> None:
        self.K, self.y, self.weight, self.eta = K, y, weight, eta
        self.last: Posterior | None = None

    def __call__(self, log_C: float) -> KwokLevels:
        problem = Problem(self.K, self.y, Hinge(float(np.exp(log_C))), self.weight)
        solver = MAP(tol=1e-8, gradients=False)
        self.last = solver.infer(self.K, self.y, problem.likelihood, self.weight, self.last)
        return kwok_levels(self.last, problem, self.eta)


def _fixed_point(levels: _Levels, low: float, high: float) -> KwokLevels:
    x = 0.0
    for _ in range(MAX_STEPS):
        here = levels(x)
        # In the separable case the C in effect is smaller than the one given.
        target = float(np.clip(np.log(max(here.next_C, np.finfo(float).tiny)), low, high))
        step = 0.5 * (target - np.log(here.C))
        x = float(np.clip(np.log(here.C) + step, low, high))
        if abs(step) < 1e-5:
            break
    return levels(x)
