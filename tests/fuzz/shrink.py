"""Make a failing case as plain as it can be while it still fails in the same way."""

import time
from collections.abc import Iterator
from dataclasses import fields, replace

from .case import Case
from .oracle import judge

PLAIN = Case()


def shrink(case: Case, kind: str, seconds: float = 5.0) -> Case:
    """The plainest case whose outcome is of the same kind that is found in some CPU time."""
    end = time.process_time() + seconds
    while time.process_time() < end:
        for simpler in _simpler(case):
            if judge(simpler).kind == kind:
                case = simpler
                break
            if time.process_time() >= end:
                break
        else:
            return case
    return case


def _simpler(case: Case) -> Iterator[Case]:
    """Cases with one thing less."""
    for f in fields(Case):
        if f.name not in ("estimator", "seed", "rows", "columns", "settings", "classes"):
            plain = getattr(PLAIN, f.name)
            if getattr(case, f.name) != plain:
                yield replace(case, **{f.name: plain})
    for k in range(len(case.settings)):
        yield replace(case, settings=case.settings[:k] + case.settings[k + 1 :])
    for k in range(len(case.columns)):
        if len(case.columns) > 1:
            yield replace(case, columns=case.columns[:k] + case.columns[k + 1 :])
        if case.columns[k] != "normal":
            yield replace(case, columns=(*case.columns[:k], "normal", *case.columns[k + 1 :]))
    if case.classes > 2:
        yield replace(case, classes=2)
    for rows in (case.rows // 2, case.rows - 1):
        if rows >= max(case.classes, 2):
            yield replace(case, rows=rows)
    if case.seed:
        yield replace(case, seed=0)
