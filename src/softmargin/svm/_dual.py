"""The support vector machine's solver: working sets, pair descent inside them, and a Newton step on their face.

A cold start on many rows asks a quarter of them first, and that quarter its own: what their function says of the other
rows puts most weights on their bounds at once.

Each round takes a working set (all free weights and the worst violators), gathers its block of the Gram matrix
so that it stays in the cache, lets cheap pair steps find the face of the box, and then solves Newton's equations
on that face. Pair descent alone needs many thousands of steps when C k0 >> 1; Newton alone does not know the face.

Rounds stop on the relative duality gap (primal - dual) / primal, measured with a freshly computed K beta.
"""

from dataclasses import dataclass

import numpy as np

from softmargin._linalg import Array
from softmargin.svm._box import MACHINE_EPSILON, BoxProblem, Measure
from softmargin.svm._face import minimise_face
from softmargin.svm._gram import Gram, Rows
from softmargin.svm._pairs import descend, violations

SMALL = 512
"""Working sets start at this size: the block then fits a 2 MB cache."""
NEWTON_COST = 1000
"""A Newton step on |F| weights costs about as much as |F|^3 / (NEWTON_COST m) pair steps on m rows."""
PATIENCE = 30
"""Rounds over all rows that do not cut the gap, after which rounding is all that is left."""
SHARE = 4
"""A cold start on more than two working sets looks at one row in `SHARE` first, solved to the gap `ROUGH`; where more
than the share `CROWDED` of these are free, most rows will be, and pair steps from zero find their places sooner. At
large C the first face was several times the last, and nearly all of the time went there [solver]."""
ROUGH = 1e-2
CROWDED = 0.5
SETTLED = 0.2
"""Sweeps end when fewer than this share of the rows are free or violate the optimality conditions,"""
SWEEP_GAIN = 0.95
"""or when one no longer cuts the gap to this fraction."""


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
    K: Array | Gram, problem: BoxProblem, start: Array | None = None, tol: float = 1e-6, max_iter: int = 1000
) -> DualSolution:
    """Solve the box-constrained dual to a relative duality gap.

    Parameters
    ----------
    K : ndarray of shape (n, n) or Gram
        Gram matrix of the rows.
    problem : BoxProblem
        Bounds, targets and penalties of the dual.
    start : ndarray of shape (n,), optional
        Weights to start from; clipped to the box.
    tol : float
        Largest relative duality gap.
    max_iter : int
        Cap on the number of rounds.
    """
    gram = K if isinstance(K, Gram) else Gram(K)
    n = len(problem.target)
    beta = _first_guess(gram, problem) if start is None else problem.clip(start)
    mean, fresh = _mean(gram, beta), True
    measure = problem.measure(beta, mean, gram.diag)
    sweeping = n > SMALL and start is None
    least, waited = measure.gap, 0
    for n_iter in range(max_iter + 1):
        ends = n_iter == max_iter or waited > PATIENCE
        if not fresh and (measure.within(tol) or ends):
            # Rounding accumulates in the updated mean: claim nothing without computing it anew.
            mean, fresh = _mean(gram, beta), True
            measure = problem.measure(beta, mean, gram.diag)
        if measure.within(tol) or ends:
            break
        before, fresh = measure, False
        if sweeping:
            # From a cold start, take pair steps over all rows, while most of them have not found their place.
            mean = _sweep(gram, problem, beta, mean)
        else:
            rows = _working_set(gram, problem, beta, mean)
            mean = _improve(gram, problem, beta, mean, rows, 0.3 * tol * measure.primal)
        measure = problem.measure(beta, mean, gram.diag)
        # Where a round sees only some of the rows, the gap may wait for the others.
        waited = 0 if n > SMALL or measure.gap < 0.999 * least else waited + 1
        least = min(least, measure.gap)
        if sweeping:
            unsettled = int(np.count_nonzero(problem.free(beta) | (_violations(problem, beta, mean) > 0)))
            sweeping = unsettled > SETTLED * n and measure.gap < SWEEP_GAIN * before.gap
    return DualSolution(beta, mean, measure, n_iter, measure.within(tol))


