"""Paired differences between methods: on the same splits, averaged over seeds, standard errors over data sets."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from benchmarks._results import Row


class Difference(NamedTuple):
    """Mean of a - b over data sets, its standard error, and on how many sets a is lower and higher."""

    mean: float
    se: float
    lower: int
    higher: int
    sets: int

    def text(self, digits: int) -> str:
        """The mean, with its standard error in brackets if there are several sets."""
        error = f" ({self.se:.{digits}f})" if self.sets > 1 else ""
        return f"{self.mean:+.{digits}f}{error}" if self.sets else ""


def usable(row: Row | None, column: str) -> bool:
    """Whether a row exists and has a figure in a column."""
    return row is not None and isinstance(row.get(column), int | float)


def by_set(rows: Iterable[Row], column: str, *, log: bool = False) -> dict[tuple[object, object], float]:
    """Mean over seeds of a column (or of its logarithm) for each data set and number of rows."""
    found: dict[tuple[object, object], list[float]] = {}
    for row in rows:
        value = float(row[column])  # type: ignore[arg-type]
        found.setdefault((row["set"], row["n"]), []).append(np.log(value) if log else value)
    return {key: float(np.mean(values)) for key, values in found.items()}


def common(a: Iterable[Row], b: Iterable[Row], column: str, *, together: bool = False) -> tuple[list[Row], list[Row]]:
    """The rows of both that stand on the same split and have the column; `together`: of one day and machine too."""

    def place(row: Row) -> tuple[object, ...]:
        return row["set"], row["n"], row["seed"], row.get("split"), str(row.get("environment")) if together else ""

    left = {place(row): row for row in a if usable(row, column)}
    right = {place(row): row for row in b if usable(row, column)}
    places = [key for key in left if key in right]
    return [left[key] for key in places], [right[key] for key in places]


def difference(
    a: Iterable[Row], b: Iterable[Row], column: str, *, log: bool = False, together: bool = False
) -> Difference:
    """a - b, paired; the numbers of rows of one data set are averaged first, since they are not independent."""
    left, right = (by_set(rows, column, log=log) for rows in common(a, b, column, together=together))
    gaps: dict[object, list[float]] = {}
    for key in left:
        gaps.setdefault(key[0], []).append(left[key] - right[key])
    values = np.array([np.mean(gap) for gap in gaps.values()])
    if len(values) == 0:
        return Difference(np.nan, np.nan, 0, 0, 0)
    se = float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else np.nan
    return Difference(float(values.mean()), se, int((values < 0).sum()), int((values > 0).sum()), len(values))


def ratio(a: Iterable[Row], b: Iterable[Row], column: str = "cpu", *, together: bool = True) -> float:
    """Geometric mean of a / b over data sets, of fits of one day and machine unless `together` is false."""
    return float(np.exp(difference(a, b, column, log=True, together=together).mean))


def ratio_text(a: Iterable[Row], b: Iterable[Row]) -> str:
    """The ratio of CPU times, or nothing where no two fits were measured together."""
    found = ratio(a, b)
    if np.isnan(found):
        return ""
    return f"{found:.0f}" if found >= 100 else f"{found:.2g}"


def mean(rows: Iterable[Row], column: str) -> float:
    """Mean over data sets of the mean over seeds."""
    values = by_set([row for row in rows if usable(row, column)], column)
    return float(np.mean(list(values.values()))) if values else np.nan


def chosen(rows: Iterable[Row], test: Callable[[Row], bool]) -> list[Row]:
    """The rows that pass a test."""
    return [row for row in rows if test(row)]
