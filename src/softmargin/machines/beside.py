"""A fit in a process of its own, beside another one that does not depend on it."""

import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple, TypeVar

from joblib import Parallel, delayed, effective_n_jobs

from softmargin.policy import POLICY
from softmargin.tuning import blas_threads

Result = TypeVar("Result")


def runs_beside(n_jobs: int | None) -> bool:
    """Whether there are processes for fits beside each other."""
    return effective_n_jobs(n_jobs) > 1


@contextmanager
def beside(job: Callable[[], Result], n_jobs: int | None) -> Iterator[Callable[[], Result]]:
    """Run a job while the block runs; the block gets a function that waits for its result.

    With one process the job runs here, before the block. The numbers are the same: a process has as many BLAS threads
    as a fit has here.

    Parameters
    ----------
    job : callable
        Without arguments. It can be pickled, and reports nothing to this process but its warnings.
    n_jobs : int or None
        As joblib understands it.

    Examples
    --------
    >>> with beside(lambda: 6 * 7, n_jobs=1) as answer:
    ...     question = "?"
    >>> answer()
    42
    """
    if not runs_beside(n_jobs):
        result = job()
        yield lambda: result
        return
    # The first process is this one. joblib starts none for n_jobs=1, so that a second worker stays idle.
    running = Parallel(n_jobs=2, return_as="generator")([delayed(_with_warnings)(job, os.getpid())])
    try:
        yield lambda: _warned(*next(running))
    finally:
        # After an error or an interrupt in the block nobody waits for the job, of which joblib would warn.
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "1 tasks which were still being processed", UserWarning)
            running.close()


class _Caught(NamedTuple):
    message: Warning
    category: type[Warning]


def _with_warnings(job: Callable[[], Result], parent: int) -> tuple[Result, list[_Caught]]:
    """The result and the warnings of a job; a warning of another process would only be printed there."""
    with blas_threads(POLICY.search.blas_threads):
        if os.getpid() == parent:  # joblib's backend of threads: warnings get out by themselves
            return job(), []
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            result = job()
    return result, [_Caught(w.message, w.category) for w in caught if isinstance(w.message, Warning)]


def _warned(result: Result, caught: list[_Caught]) -> Result:
    for warning in caught:
        warnings.warn(warning.message, warning.category, stacklevel=5)
    return result
