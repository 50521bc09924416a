"""How a gradient ascent chooses its steps from gradients alone: Gold & Sollich 2003, section 4.3, and Adam.

The paper's rule: every parameter has its own learning rate. "If the gradients do not decline quickly then the learning
rate is increased, if the gradients increase sharply then the ascent step is discarded and the learning rate is
decreased"; for a vector of parameters (the length scales) a sudden change of the gradient's direction discards the step
too. Either is enough. The paper gives no thresholds and factors; those of `PaperRule` are ours.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from softmargin._linalg import Array
from softmargin._parts import Part
from softmargin.policy import POLICY


@dataclass
class AscentState:
    """Everything that a step depends on; a checkpoint is this plus the objective's own memory."""

    point: Array
    rates: Array
    first: Array
    """Running mean of the gradient (Adam), or the last accepted gradient (paper)."""
    second: Array
    """Running mean of its square (Adam), or the point at which `first` was found (paper)."""
    peak: float = 0.0
    step: int = 0
    tail: list[Array] = field(default_factory=list)
    """Points of the last quarter."""
    scores: list[tuple[float, Array]] = field(default_factory=list)
    """Validation score and point after every step."""
    done: bool = False


class AscentRule(Protocol):
    """What turns a gradient into a step."""

    name: ClassVar[str]
    averages: ClassVar[bool]
    """Whether the answer is the average of the last quarter of the points."""

    @property
    def fraction(self) -> float:
        """The search ends when the gradient is below this fraction of the largest seen; 0: never."""
        ...

    def __call__(self, state: AscentState, gradient: Array, vectors: list[NDArray[np.intp]]) -> Array:
        """Change the state and return the step, shape (n,).

        Parameters
        ----------
        state : AscentState
        gradient : ndarray of shape (n,)
        vectors : list of index arrays
            The coordinates that belong together, each in one of them.
        """
        ...


@dataclass(frozen=True, repr=False)
class AdamRule(Part):
    """A step of about its rate along every parameter whose gradient keeps its sign.

    Amplitudes often lie several units of their logarithm away on a ridge, length scales near by with a gradient that is
    mostly noise: a rate of each parameter's own takes the first there and lets the second settle.

    Parameters
    ----------
    forget : tuple of float
        Memory of the running means of the gradient and of its square.
    factors : tuple of float
        By which a rate grows while the gradient keeps its sign, and shrinks where it does not.
    limits : tuple of float
        Within which the rates adapt.
    """

    forget: tuple[float, float] = (0.7, 0.9)
    factors: tuple[float, float] = (1.2, 0.8)
    limits: tuple[float, float] = (1e-3, 0.25)

    name: ClassVar[str] = "adam"
    averages: ClassVar[bool] = True
    fraction: ClassVar[float] = 0.0

    def __call__(self, state: AscentState, gradient: Array, vectors: list[NDArray[np.intp]]) -> Array:
        """See `AscentRule.__call__`."""
        if state.step > 1:
            state.rates = np.clip(state.rates * np.where(gradient * state.first > 0, *self.factors), *self.limits)
        state.first = self.forget[0] * state.first + (1 - self.forget[0]) * gradient
        state.second = self.forget[1] * state.second + (1 - self.forget[1]) * gradient**2
        mean = state.first / (1 - self.forget[0] ** state.step)
        scale = np.sqrt(state.second / (1 - self.forget[1] ** state.step))
        return state.rates * mean / np.maximum(scale, 1e-12)


@dataclass(frozen=True, repr=False)
class PaperRule(Part):
    """The rule of Gold & Sollich 2003, section 4.3.

    Parameters
    ----------
    growth : float
        A parameter's gradient (of a vector: its norm) that is more than so many times the last one discards the step.
    cosine : float
        The gradient of a vector of parameters whose angle to the last one has a smaller cosine discards the step.
    decline : float
        A gradient that is still more than this fraction of the last one has not declined quickly: its rate grows.
    factors : tuple of float
        By which a rate grows, and by which all rates shrink when a step is discarded (one alone where the gradient of
        its parameter has changed its sign).
    noise : float
        Gradients below this fraction of the largest seen discard no step: near the maximum they are mostly noise.
    fraction : float
        The search ends when every gradient is below this fraction of the largest seen.
    """

    growth: float = 2.0
    cosine: float = 0.0
    decline: float = 0.7
    factors: tuple[float, float] = (1.2, 0.5)
    noise: float = 0.1
    fraction: float = 0.02

    name: ClassVar[str] = "paper"
    averages: ClassVar[bool] = False

    def __call__(self, state: AscentState, gradient: Array, vectors: list[NDArray[np.intp]]) -> Array:
        """See `AscentRule.__call__`."""
        last, (grow, shrink) = state.first, self.factors
        if state.step == 1:
            state.rates = state.rates / np.maximum(np.abs(gradient), 1e-12)
        elif any(self.is_bad(gradient[v], last[v], state.peak) for v in vectors):
            # All rates: the entry that turned need not be the one whose move made it turn.
            state.rates = shrink * state.rates
            # From the point where the step began: a bound may have cut the step, so it is not the one planned.
            return state.second + self.step(state.rates, last) - state.point
        else:
            slow = np.abs(gradient) > self.decline * np.abs(last)
            state.rates = state.rates * np.where(gradient * last < 0, shrink, np.where(slow, grow, 1.0))
        state.first, state.second = gradient, state.point
        return self.step(state.rates, gradient)

    @staticmethod
    def step(rates: Array, gradient: Array) -> Array:
        """Return the rates times the gradient, no entry longer than the longest step allowed."""
        return np.clip(rates * gradient, -POLICY.search.ascent_step, POLICY.search.ascent_step)

    def is_bad(self, gradient: Array, last: Array, peak: float) -> bool:
        """Return whether a vector's gradient has increased sharply OR changed its direction since the last one."""
        size, before = float(np.linalg.norm(gradient)), float(np.linalg.norm(last))
        if size <= self.noise * peak:
            return False
        grown = size > self.growth * max(before, self.noise * peak)
        turned = len(gradient) > 1 and float(gradient @ last) < self.cosine * size * before
        return bool(grown or turned)


RULES: dict[str, Any] = {cls.name: cls for cls in (AdamRule, PaperRule)}


def get_rule(rule: Any) -> AscentRule:
    """Return the rule of a name, or the given object itself."""
    if not isinstance(rule, str):
        if not callable(rule) or isinstance(rule, type):
            raise ValueError(f"rule must be a name or an object such as PaperRule(); got {rule!r}")
        given: AscentRule = rule
        return given
    if rule not in RULES:
        raise ValueError(f"unknown rule {rule!r}; choose one of {tuple(RULES)}")
    named: AscentRule = RULES[rule]()
    return named


def vectors_of(names: Sequence[str]) -> list[NDArray[np.intp]]:
    """Group coordinates whose names differ only in a number at the end: the length scales are one vector."""
    stems = [re.sub(r"_\d+$", "", name) if name else f"?{i}" for i, name in enumerate(names)]
    return [np.flatnonzero([other == stem for other in stems]) for stem in dict.fromkeys(stems)]
