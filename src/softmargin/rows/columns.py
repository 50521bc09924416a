"""What a column of a table is, and the columns of inputs that it becomes.

A number is itself; where it had gaps in training they are filled by the median and marked in an input of their own. A
category is one column of zeros and ones for each value, and one for all others: an RBF of them is the overlap kernel. A
date is its year and its day of the year.
"""

from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from softmargin._linalg import Array

MAX_CATEGORIES = 255
"""More values of a category than this, the rarest ones, count as one value "other" (the limit of scikit-learn's
histogram gradient boosting)."""
SAMPLE = 10_000
"""Rows that a median is taken of: evenly spaced if there are more."""


class Cells(Protocol):
    """The cells of one column, read as what they are wanted for."""

    @property
    def name(self) -> str:
        """As errors call it."""
        ...

    def numbers(self) -> Array:
        """Numbers, nan where there is a gap; shape (n,)."""
        ...

    def values(self) -> list[Any]:
        """Values that can be compared, None where there is a gap; of length n."""
        ...

    def dates(self) -> Any:
        """datetime64[s], NaT where there is a gap; shape (n,)."""
        ...


class Column(Protocol):
    """A column of a table, learnt from training rows."""

    @property
    def groups(self) -> tuple[int, ...]:
        """Number of the input, among those of this column, of each column of the rows."""
        ...

    def encode(self, cells: Cells) -> Array:
        """The columns of the rows, shape (n, n_groups)."""
        ...


@dataclass(frozen=True)
class NumberColumn:
    """A number."""

    median: float
    """In the place of gaps."""
    gap: float = 0.0
    """What marks a gap, in an input of its own: the spread of the numbers. 0: there were no gaps in training, and no
    such input."""
    share: float = 0.0
    """Share of the training rows that had a gap."""

    @classmethod
    def of(cls, cells: Cells, weight: Array | None = None) -> "NumberColumn":
        """Learn the column from training rows."""
        return cls.of_numbers(cells.numbers(), cells.name, weight)

    @classmethod
    def of_numbers(cls, numbers: Array, name: str, weight: Array | None = None) -> "NumberColumn":
        """The same from numbers with nan for gaps, shape (n,)."""
        present = ~np.isnan(numbers)
        if weight is not None:
            # Rows of weight zero are not there.
            present &= weight > 0
        known = numbers[present]
        if len(known) == 0:
            raise ValueError(f"column {name} has no values, only gaps; leave it out")
        w = np.ones(len(known)) if weight is None else weight[present]
        step = max(1, len(known) // SAMPLE)
        median = _median(known[::step], None if weight is None else w[::step])
        total = len(numbers) if weight is None else float(weight.sum())
        n_rows = len(numbers) if weight is None else int(np.count_nonzero(weight))
        if len(known) == n_rows:
            return cls(median)
        # Any size would do for a mark with a length scale of its own; a kernel that shares the number's needs its unit.
        with np.errstate(over="ignore", invalid="ignore"):
            spread = float(np.sqrt(np.average((known - np.average(known, weights=w)) ** 2, weights=w)))
        return cls(median, spread if 0 < spread < np.inf else 1.0, 1 - float(w.sum()) / total)

    @property
    def groups(self) -> tuple[int, ...]:
        """One input, and one for gaps."""
        return (0, 1) if self.gap else (0,)

    def encode(self, cells: Cells) -> Array:
        """The number and the mark of a gap, shape (n, 1 or 2)."""
        return self.fill(cells.numbers())

    def fill(self, numbers: Array) -> Array:
        """The same for numbers with nan for gaps, shape (n,)."""
        empty = np.isnan(numbers)
        filled = np.where(empty, self.median, numbers)
        return np.column_stack([filled, self.gap * empty]) if self.gap else filled[:, None]


@dataclass(frozen=True)
class CategoryColumn:
    """A category. A gap is a value like others."""

    categories: tuple[Any, ...] = field(repr=False)
    """The values that have a column, sorted; None stands for a gap."""

    @classmethod
    def of(cls, cells: Cells, weight: Array | None = None) -> "CategoryColumn":
        """Learn the values from training rows; the rarest of too many are left to "other"."""
        counts: dict[Any, float] = {}
        values = cells.values()
        for value, w in zip(values, [1.0] * len(values) if weight is None else weight.tolist()):
            if w > 0:
                counts[value] = counts.get(value, 0.0) + w
        if set(counts) == {None}:
            raise ValueError(f"column {cells.name} has no values, only gaps; leave it out")
        common = sorted(counts, key=lambda value: (-counts[value], _order(value)))[:MAX_CATEGORIES]
        return cls(tuple(sorted(common, key=_order)))

    @property
    def groups(self) -> tuple[int, ...]:
        """One input, of a column for each value and one for others."""
        return (0,) * (len(self.categories) + 1)

    def encode(self, cells: Cells) -> Array:
        """Zeros and ones, shape (n, n_categories + 1)."""
        index, other = {value: k for k, value in enumerate(self.categories)}, len(self.categories)
        codes = [index.get(value, other) for value in cells.values()]
        encoded = np.zeros((len(codes), other + 1))
        encoded[np.arange(len(codes)), codes] = 1.0
        return encoded


def _order(value: Any) -> tuple[bool, str, str]:
    """An order of values of any kinds, gaps last."""
    return value is None, type(value).__name__, str(value) if isinstance(value, str) else f"{value!r:>30}"


@dataclass(frozen=True)
class DateColumn:
    """A date or time: the year, and the day of the year with the time as its fraction."""

    year: NumberColumn
    day: NumberColumn

    @classmethod
    def of(cls, cells: Cells, weight: Array | None = None) -> "DateColumn":
        """Learn the column from training rows."""
        year, day = (NumberColumn.of_numbers(part, cells.name, weight) for part in _year_and_day(cells.dates()))
        return cls(year, day)

    @property
    def groups(self) -> tuple[int, ...]:
        """Two inputs, and one for gaps."""
        return (0, 1, 2) if self.year.gap else (0, 1)

    def encode(self, cells: Cells) -> Array:
        """Year, day of the year and the mark of a gap, shape (n, 2 or 3)."""
        year, day = _year_and_day(cells.dates())
        return np.column_stack([self.year.fill(year)[:, 0], self.day.fill(day)])


def _median(values: Array, weight: Array | None) -> float:
    """The middle of the values; weights are numbers of copies."""
    if weight is None:
        return float(np.median(values))
    order = np.argsort(values)
    below = np.cumsum(weight[order])
    # Both neighbours of the middle, which are one unless it falls between two.
    ends = np.searchsorted(below, 0.5 * below[-1] * np.array([1 - 1e-12, 1 + 1e-12]))
    low, high = values[order][np.minimum(ends, len(values) - 1)]
    return float(0.5 * low + 0.5 * high)


def _year_and_day(dates: Any) -> tuple[Array, Array]:
    """Year, and days since it began, nan for NaT; each shape (n,)."""
    years = dates.astype("datetime64[Y]")
    gap = np.isnat(dates)
    year = np.where(gap, np.nan, years.astype(np.int64) + 1970.0)
    seconds = (dates - years.astype("datetime64[s]")).astype("timedelta64[s]").astype(np.int64)
    return year, np.where(gap, np.nan, seconds / 86_400.0)
