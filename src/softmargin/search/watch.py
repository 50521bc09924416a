"""Watching a search from outside: progress, and ending it early with the best point so far.

A search may run deep inside a pipeline, where no argument reaches it, so the watcher belongs to the context. A fit
passes a `Report` down to its searches: each room adds how its own result is made from that of the room below.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any, Protocol

_WATCHER: ContextVar[Callable[[Any], None] | None] = ContextVar("softmargin_search_watcher", default=None)


class StopSearch(Exception):
    """Raised by a callback to end a search at the best point so far."""

    evaluation: Any = None
    """The evaluation after which the search was stopped."""


@contextmanager
def watching(callback: Callable[[Any], None]) -> Iterator[None]:
    """Call `callback(evaluation)` after every evaluation of every search of this context.

    The callback may raise `StopSearch`: each search then ends at its best point so far and the fit is completed there.
    Searches in other processes (``n_jobs``) are not seen.
    """
    token = _WATCHER.set(callback)
    try:
        yield
    finally:
        _WATCHER.reset(token)


class Callback(Protocol):
    """Called after every evaluation of a search; any callable of this form."""

    def __call__(self, evaluation: Any, /) -> None:
        """Note an evaluation; raise `StopSearch` to end the search."""
        ...


class Listener(Protocol):
    """Called after every evaluation of all searches of a fit."""

    def __call__(self, evaluation: Any, result: Callable[[], Any] | None, /) -> None:
        """Note an evaluation; `result()` is the result of the fit as if the search had ended here."""
        ...


@dataclass(frozen=True)
class Report:
    """Passes evaluations on to the listener of a fit, with the result that the fit would have.

    Parameters
    ----------
    listener : Listener
        Called after every evaluation.
    steps : tuple of callables, or None
        The result of the fit is ``steps[0](steps[1](... found))``, where `found` is what a search has found. None: the
        search is one of several, and its end gives no result of the fit.

    Examples
    --------
    >>> report = Report(lambda evaluation, result: print(evaluation, result()))
    >>> report.then(lambda model: [model])("evaluation", lambda: "model")
    evaluation ['model']
    """

    listener: Listener
    steps: tuple[Callable[[Any], Any], ...] | None = ()

    def then(self, step: Callable[[Any], Any]) -> "Report":
        """The report for a search whose finding `step` turns into what this report expects."""
        return self if self.steps is None else replace(self, steps=(*self.steps, step))

    def without_result(self) -> "Report":
        """The report for a search whose end gives no result of the fit."""
        return replace(self, steps=None)

    def of_evaluations(self, make: Callable[[Any], Any]) -> "ReportedEvaluations":
        """The callback of a search, where `make(evaluation)` is what it has found if it ends there."""
        return ReportedEvaluations(self, make)

    def __call__(self, evaluation: Any, found: Callable[[], Any] | None = None) -> None:
        """Pass an evaluation on; `found()` makes what the search has found."""
        steps = self.steps
        if steps is None or found is None:
            self.listener(evaluation, None)
            return

        def result() -> Any:
            value = found()
            for step in reversed(steps):
                value = step(value)
            return value

        self.listener(evaluation, result)


@dataclass(frozen=True)
class ReportedEvaluations(Callback):
    """The callback of one search that passes its evaluations on to a report."""

    report: Report
    make: Callable[[Any], Any]

    def __call__(self, evaluation: Any, /) -> None:
        """Report an evaluation."""
        self.report(evaluation, lambda: self.make(evaluation))


def notify(evaluation: Any, *callbacks: Callback | None) -> None:
    """Call the given callbacks and the context's watcher with an evaluation."""
    try:
        for callback in (*callbacks, _WATCHER.get()):
            if callback is not None:
                callback(evaluation)
    except StopSearch as stop:
        stop.evaluation = evaluation
        raise
