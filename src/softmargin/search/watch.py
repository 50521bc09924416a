"""Watching a search from outside: progress, and ending it early with the best point so far.

A search may run deep inside a pipeline, where no argument reaches it, so the watcher belongs to the context.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

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


def notify(evaluation: Any, *callbacks: Callable[[Any], None] | None) -> None:
    """Tell the given callbacks and the context's watcher of an evaluation."""
    try:
        for callback in (*callbacks, _WATCHER.get()):
            if callback is not None:
                callback(evaluation)
    except StopSearch as stop:
        stop.evaluation = evaluation
        raise
