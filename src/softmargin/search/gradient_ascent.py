"""Gradient ascent on an evidence that is known only through its gradient (Gold & Sollich 2003, sections 4.2-4.3).

rule="paper": each parameter has its own learning rate; it grows while the gradient does not decline quickly, and a step
after which a gradient has grown sharply, or the direction has turned back, is discarded and redone with a smaller
rate. The search ends when gradients are a small fraction of their peak. The paper gives none of the constants; those
here are ours. rule="adam" (default) scales every step by the running size of the gradient, lets every parameter's rate
grow while its gradient keeps its sign and shrink where it does not, and returns the average of the last points; with
common random numbers and persistent chains few samples are enough.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from softmargin._linalg import Array
from softmargin._parts import Part
from softmargin.search import checkpoint
from softmargin.search._protocol import Evaluation, Objective, SearchResult
from softmargin.search.watch import StopSearch

RULES = ("adam", "paper")
LARGEST_STEP = 0.5
"""Of a log hyperparameter, in one step."""
RATES = (1e-3, 0.25)
"""Within which the rates of rule "adam" adapt."""


@dataclass
class _State:
    """Everything that a step depends on; a checkpoint is this plus the objective's own memory."""

    point: Array
    rates: Array
    first: Array
    """Running mean of the gradient (adam), or the last accepted gradient (paper)."""
    second: Array
    """Running mean of its square (adam)."""
    peak: float = 0.0
    step: int = 0
    tail: list[Array] = field(default_factory=list)
    """Points of the last quarter."""
    scores: list[tuple[float, Array]] = field(default_factory=list)
    """Validation score and point after every step."""
    done: bool = False


@dataclass(frozen=True, repr=False)
class GradientAscent(Part):
    """Monte Carlo gradient ascent.

    Parameters
    ----------
    max_iter : int
        Steps, each one gradient.
    tol : float
        Stop when every gradient entry is below this (nats per unit of a log hyperparameter) ...
    fraction : float
        ... or below this fraction of the largest seen (rule "paper").
    rule : {"adam", "paper"}
    rate : float
        First step of each log hyperparameter.
    validation : callable, optional
        Evaluation -> score, more is better. The search stops when it has not improved for `patience` steps and
        returns the best point: early stopping on a validation set.
    patience : int
    checkpoint : path, optional
        Saved after every step; the same search (data, criterion, inference, settings, start, bounds) goes on from the
        file, any other refuses it. The file cannot run code.
    """

    max_iter: int = 80
    tol: float = 1e-3
    fraction: float = 0.02
    rule: str = "adam"
    rate: float = 0.15
    validation: Callable[[Evaluation], float] | None = None
    patience: int = 10
    checkpoint: str | Path | None = None

    name: ClassVar[str] = "gradient_ascent"
    needs_gradient: ClassVar[bool] = True
    averages_noise: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.rule not in RULES:
            raise ValueError(f"unknown rule {self.rule!r}; choose one of {RULES}")

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
            return SearchResult(start, objective(start), 0, True)
        fingerprint = self._fingerprint(objective, start, bounds)
        state = self._resume(objective, fingerprint) or _State(
            start, np.full(len(start), self.rate), np.zeros(len(start)), np.zeros(len(start))
        )
        try:
            while not state.done and state.step < self.max_iter:
                self._step(objective, state, bounds)
                self._save(objective, state, fingerprint)
        except StopSearch:
            pass
        # The average of points within bounds can miss them by rounding.
        point = np.clip(self._answer(state), bounds[:, 0], bounds[:, 1])
        return SearchResult(point, objective(point), state.step, state.done)

    def _step(self, objective: Objective, state: _State, bounds: Array) -> None:
        evaluation = objective(state.point)
        if evaluation.gradient is None:
            raise ValueError("search 'gradient_ascent' needs a criterion with a gradient; use 'random_walk'")
        # At a bound only the part of the gradient that points inwards counts.
        blocked = ((state.point <= bounds[:, 0]) & (evaluation.gradient < 0)) | (
            (state.point >= bounds[:, 1]) & (evaluation.gradient > 0)
        )
        gradient = np.where(blocked, 0.0, evaluation.gradient)
        size = float(np.max(np.abs(gradient)))
        state.peak = max(state.peak, size)
        state.step += 1
        if self.validation is not None:
            state.scores.append((float(self.validation(evaluation)), state.point))
            best = int(np.argmax([score for score, _ in state.scores]))
            state.done = len(state.scores) - 1 - best >= self.patience
        if size < self.tol or (self.rule == "paper" and size < self.fraction * state.peak):
            state.done = True
        if state.done:
            return
        move = _adam(state, gradient) if self.rule == "adam" else _paper(state, gradient)
        state.point = np.clip(state.point + move, bounds[:, 0], bounds[:, 1])
        if self.rule == "adam" and state.step > 0.75 * self.max_iter:
            state.tail.append(state.point)

    def _answer(self, state: _State) -> Array:
        if state.scores:
            return max(state.scores, key=lambda entry: entry[0])[1]
        return np.mean(state.tail, axis=0) if state.tail else state.point

    def _fingerprint(self, objective: Any, start: Array, bounds: Array) -> str:
        """Everything that the result depends on; empty without a checkpoint."""
        if self.checkpoint is None:
            return ""
        known = objective.fingerprint() if hasattr(objective, "fingerprint") else None
        return checkpoint.digest(replace(self, checkpoint=None), start, bounds, known)

    def _resume(self, objective: Any, fingerprint: str) -> _State | None:
        content = None if self.checkpoint is None else checkpoint.load(Path(self.checkpoint), fingerprint)
        if content is None:
            return None
        if hasattr(objective, "restore"):
            objective.restore(content["objective"])
        state: _State = content["state"]
        return state

    def _save(self, objective: Any, state: _State, fingerprint: str) -> None:
        if self.checkpoint is None:
            return
        memory = objective.memory() if hasattr(objective, "memory") else None
        checkpoint.save(Path(self.checkpoint), fingerprint, {"state": state, "objective": memory})


