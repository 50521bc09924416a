"""Run a case and name its outcome.

=========  ====================================================================================================
fitted     finite answers that agree with each other, and the relation holds
refused    a ValueError or TypeError that our code or scikit-learn's validation raised on purpose
crash      any other exception
wrong      answers that cannot be right, or a relation that does not hold
leak       a warning that is not documented
hang       more CPU time than `LIMIT`
=========  ====================================================================================================
"""

import linecache
import signal
import time
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from .answers import Differs, Wrong
from .case import Case
from .problem import make_problem
from .relations import answers, check_relation, fit

KINDS = ("fitted", "refused", "crash", "wrong", "leak", "hang")
GOOD = ("fitted", "refused")
LIMIT = 20.0
"""CPU seconds of a case, in which there may be three fits."""
WARNINGS = (
    "The number of unique classes is greater than 50%",  # scikit-learn's validation of labels
    "are taken for gross errors and left out",
    "the kernel imitates noise",
)
"""Documented warnings that are no ConvergenceWarning."""
ON_BOUND = "a better value may lie beyond"
"""Of the ConvergenceWarning that says nothing against the answer: a hyperparameter was learnt to be on its bound."""


@dataclass(frozen=True)
class Outcome:
    """What a case came to."""

    kind: str
    note: str
    """The message, or an empty string."""
    seconds: float
    """CPU time."""
    gap: float | None = None
    """What the relation left, if one was checked; see `answers.compare`."""

    @property
    def is_good(self) -> bool:
        """Whether nothing has to be mended."""
        return self.kind in GOOD


class Hang(BaseException):
    """Raised inside a case that takes too long; nothing catches it on the way."""


def judge(case: Case) -> Outcome:
    """Run a case; one that seems to hang is run again, since compilation takes time once."""
    outcome = _judge(case)
    return _judge(case) if outcome.kind == "hang" else outcome


def _judge(case: Case) -> Outcome:
    start, gap = time.process_time(), None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            with _limited():
                kind, note, gap = _run(case)
        except Hang:
            kind, note = "hang", f"more than {LIMIT:g} CPU s"
    if kind == "differs":
        # Where a ConvergenceWarning says that an inference has not ended, rounding decides where it was left.
        unsure = any(issubclass(w.category, ConvergenceWarning) and ON_BOUND not in str(w.message) for w in caught)
        kind, note = ("fitted", "") if unsure else ("wrong", note)
    leaks = [w for w in caught if not _is_documented_warning(w)]
    if leaks and kind in GOOD:
        kind, note = "leak", f"{leaks[0].category.__name__}: {leaks[0].message} ({_place(leaks[0])})"
    return Outcome(kind, note, time.process_time() - start, gap)


@contextmanager
def _limited() -> Iterator[None]:
    """Raise `Hang` after `LIMIT` CPU seconds; Windows has no such alarm, and pytest's limit ends a hang there."""
    if not hasattr(signal, "setitimer"):
        yield
        return
    before = signal.signal(signal.SIGPROF, _interrupt)
    signal.setitimer(signal.ITIMER_PROF, LIMIT)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise Hang


def _run(case: Case) -> tuple[str, str, float | None]:
    try:
        problem = make_problem(case)
        model = fit(case, problem)
        expected = answers(case, problem, model)
        gap = check_relation(case, problem, model, expected)
    except Differs as error:
        return "differs", str(error), None
    except Wrong as error:
        return "wrong", str(error), None
    except Exception as error:
        note = f"{type(error).__name__}: {error}"
        kind, where = ("refused", "") if is_documented(error) else ("crash", f" ({_last_frame(error)})")
        return kind, note + where, None
    return "fitted", "", gap


def is_documented(error: Exception) -> bool:
    """Whether an exception was raised on purpose, by the library or by scikit-learn's validation."""
    if not isinstance(error, ValueError | TypeError | NotFittedError) or isinstance(error, np.linalg.LinAlgError):
        return False
    frame = traceback.extract_tb(error.__traceback__)[-1]
    line = linecache.getline(frame.filename, frame.lineno or 0).strip()
    return ("/softmargin/" in frame.filename or "/sklearn/" in frame.filename) and line.startswith("raise")


def _last_frame(error: Exception) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    ours = [f for f in frames if "/softmargin/" in f.filename] or list(frames)
    return f"{ours[-1].filename.split('/softmargin/')[-1]}:{ours[-1].lineno}"


def _is_documented_warning(warning: Any) -> bool:
    return issubclass(warning.category, ConvergenceWarning) or any(text in str(warning.message) for text in WARNINGS)


def _place(warning: Any) -> str:
    return f"{'/'.join(warning.filename.split('/')[-2:])}:{warning.lineno}"
