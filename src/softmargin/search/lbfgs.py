"""Quasi-Newton ascent with exact gradients within bounds (SciPy's L-BFGS-B)."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.optimize import minimize

from softmargin._linalg import Array
from softmargin._parts import Part
from softmargin.search._protocol import Evaluation, Objective, SearchResult
from softmargin.search.watch import StopSearch

DIGITS = 1e-12
"""Relative gain that ends a climb in any case: weights of 1e12 make values of which `tol` nats are below rounding."""


@dataclass(frozen=True, repr=False)
class LBFGS(Part):
    """L-BFGS-B on the logarithms of the hyperparameters, in the objective's `units` if it has some.

    Parameters
    ----------
    max_iter : int
        Iterations (each one or two evaluations).
    tol : float
        Stop when the objective gains less than this many nats in an iteration.

    See Also
    --------
    GradientAscent : For criteria that are sampled.
    RandomWalk : Without gradients.

    References
    ----------
    Byrd, Lu, Nocedal & Zhu (1995), A limited memory algorithm for bound constrained optimization.

    Examples
    --------
    >>> from softmargin import BayesianSVC
    >>> BayesianSVC(search=LBFGS(max_iter=100))
    BayesianSVC(search=LBFGS(max_iter=100))
    """

    max_iter: int = 60
    tol: float = 1e-3

    name: ClassVar[str] = "lbfgs"
    needs_gradient: ClassVar[bool] = True
    averages_noise: ClassVar[bool] = False
    gives_samples: ClassVar[bool] = False

    def maximise(
        self,
        objective: Objective,
        start: Array,
        bounds: Array,
        random_state: np.random.RandomState | None = None,
    ) -> SearchResult:
        """Climb from `start` of shape (n,) within `bounds` of shape (n, 2)."""
        start = np.clip(start, bounds[:, 0], bounds[:, 1])
        try:
            first = objective(start)
        except StopSearch as stop:
            return SearchResult(start, stop.evaluation, 0, False, stopped=True)
        best = (start, first)
        if len(start) == 0:
            return SearchResult(start, first, 0, True)
        # Equal steps should change the objective about equally; it takes L-BFGS many iterations to learn that.
        given = getattr(objective, "units", None)
        units = np.ones_like(start) if given is None else given
        # The first L-BFGS-B step is the whole gradient: unscaled, it can jump into a corner of the box.
        scale = max(1.0, float(np.linalg.norm(units * _gradient(first, start))))

        def loss(u: Array) -> tuple[float, Array]:
            nonlocal best
            stopped, point = None, np.clip(start + units * u, bounds[:, 0], bounds[:, 1])
            try:
                # SciPy begins where the scale was measured.
                evaluation = first if np.array_equal(point, start) else objective(point)
            except StopSearch as stop:
                stopped, evaluation = stop, stop.evaluation
            if evaluation.value > best[1].value and evaluation.gradient is not None:
                best = (point, evaluation)
            if stopped is not None:
                raise stopped
            if evaluation.gradient is None:
                # No gradient here (the inference fell back): send the line search back.
                return -(best[1].value - 1e3) / scale, np.zeros_like(point)
            return -evaluation.value / scale, -units * evaluation.gradient / scale

        # SciPy divides a gain by max(|loss|, 1), and the loss is the value over `scale`.
        size = max(abs(first.value), scale)
        try:
            result = minimize(
                loss,
                np.zeros_like(start),
                jac=True,
                method="L-BFGS-B",
                bounds=(bounds - start[:, None]) / units[:, None],
                options={
                    "maxiter": self.max_iter,
                    "ftol": max(self.tol / size, DIGITS),
                    "gtol": self.tol / scale,
                    "maxls": 12,
                },
            )
        except StopSearch:
            return SearchResult(*best, n_iter=0, converged=False, stopped=True)
        return SearchResult(*best, n_iter=int(result.nit), converged=result.nit < self.max_iter)


def _gradient(evaluation: Evaluation, point: Array) -> Array:
    """The gradient; zero where the first point has none (its inference fell back), in the search's own coordinates."""
    return np.zeros_like(point) if evaluation.gradient is None else evaluation.gradient
