"""The greedy random walk of Gold & Sollich 2003, section 4.1: zero-temperature Monte Carlo, for any criterion.

One hyperparameter at a time takes a Gaussian step, kept if and only if the criterion improves. Kernel parameters step
in their logarithm, C on its own scale. Each has its own step size, which grows when a step is kept and shrinks when it
is not, by factors that balance where the wanted share of the steps is kept: the paper's "close to 50 %". On a slope
half of the steps are kept whatever their size, so a share of exactly one half would let the size drift at random, and
sooner or later to zero; a share a little below it makes the size grow until it feels the curvature. The walk ends when
all steps or the gain have become tiny.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from softmargin._linalg import Array
from softmargin._parts import Part
from softmargin.search._protocol import Objective, SearchResult
from softmargin.search.watch import StopSearch

ROUNDING = 1e-12
"""Relative gain that is none: a coordinate on which nothing depends, as the length scale of a constant input, stays."""


@dataclass(frozen=True, repr=False)
class RandomWalk(Part):
    """Greedy random walk; needs no gradient.

    Parameters
    ----------
    max_iter : int
        Sweeps over all hyperparameters.
    tol : float
        Stop when the last kept steps, `patience` for each hyperparameter, have gained less than this together.
    step : float
        First standard deviation of every step.
    min_step : float
        Stop when every step size has fallen below this.
    acceptance : float
        Share of the steps to keep, at most one half. The paper keeps it close to 0.5, as ``acceptance=0.5, rate=5,
        step=0.05`` does on crabs (``python -m papers gold_sollich2003``, section 4.1). The default, one third, takes
        larger steps and ends higher.
    rate : float
        Factor by which a step size grows when its step is kept.
    patience : int
        Kept steps per hyperparameter over which the gain is measured. Rejected steps do not count: they show that
        a step size is too large, which is repaired, not that there is nothing to gain.
    linear : tuple of str
        Names of the hyperparameters that step on their own scale instead of their logarithm's.

    See Also
    --------
    LBFGS : With gradients, for far fewer evaluations.

    References
    ----------
    Gold & Sollich (2003), Model selection for support vector machine classification, section 4.1.

    Examples
    --------
    >>> from softmargin import BayesianSVC
    >>> BayesianSVC(search=RandomWalk(acceptance=0.5))
    BayesianSVC(search=RandomWalk(acceptance=0.5))
    """

    max_iter: int = 60
    tol: float = 1e-3
    step: float = 0.5
    min_step: float = 1e-2
    acceptance: float = 1 / 3
    rate: float = 1.5
    patience: int = 3
    linear: tuple[str, ...] = ("C",)

    name: ClassVar[str] = "random_walk"
    needs_gradient: ClassVar[bool] = False
    averages_noise: ClassVar[bool] = False
    gives_samples: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not 0 < self.acceptance <= 0.5:
            raise ValueError(f"acceptance must lie above 0 and be at most 0.5; got {self.acceptance}")

    def maximise(
        self,
        objective: Objective,
        start: Array,
        bounds: Array,
        random_state: np.random.RandomState | None = None,
    ) -> SearchResult:
        """Walk from `start` of shape (n,) within `bounds` of shape (n, 2)."""
        rng = np.random.RandomState(0) if random_state is None else random_state
        point = np.clip(start, bounds[:, 0], bounds[:, 1])
        linear = self._linear(objective, len(point))
        try:
            best, sweep = objective(point), 0
        except StopSearch as stop:
            return SearchResult(point, stop.evaluation, 0, False, stopped=True)
        steps, kept = np.full(len(point), self.step), [best.value]
        try:
            while sweep < self.max_iter and not self._is_over(steps, kept):
                sweep += 1
                for j in rng.permutation(len(point)):
                    proposal = _propose(point, j, steps[j] * rng.standard_normal(), linear=bool(linear[j]))
                    evaluation = None
                    if bounds[j, 0] <= proposal[j] <= bounds[j, 1]:
                        evaluation = objective(proposal)
                    if evaluation is not None and evaluation.value - best.value > ROUNDING * abs(evaluation.value):
                        point, best = proposal, evaluation
                        steps[j] *= self.rate
                        kept.append(best.value)
                    else:
                        # In balance, acceptance ln(rate) = (1 - acceptance) ln(shrink).
                        steps[j] *= self.rate ** -(self.acceptance / (1 - self.acceptance))
        except StopSearch:
            return SearchResult(point, best, sweep, False, stopped=True)
        return SearchResult(point, best, sweep, self._is_over(steps, kept))

    def _is_over(self, steps: Array, kept: list[float]) -> bool:
        window = self.patience * len(steps)
        still = len(kept) > window and kept[-1] - kept[-1 - window] < self.tol
        return bool(still or np.all(steps < self.min_step))

    def _linear(self, objective: Objective, n: int) -> Array:
        """Which coordinates step on their own scale: those named in `linear`."""
        names = getattr(objective, "names", [""] * n)
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