def _adam(state: _State, gradient: Array) -> Array:
    """A step of about its rate along every parameter whose gradient keeps its sign.

    Amplitudes often lie several units of their logarithm away on a ridge, length scales near by with a gradient that is
    mostly noise: a rate of each parameter's own takes the first there and lets the second settle.
    """
    forget = (0.7, 0.9)
    if state.step > 1:
        state.rates = np.clip(state.rates * np.where(gradient * state.first > 0, 1.2, 0.8), *RATES)
    state.first = forget[0] * state.first + (1 - forget[0]) * gradient
    state.second = forget[1] * state.second + (1 - forget[1]) * gradient**2
    mean = state.first / (1 - forget[0] ** state.step)
    scale = np.sqrt(state.second / (1 - forget[1] ** state.step))
    return state.rates * mean / np.maximum(scale, 1e-12)


def _paper(state: _State, gradient: Array) -> Array:
    """Adapt the rates and return the next step; after a bad step, first take it back."""
    last, taken = state.first, state.second
    if state.step == 1:
        state.rates = state.rates / np.maximum(np.abs(gradient), 1e-12)
    else:
        grown = np.abs(gradient) > 1.5 * np.maximum(np.abs(last), 0.1 * state.peak)
        turned = gradient * last < -0.25 * last**2
        if np.any(grown & turned):
            # All of them: the entry that turned need not be the one whose move made it turn.
            state.rates = 0.5 * state.rates
            move = np.clip(state.rates * last, -LARGEST_STEP, LARGEST_STEP)
            state.second = move
            return move - taken
        slow = np.abs(gradient) > 0.7 * np.abs(last)
        state.rates = state.rates * np.where(turned, 0.5, np.where(slow, 1.2, 1.0))
    state.first = gradient
    state.second = np.clip(state.rates * gradient, -LARGEST_STEP, LARGEST_STEP)
    return state.second
