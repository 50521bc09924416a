"""The support vector machine's solver: working sets, pair descent inside them, and a Newton step on their face.

Each round takes a working set (all free weights and the worst violators), gathers its block of the Gram matrix
so that it stays in the cache, lets cheap pair steps find the face of the box, and then solves Newton's equations
on that face. Pair descent alone needs many thousands of steps when C k0 >> 1; Newton alone does not know the face.

Rounds stop on the relative duality gap (primal - dual) / primal, measured with a freshly computed K beta.
"""

from dataclasses import dataclass

import numpy as np

from softmargin._linalg import Array
from softmargin.inference._box import MACHINE_EPSILON, BoxProblem, Measure
from softmargin.inference._face import minimise_face
from softmargin.inference._gram import Gram, Rows
from softmargin.inference._pairs import descend, violations

SMALL = 512
"""Working sets start at this size: the block then fits a 2 MB cache."""
NEWTON_COST = 1000
"""A Newton step on |F| weights costs about as much as |F|^3 / (NEWTON_COST m) pair steps on m rows."""


@dataclass(frozen=True)
class DualSolution:
    """A feasible point of the dual and how good it is."""

    beta: Array
    """Shape (n,)."""
    mean: Array
    """K beta, freshly computed, shape (n,)."""
    measure: Measure
    n_iter: int
    """Rounds: working sets solved."""
    converged: bool


def solve_dual(
    gram: Gram, problem: BoxProblem, start: Array | None = None, tol: float = 1e-6, max_iter: int = 1000
) -> DualSolution:
    """Solve the box-constrained dual to a relative duality gap.

    Parameters
    ----------
    gram : Gram
    problem : BoxProblem
    start : ndarray of shape (n,), optional
        Weights to start from; clipped to the box.
    tol : float
        Largest relative duality gap.
    max_iter : int
        Cap on the number of rounds.
    """
    n = len(problem.target)
    beta = problem.clip(np.zeros(n) if start is None else start)
    mean, fresh = _mean(gram, beta), True
    measure = problem.measure(beta, mean, gram.diag)
    # From a cold start, sweep over all rows as long as that alone halves the gap.
    sweeping = gram.whole is not None and not beta.any()
    for n_iter in range(max_iter + 1):
        if not fresh and (measure.within(tol) or n_iter == max_iter):
            # Rounding accumulates in the updated mean: claim nothing without computing it anew.
            mean, fresh = _mean(gram, beta), True
            measure = problem.measure(beta, mean, gram.diag)
        if measure.within(tol) or n_iter == max_iter:
            break
        everything = gram.whole is not None and (sweeping or n <= SMALL)
        rows = np.arange(n) if everything else _working_set(problem, beta, mean, gram.max_rows)
        newton = not sweeping or n <= SMALL
        mean = _round(gram, problem, beta, mean, rows, 0.3 * tol * measure.primal, newton=newton)
        before, measure, fresh = measure, problem.measure(beta, mean, gram.diag), False
        sweeping = sweeping and measure.gap < 0.5 * before.gap
    return DualSolution(beta, mean, measure, n_iter, measure.within(tol))


def _mean(gram: Gram, beta: Array) -> Array:
    support = np.flatnonzero(beta)
    return gram.product(support, beta[support])


def _working_set(problem: BoxProblem, beta: Array, mean: Array, max_rows: int) -> Rows:
    """Rows to work on next: the worst violators and the free weights, sorted."""
    grad = mean + problem.ridge * beta - problem.target
    violation = violations(grad, beta, problem.lower, problem.upper, problem.epsilon)
    free = problem.free(beta)
    n_free = int(np.count_nonzero(free))
    size = min(max(SMALL, n_free + n_free // 2), max_rows, len(beta))
    # A third of the places at least is for violators, wherever they are; the rest is for the free weights first.
    worst = np.partition(violation, -(size // 3) - 1)[-(size // 3) - 1]
    score = violation + np.where(free | (violation > worst), 1 + violation.max(), 0.0)
    rows = np.argpartition(score, -size)[-size:]
    return np.sort(rows[score[rows] > 0])


def _round(
    gram: Gram, problem: BoxProblem, beta: Array, mean: Array, rows: Rows, target_gap: float, *, newton: bool
) -> Array:
    """Improve the weights of a working set; beta changes in place, the updated mean is returned."""
    everything = len(rows) == len(beta)
    K = gram.whole if everything and gram.whole is not None else gram.block(rows)
    part, diag = problem.take(rows), gram.diag[rows]
    b = beta[rows]
    grad = mean[rows] + part.ridge * b - part.target
    m, n_free = len(rows), np.count_nonzero(part.free(b))
    n_steps = int(max(m // 2, n_free**3 / (NEWTON_COST * m), 8))
    noise = _noise(gram, problem, beta)
    descend(K, part.ridge, diag, grad, b, part.lower, part.upper, part.epsilon, n_steps, noise)
    if newton and part.measure(b, grad - part.ridge * b + part.target, diag).gap > target_gap:
        minimise_face(K, part, grad, b, noise)
    step = b - beta[rows]
    beta[rows] = b
    if everything:
        return grad - part.ridge * b + part.target
    moved = np.flatnonzero(step)
    return mean + gram.product(rows[moved], step[moved])


def _noise(gram: Gram, problem: BoxProblem, beta: Array) -> float:
    """Slopes below this are rounding: following them would wander through the null space of a singular K."""
    root = np.sqrt(np.abs(gram.diag))
    return MACHINE_EPSILON * float(np.abs(problem.target).max() + root.max() * (root @ np.abs(beta)))
