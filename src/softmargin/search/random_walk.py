"""The greedy random walk of Gold & Sollich 2003, section 4.1: zero-temperature Monte Carlo, for any criterion.

One hyperparameter at a time takes a Gaussian step, kept if and only if the criterion improves. Kernel parameters step
in their logarithm, C on its own scale. Each has its own step size, which grows when a step is kept and shrinks by the
same factor when it is not, so that half of them are kept. The walk ends when all steps or the gain have become tiny.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from softmargin._linalg import Array
from softmargin.search.lbfgs import SearchResult
from softmargin.search.objective import Evaluation, Subspace
from softmargin.search.watch import StopSearch


@dataclass(frozen=True)
class RandomWalk:
    """Greedy random walk; needs no gradient.

    Parameters
    ----------
    max_iter : int
        Sweeps over all hyperparameters.
    tol : float
        Stop when the objective has gained less than this over the last `patience` sweeps.
    step : float
        First standard deviation of every step.
    min_step : float
        Stop when every step size has fallen below this.
    rate : float
        Factor by which a step size grows or shrinks.
    patience : int
        Sweeps over which the gain is measured.
    linear : tuple of str
        Names of the hyperparameters that step on their own scale instead of their logarithm's.
    """

    max_iter: int = 60
    tol: float = 1e-3
    step: float = 0.5
    min_step: float = 1e-2
    rate: float = 1.5
    patience: int = 8
    linear: tuple[str, ...] = ("C",)

    name: ClassVar[str] = "random_walk"
    needs_gradient: ClassVar[bool] = False

    def maximise(
        self,
        objective: Callable[[Array], Evaluation],
        start: Array,
        bounds: Array,
        random_state: np.random.RandomState | None = None,
    ) -> SearchResult:
        """Walk from `start` of shape (n,) within `bounds` of shape (n, 2)."""
        rng = np.random.RandomState(0) if random_state is None else random_state
        point = np.clip(start, bounds[:, 0], bounds[:, 1])
        linear = self._linear(objective, len(point))
        best, sweep = objective(point), 0
        steps, gains = np.full(len(point), self.step), [best.value]
        try:
            while sweep < self.max_iter and not self._is_over(steps, gains):
                sweep += 1
                for j in rng.permutation(len(point)):
                    proposal = _propose(point, j, steps[j] * rng.standard_normal(), linear=bool(linear[j]))
                    evaluation = None
                    if bounds[j, 0] <= proposal[j] <= bounds[j, 1]:
                        evaluation = objective(proposal)
                    if evaluation is not None and evaluation.value > best.value:
                        point, best = proposal, evaluation
                        steps[j] *= self.rate
                    else:
                        steps[j] /= self.rate
                gains.append(best.value)
        except StopSearch:
            return SearchResult(point, best, sweep, False)
        return SearchResult(point, best, sweep, self._is_over(steps, gains))

    def _is_over(self, steps: Array, gains: list[float]) -> bool:
        still = len(gains) > self.patience and gains[-1] - gains[-1 - self.patience] < self.tol
        return bool(still or np.all(steps < self.min_step))

    def _linear(self, objective: Callable[[Array], Evaluation], n: int) -> Array:
        """Which coordinates step on their own scale; in a subspace none has a scale of its own."""
        coordinates = None if isinstance(objective, Subspace) else getattr(objective, "coordinates", None)
        names = [""] * n if coordinates is None else coordinates.names
        return np.array([name in self.linear for name in names], dtype=float)


def _propose(point: Array, j: int, step: float, *, linear: bool) -> Array:
    """Move coordinate j, a logarithm, by `step`, or what it is the logarithm of."""
    proposal = point.copy()
    if not linear:
        proposal[j] += step
        return proposal
    value = np.exp(point[j]) + step
    proposal[j] = np.log(value) if value > 0 else -np.inf
    return proposal