def _first_guess(gram: Gram, problem: BoxProblem) -> Array:
    """Weights to start from: those that the function of a random share of the rows asks of all rows."""
    n = len(problem.target)
    nothing = problem.clip(np.zeros(n))
    if n <= 2 * SMALL:
        return nothing
    rows = np.sort(np.random.default_rng(0).choice(n, n // SHARE, replace=False))
    part = problem.take(rows).repeated(n / len(rows))
    rough = solve_dual(gram.block(rows), part, tol=ROUGH).beta
    if np.mean(part.free(rough)) > CROWDED:
        return nothing
    guess = problem.attained(problem.target - gram.product(rows, rough))
    guess[rows] = rough * len(rows) / n
    return problem.clip(guess)


def _mean(gram: Gram, beta: Array) -> Array:
    support = np.flatnonzero(beta)
    return gram.product(support, beta[support])


def _violations(problem: BoxProblem, beta: Array, mean: Array) -> Array:
    grad = mean + problem.ridge * beta - problem.target
    return violations(grad, beta, problem.lower, problem.upper, problem.epsilon)


def _working_set(gram: Gram, problem: BoxProblem, beta: Array, mean: Array) -> Rows:
    """Rows to work on next, sorted: all if they are few, else the worst violators and the free weights."""
    n = len(beta)
    if n <= SMALL:
        return np.arange(n)
    violation = _violations(problem, beta, mean)
    free = problem.free(beta)
    n_free = int(np.count_nonzero(free))
    size = min(max(SMALL, n_free + n_free // 2), n)
    # A third of the places at least is for violators, wherever they are; the rest is for the free weights first.
    worst = np.partition(violation, -(size // 3) - 1)[-(size // 3) - 1]
    score = violation + np.where(free | (violation > worst), 1 + violation.max(), 0.0)
    rows = np.argpartition(score, -size)[-size:]
    return np.sort(rows[score[rows] > 0])


def _sweep(gram: Gram, problem: BoxProblem, beta: Array, mean: Array) -> Array:
    """Take n/8 pair steps over all rows; beta changes in place, the updated mean is returned."""
    grad = mean + problem.ridge * beta - problem.target
    _descend(gram.whole, gram.diag, problem, grad, beta, len(beta) // 8, _noise(gram, problem, beta))
    return grad - problem.ridge * beta + problem.target


def _improve(gram: Gram, problem: BoxProblem, beta: Array, mean: Array, rows: Rows, target_gap: float) -> Array:
    """Solve a working set, roughly; beta changes in place, the updated mean is returned."""
    everything = len(rows) == len(beta)
    K = gram.whole if everything else gram.block(rows)
    part, diag, noise = problem.take(rows), gram.diag[rows], _noise(gram, problem, beta)
    b = beta[rows]
    grad = mean[rows] + part.ridge * b - part.target
    m, n_free = len(rows), np.count_nonzero(part.free(b))
    _descend(K, diag, part, grad, b, int(max(m // 2, n_free**3 / (NEWTON_COST * m), 8)), noise)
    if part.measure(b, grad - part.ridge * b + part.target, diag).gap > target_gap:
        minimise_face(K, part, grad, b, noise)
    step = b - beta[rows]
    beta[rows] = b
    if everything:
        return grad - part.ridge * b + part.target
    moved = np.flatnonzero(step)
    return mean + gram.product(rows[moved], step[moved])


def _descend(K: Array, diag: Array, problem: BoxProblem, grad: Array, beta: Array, n_steps: int, noise: float) -> None:
    descend(K, problem.ridge, diag, grad, beta, problem.lower, problem.upper, problem.epsilon, n_steps, noise)


def _noise(gram: Gram, problem: BoxProblem, beta: Array) -> float:
    """Slopes below this are rounding: following them would wander through the null space of a singular K."""
    root = np.sqrt(np.abs(gram.diag))
    return MACHINE_EPSILON * float(np.abs(problem.target).max() + root.max() * (root @ np.abs(beta)))
