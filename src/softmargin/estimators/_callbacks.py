"""What happens while a fit runs: scikit-learn's callbacks, and lines for `verbose`."""

import logging
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from softmargin._compiled import compiling
from softmargin._typing import Attributes, MatrixLike, PartLike, VectorLike
from softmargin.search import Evaluation, Listener, StopSearch

logger = logging.getLogger("softmargin")

EVERY = 0.5
"""Seconds between lines of `verbose=1`; 2 writes one for every evaluation."""


@dataclass
class Progress:
    """Counts the evaluations of a fit and writes a line now and then."""

    verbose: int
    count: int = 0
    _last: float = -EVERY
    _began: float = field(default_factory=time.perf_counter)
    _compiled: float = field(default_factory=lambda: compiling.seconds)

    def evaluated(self, evaluation: Evaluation) -> None:
        """Note an evaluation of a search."""
        self.count += 1
        now = time.perf_counter() - self._began
        if self.verbose > 1 or (self.verbose and now - self._last >= EVERY):
            self._last = now
            logger.info(
                "evaluation %d, %.1f s: objective %.4f, criterion %.4f",
                self.count, now, evaluation.value, evaluation.criterion,
            )  # fmt: skip

    def end(self) -> None:
        """Say what the fit took."""
        if not self.verbose:
            return
        compiled = compiling.seconds - self._compiled
        seconds = time.perf_counter() - self._began - compiled
        extra = f", and {compiled:.1f} s to compile loops, once on this machine" if compiled >= 0.1 else ""
        logger.info("fitted with %d evaluations in %.1f s%s", self.count, seconds, extra)


@contextmanager
def watched(verbose: int) -> Iterator[Progress]:
    """Let the lines of a fit be seen: on the standard output, unless the program has set up logging itself."""
    progress = Progress(int(verbose))
    if not verbose or (logger.hasHandlers() and logger.isEnabledFor(logging.INFO)):
        yield progress
        progress.end()
        return
    handler, level = logging.StreamHandler(sys.stdout), logger.level
    handler.setFormatter(logging.Formatter("softmargin: %(message)s"))
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield progress
        progress.end()
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)


try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands for the mixin that this version of scikit-learn does not have."""

    def with_callbacks(method: PartLike) -> Any:
        """Return the method as it is."""
        return method


__all__ = ["CallbackSupportMixin", "FitListener", "FitTasks", "with_callbacks"]


@dataclass
class FitTasks:
    """The task tree of one fit. Once a callback has asked to stop, every further search ends at once."""

    estimator: Any
    data: Attributes = field(repr=False)
    context: Any = None
    stopped: bool = False

    @classmethod
    def begin(cls, estimator: Any, X: MatrixLike, y: VectorLike, sample_weight: VectorLike) -> "FitTasks":
        """Open the task of the fit."""
        metadata = None if sample_weight is None else {"sample_weight": sample_weight}
        tasks = cls(estimator, {"X": X, "y": y, "metadata": metadata})
        if hasattr(estimator, "_init_callback_context"):
            # How many evaluations a search needs is not known in advance.
            tasks.context = estimator._init_callback_context(max_subtasks=None)
            tasks.context.call_on_fit_task_begin(estimator=estimator, **tasks.data)
        return tasks

    def evaluated(self, attributes: Callable[[], Attributes] | None = None) -> None:
        """Report one evaluation; `attributes` makes the fitted attributes as if the search had ended here.

        Raises
        ------
        StopSearch
            If a callback has asked to stop.
        """
        if self.context is None:
            return
        task = self.context.subcontext(task_name="evaluation")
        task.call_on_fit_task_begin(estimator=self.estimator, **self.data)
        # A callable among the arguments would be called for its value; this one is, when a callback wants it.
        ask = task.call_on_fit_task_end(estimator=self.estimator, **self.data, reconstruction_attributes=attributes)
        self.stopped = self.stopped or bool(ask)
        if self.stopped:
            raise StopSearch

    def end(self) -> None:
        """Close the task of the fit."""
        if self.context is not None:
            self.context.call_on_fit_task_end(estimator=self.estimator, **self.data, reconstruction_attributes={})


@dataclass(frozen=True)
class FitListener(Listener):
    """What happens after every evaluation of a fit: a line in the log, and scikit-learn's callbacks."""

    tasks: FitTasks
    attributes: Callable[[Any], Attributes]
    """From the record of a fit to the fitted attributes."""
    progress: Progress

    def __call__(self, evaluation: Evaluation, result: Callable[[], Any] | None, /) -> None:
        """Note an evaluation; `result()` is the record of the fit as if the search had ended here."""
        self.progress.evaluated(evaluation)
        self.tasks.evaluated(None if result is None else lambda: self.attributes(result()))
