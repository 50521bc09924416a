"""Gradient ascent on an evidence that is known only through its gradient (Gold & Sollich 2003, sections 4.2-4.3).

rule="adam" (default) scales every step by the running size of the gradient and returns the average of the last points;
with common random numbers and persistent chains few samples are enough. rule="paper" is the paper's own. Both are in
`_ascent_rules`.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from softmargin._linalg import Array
from softmargin._parts import Part
from softmargin.search import checkpoint
from softmargin.search._ascent_rules import AscentRule, AscentState, get_rule, vectors_of
from softmargin.search._protocol import Evaluation, Objective, SearchResult
from softmargin.search.watch import StopSearch


@dataclass(frozen=True, repr=False)
class GradientAscent(Part):
    """Monte Carlo gradient ascent.

    Parameters
    ----------
    max_iter : int
        Steps, each one gradient.
    tol : float
        Stop when every gradient entry is below this (nats per unit of a log hyperparameter).
    rule : {"adam", "paper"} or AscentRule
        How steps follow from gradients: a name, or `AdamRule` or `PaperRule` with settings of their own.
    rate : float
        First step of each hyperparameter.
    linear : tuple of str
        Names of the hyperparameters that move on their own scale instead of their logarithm's; ``("C",)`` is what the
        paper does.
    validation : callable, optional
        Evaluation -> score, more is better. The search stops when it has not improved for `patience` steps and
        returns the best point: early stopping on a validation set (section 5.3.2).
    patience : int
        Number of steps without a better score after which the search ends.
    checkpoint : path, optional
        Saved after every step; the same search (data, criterion, inference, settings, start, bounds) goes on from the
        file, any other refuses it. The file cannot run code.

    See Also
    --------
    LBFGS : For criteria without sampling noise.

    References
    ----------
    Gold & Sollich (2003), Model selection for support vector machine classification, section 4.3, eqs. 18 and 20.

    Examples
    --------
    >>> from softmargin.search import PaperRule
    >>> GradientAscent(rule=PaperRule(growth=3.0), linear=("C",))
    GradientAscent(rule=PaperRule(growth=3.0), linear=('C',))
    """

    max_iter: int = 80
    tol: float = 1e-3
    rule: str | AscentRule = "adam"
    rate: float = 0.15
    linear: tuple[str, ...] = ()
    validation: Callable[[Evaluation], float] | None = None
    patience: int = 10
    checkpoint: str | Path | None = None

    name: ClassVar[str] = "gradient_ascent"
    needs_gradient: ClassVar[bool] = True
    averages_noise: ClassVar[bool] = True
    gives_samples: ClassVar[bool] = False

    def __post_init__(self) -> None:
        get_rule(self.rule)

    def maximise(
        self,
        objective: Objective,
        start: Array,
        bounds: Array,
        random_state: np.random.RandomState | None = None,
    ) -> SearchResult:
        """Climb from `start` of shape (n,) within `bounds` of shape (n, 2)."""
        start = np.clip(start, bounds[:, 0], bounds[:, 1])
        if len(start) == 0:
            return SearchResult(start, _evaluate(objective, start), 0, True)
        space = _Space.of(objective, self.linear, bounds)
        fingerprint = self._fingerprint(objective, start, bounds)
        state = self._resume(objective, fingerprint) or AscentState(
            space.from_log(start), np.full(len(start), self.rate), np.zeros(len(start)), np.zeros(len(start))
        )
        try:
            while not state.done and state.step < self.max_iter:
                self._step(objective, state, space)
                self._save(objective, state, fingerprint)
        except StopSearch:
            pass
        # The average of points within bounds can miss them by rounding.
        point = np.clip(space.to_log(self._answer(state)), bounds[:, 0], bounds[:, 1])
        return SearchResult(point, _evaluate(objective, point), state.step, state.done)

    def _step(self, objective: Objective, state: AscentState, space: "_Space") -> None:
        evaluation, rule, bounds = objective(space.to_log(state.point)), get_rule(self.rule), space.bounds
        if evaluation.gradient is None:
            raise ValueError("search 'gradient_ascent' needs a criterion with a gradient; use 'random_walk'")
        gradient = space.gradient(evaluation.gradient, state.point)
        # At a bound only the part of the gradient that points inwards counts.
        blocked = ((state.point <= bounds[:, 0]) & (gradient < 0)) | ((state.point >= bounds[:, 1]) & (gradient > 0))
        gradient = np.where(blocked, 0.0, gradient)
        size = float(np.max(np.abs(gradient)))
        state.peak = max(state.peak, size)
        state.step += 1
        if self.validation is not None:
            state.scores.append((float(self.validation(evaluation)), state.point))
            best = int(np.argmax([score for score, _ in state.scores]))
            state.done = len(state.scores) - 1 - best >= self.patience
        if size < max(self.tol, rule.fraction * state.peak):
            state.done = True
        if state.done:
            return
        move = rule(state, gradient, space.vectors)
        state.point = np.clip(state.point + move, bounds[:, 0], bounds[:, 1])
        if rule.averages and state.step > 0.75 * self.max_iter:
            state.tail.append(state.point)

    def _answer(self, state: AscentState) -> Array:
        if state.scores:
            return max(state.scores, key=lambda entry: entry[0])[1]
        return np.mean(state.tail, axis=0) if state.tail else state.point

    def _fingerprint(self, objective: Any, start: Array, bounds: Array) -> str:
        """Everything that the result depends on; empty without a checkpoint."""
        if self.checkpoint is None:
            return ""
        known = objective.fingerprint() if hasattr(objective, "fingerprint") else None
        return checkpoint.digest(replace(self, checkpoint=None), start, bounds, known)

    def _resume(self, objective: Any, fingerprint: str) -> AscentState | None:
        content = None if self.checkpoint is None else checkpoint.load(Path(self.checkpoint), fingerprint)
        if content is None:
            return None
        if hasattr(objective, "restore"):
            objective.restore(content["objective"])
        state: AscentState = content["state"]
        return state

    def _save(self, objective: Any, state: AscentState, fingerprint: str) -> None:
        if self.checkpoint is None:
            return
        memory = objective.memory() if hasattr(objective, "memory") else None
        checkpoint.save(Path(self.checkpoint), fingerprint, {"state": state, "objective": memory})


class _Space(NamedTuple):
    """The coordinates that the ascent moves in: the objective's logarithms, but for the linear ones."""

    linear: NDArray[np.bool_]
    vectors: list[NDArray[np.intp]]
    bounds: Array
    """Shape (n, 2), in these coordinates."""

    @classmethod
    def of(cls, objective: Any, linear: tuple[str, ...], bounds: Array) -> "_Space":
        names = getattr(objective, "names", None) or [""] * len(bounds)
        mask = np.array([name in linear for name in names], dtype=bool)
        return cls(mask, vectors_of(names), np.where(mask[:, None], np.exp(bounds), bounds))

    def from_log(self, z: Array) -> Array:
        """The coordinates at logarithms z."""
        return np.where(self.linear, np.exp(z), z)

    def to_log(self, point: Array) -> Array:
        """The logarithms at these coordinates."""
        return np.where(self.linear, np.log(np.where(self.linear, point, 1.0)), point)

    def gradient(self, gradient: Array, point: Array) -> Array:
        """d/dC = (d/d ln C)/C for the linear coordinates."""
        return np.where(self.linear, gradient / np.where(self.linear, point, 1.0), gradient)


def _evaluate(objective: Objective, point: Array) -> Evaluation:
    """The objective at the end of a search, where nothing is left to stop."""
    try:
        return objective(point)
    except StopSearch as stop:
        evaluation: Evaluation = stop.evaluation
        return evaluation
