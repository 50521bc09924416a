"""Exact leave-one-out of the support vector machine, without training n times from scratch.

A row that is no support vector can be left out for nothing. Leaving row i out lowers its margin, by alpha_i K_ii at
most (Jaakkola & Haussler), so for the error alone only rows with 0 < y f <= alpha K_ii need work. Those are taken out
along the exact path of the solution (`_unlearn`); where the free rows depend on each other and the path is lost, the
machine is trained again from the solution with the row.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from softmargin._linalg import Array
from softmargin.criteria._protocol import CriterionValue, Problem
from softmargin.criteria._svm import SVMCriterion, margins, shares, solution
from softmargin.inference import MAP, Posterior
from softmargin.svm import ActiveSet, unlearn


def leave_one_out_margins(posterior: Posterior, problem: Problem, *, tol: float = 1e-8) -> Array:
    """Margins y f of every row, trained without it, shape (n,); a merged row is left out as a whole.

    Parameters
    ----------
    posterior : Posterior
        The SVM on all rows (inference "map").
    problem : Problem
        Gram matrix, targets, weights and likelihood.
    tol : float
        Relative duality gap of the trainings.

    References
    ----------
    Gold & Sollich (2003), Model selection for support vector machine classification, eq. 10.
    """
    active = solution(posterior, problem)
    margin = margins(active, problem)
    rows = np.flatnonzero(active.beta)
    margin[rows] = _left_out(rows, active, problem, tol)
    return margin


@dataclass(frozen=True, repr=False)
class SVMLeaveOneOut(SVMCriterion):
    """The leave-one-out error of the SVM, exactly.

    Parameters
    ----------
    tol : float
        Relative duality gap of the trainings.

    See Also
    --------
    Span : An estimate from one training.
    LeaveOneOut : The log predictive density of EP.

    References
    ----------
    Gold & Sollich (2003), Model selection for support vector machine classification, eq. 10.

    Examples
    --------
    >>> from softmargin import BayesianSVC
    >>> BayesianSVC(criterion=SVMLeaveOneOut(), search='random_walk')
    BayesianSVC(criterion=SVMLeaveOneOut(), search='random_walk')
    """

    tol: float = 1e-8

    name: ClassVar[str] = "svm_loo"

    def __call__(self, posterior: Posterior, problem: Problem) -> CriterionValue:
        """Return the fraction of rows that are misclassified when left out."""
        active = solution(posterior, problem)
        margin = margins(active, problem)
        wrong = margin <= 0
        rows = np.flatnonzero(~wrong & (margin <= active.alpha * np.diag(problem.K)))
        wrong[rows] = _left_out(rows, active, problem, self.tol) <= 0
        return CriterionValue(float(shares(problem) @ wrong))


def _left_out(rows: NDArray[np.intp], active: ActiveSet, problem: Problem, tol: float) -> Array:
    """y f of each of some rows, trained without it, shape (len(rows),)."""
    box, K = active.problem, problem.K
    Q = K + np.diag(box.ridge)
    inverse = active.solve(np.eye(len(active.free)))
    grad = active.mean + box.ridge * active.beta - box.target
    margin = np.empty(len(rows))
    for place, row in enumerate(rows):
        beta, done = unlearn(Q, inverse, active.free, active.beta, grad, box.lower, box.upper, int(row))
        if done and _is_optimal(int(row), beta, active, problem, tol):
            margin[place] = problem.y[row] * (K[row] @ beta)
        else:
            margin[place] = _trained_without(int(row), active, problem, tol)
    return margin


def _is_optimal(row: int, beta: Array, active: ActiveSet, problem: Problem, tol: float) -> bool:
    """Whether the duality gap without the row is within the tolerance: a path over rounding could go astray."""
    keep = np.arange(len(beta)) != row
    mean = problem.K @ beta
    return active.problem.take(keep).measure(beta[keep], mean[keep], np.diag(problem.K)[keep]).within(tol)


def _trained_without(row: int, active: ActiveSet, problem: Problem, tol: float) -> float:
    """y f of one row, trained without it from the solution with it."""
    weight = np.ones_like(problem.y) if problem.weight is None else problem.weight.copy()
    weight[row] = 0.0
    start = Posterior(_without(row, active), active.mean, 0.0, "map")
    posterior = MAP(tol=tol, gradients=False).infer(problem.K, problem.y, problem.likelihood, weight, start)
    return float(problem.y[row] * posterior.mean[row])


def _without(row: int, active: ActiveSet) -> Array:
    """Weights without the row, the free ones moved to where they would be if none of them met a bound."""
    F, beta = active.free, active.beta.copy()
    here = np.equal(F, row)
    # (K + D)_FF db_F = K_Fi b_i for a hard row; for a free one db ~ the row's column of (K + D)_FF^-1.
    if not here.any():
        beta[F] += active.solve(active.K[F, row]) * beta[row] if len(F) else 0.0
    else:
        unit = active.solve(here.astype(float))
        beta[F] -= unit * (beta[row] / unit[here][0])
    beta[row] = 0.0
    return beta
