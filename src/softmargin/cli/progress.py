"""A live progress line, and Ctrl-C that keeps the best model so far."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from softmargin.search import Evaluation, StopSearch, watching
from softmargin.tables import short


class Interrupt:
    """Turns the first Ctrl-C into a request and the second into KeyboardInterrupt."""

    def __init__(self, console: Console) -> None:
        self.asked = False
        self._console = console

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True
        self._console.print("Stopping: the best model so far is kept (Ctrl-C again to give it up).")


@contextmanager
def interruptible(console: Console) -> Iterator[Interrupt]:
    """Install an `Interrupt` for SIGINT, in the main thread only (elsewhere Python forbids it)."""
    interrupt = Interrupt(console)
    if threading.current_thread() is not threading.main_thread():
        yield interrupt
        return
    before = signal.signal(signal.SIGINT, interrupt)
    try:
        yield interrupt
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def tuning(console: Console, interrupt: Interrupt, *, show: bool) -> Iterator[None]:
    """Show every evaluation of the search, and end the search when an interrupt was asked for."""
    columns: list[Any] = [SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn()]
    with Progress(*columns, console=console, transient=True, disable=not show) as progress:
        task = progress.add_task("Tuning", total=None)
        count, best = 0, float("-inf")

        def watch(evaluation: Evaluation) -> None:
            nonlocal count, best
            count, best = count + 1, max(best, float(evaluation.value))
            progress.update(task, description=f"Tuning: {count} evaluations, now {evaluation.value:.2f}")
            if interrupt.asked:
                raise StopSearch

        with watching(watch):
            yield


@contextmanager
def waiting(console: Console, what: str, *, show: bool) -> Iterator[None]:
    """Show that something takes its time."""
    columns: list[Any] = [SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn()]
    with Progress(*columns, console=console, transient=True, disable=not show) as progress:
        progress.add_task(short(what), total=None)
        yield
