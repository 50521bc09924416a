"""Dual averaging of the step size towards a wanted acceptance (Hoffman & Gelman 2014, section 3.2)."""

from dataclasses import dataclass, replace

import numpy as np


@dataclass(frozen=True)
class StepSize:
    """State of the adaptation: `current` while it runs, `final` when it is frozen."""

    log_current: float
    log_final: float
    centre: float
    error: float = 0.0
    count: int = 0

    @property
    def current(self) -> float:
        """The step size to try next."""
        return float(np.exp(self.log_current))

    @property
    def final(self) -> float:
        """The averaged step size."""
        return float(np.exp(self.log_final))


def start(step_size: float) -> StepSize:
    """Begin at a step size; adaptation is drawn towards twice that, as large steps are cheaper to try."""
    return StepSize(float(np.log(step_size)), float(np.log(step_size)), float(np.log(2 * step_size)))


def update(state: StepSize, acceptance: float, wanted: float, largest: float = np.inf) -> StepSize:
    """Take the mean acceptance of all chains into account."""
    gamma, t0, forget = 0.05, 10.0, 0.75
    count = state.count + 1
    weight = 1 / (count + t0)
    error = (1 - weight) * state.error + weight * (wanted - acceptance)
    log_current = min(state.centre - np.sqrt(count) / gamma * error, float(np.log(largest)))
    share = count**-forget
    log_final = share * log_current + (1 - share) * state.log_final
    return replace(state, log_current=log_current, log_final=log_final, error=error, count=count)
