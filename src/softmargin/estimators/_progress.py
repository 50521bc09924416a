"""Lines about a fit while it runs, for `verbose`."""

import logging
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from softmargin._compiled import compiling
from softmargin.search import Evaluation

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
