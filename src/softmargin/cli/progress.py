"""A live progress line, and Ctrl-C that keeps the best model so far."""

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from types import FrameType
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.text import Text

from softmargin.search import Evaluation, StopSearch, watching
from softmargin.tables import short

LINE_SECONDS = 5.0
"""Between plain lines of progress."""


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
    """Show every evaluation of the search, and end the search when an interrupt was asked for.

    A terminal has a live line; what is piped has a plain line every `LINE_SECONDS`.
    """
    columns: list[Any] = [SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn()]
    live = show and console.is_terminal
    with _line(console, columns, live=live) as progress:
        task = progress.add_task("Tuning", total=None)
        count, best, begun, last_line = 0, float("-inf"), time.monotonic(), 0.0

        def watch(evaluation: Evaluation) -> None:
            nonlocal count, best, last_line
            count, best = count + 1, max(best, float(evaluation.value))
            progress.update(task, description=f"Tuning: {count} evaluations, now {evaluation.value:.2f}")
            seconds = time.monotonic() - begun
            if show and not live and seconds - last_line > LINE_SECONDS:
                last_line = seconds
                console.print(Text(f"Tuning: {count} evaluations, now {evaluation.value:.2f}, {seconds:.0f} s"))
            if interrupt.asked:
                raise StopSearch

        with watching(watch):
            yield


@contextmanager
def waiting(console: Console, what: str, *, show: bool) -> Iterator[None]:
    """Show that something takes its time: a live line on a terminal, a plain line where the output is piped."""
    if show and not console.is_terminal:
        console.print(Text(f"{short(what)} ..."))
    columns: list[Any] = [SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn()]
    with _line(console, columns, live=show and console.is_terminal) as progress:
        progress.add_task(short(what), total=None)
        yield


@contextmanager
def _line(console: Console, columns: list[Any], *, live: bool) -> Iterator[Progress]:
    """A line that moves while it is live; otherwise it is never begun (rich before 14.1 ends it with an empty line)."""
    progress = Progress(*columns, console=console, transient=True)
    with progress if live else nullcontext():
        yield progress
