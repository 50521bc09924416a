"""The support vector machine's dual problem and its exact solver, on arrays alone.

`BoxProblem` states the problem (a likelihood writes it down), `solve_dual` solves it to a duality gap, `ActiveSet`
differentiates the solution, `unlearn` removes a row from it exactly, and `smallest_ball` encloses the rows.
"""

from softmargin.svm._active_set import ActiveSet, active_set
from softmargin.svm._ball import Ball, smallest_ball
from softmargin.svm._box import BoxProblem, Measure
from softmargin.svm._dual import DualSolution, solve_dual
from softmargin.svm._gram import Gram, gather
from softmargin.svm._unlearn import unlearn

__all__ = [
    "ActiveSet",
    "Ball",
    "BoxProblem",
    "DualSolution",
    "Gram",
    "Measure",
    "active_set",
    "gather",
    "smallest_ball",
    "solve_dual",
    "unlearn",
]
