"""Guess what the columns of a table mean: numbers, categories, target.

A column's type depends on its content alone, so that a model can ask for the same types at prediction (`conform`).
Columns that only number the rows, and text that differs in nearly every row, are left out with a note.
"""

from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path

import numpy as np
import pandas as pd

from softmargin._text import BUNDLED
from softmargin.tables.cells import NUMBER_SHARE, is_date, is_missing, numbers_rows, to_date, to_number, to_text
from softmargin.tables.reading import DataError, bundled, names, read_frame, short

MAX_CATEGORIES = 30
"""A column of text with more distinct values than this is taken for names or free text and left out."""


@dataclass(frozen=True)
class Table:
    """A table split into inputs and target."""

    name: str
    X: pd.DataFrame = field(repr=False)
    """Its index counts the rows as they were read, those that were left out included."""
    y: pd.Series = field(repr=False)
    numeric: tuple[str, ...]
    category: tuple[str, ...]
    date: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    """What was done to the data that its owner should know."""
    test: np.ndarray | None = field(default=None, repr=False)
    """Rows of the data set's customary test set, if it has one."""
    order: pd.Series | None = field(default=None, repr=False)
    """The column that says which rows are the latest, to be held out."""
    group: pd.Series | None = field(default=None, repr=False)
    """The column whose values are held out as a whole."""


@dataclass(frozen=True)
class Choice:
    """Which columns of a table are used, and what for."""

    drop: tuple[str, ...] = ()
    """Left out."""
    features: tuple[str, ...] = ()
    """The only inputs, if any are named; they are used even if they look useless."""
    ids: tuple[str, ...] = ()
    """Names of rows: no inputs, but kept in predictions."""
    time: str | None = None
    """The latest rows by this column are held out."""
    group: str | None = None
    """Whole groups are held out; no input."""

    def named(self) -> list[str]:
        """Every column that is named."""
        return [*self.drop, *self.features, *self.ids, *(c for c in (self.time, self.group) if c is not None)]

    def inputs(self, frame: pd.DataFrame, target: str) -> pd.DataFrame:
        """The columns that can be inputs."""
        others = {*self.drop, *self.ids, self.group, target}
        chosen = self.features or tuple(frame.columns)
        return frame[[name for name in chosen if name not in others]]


def read_table(
    source: str,
    target: str | None,
    *,
    regression: bool = False,
    encoding: str = "utf-8",
    decimal: str | None = None,
    choice: Choice | None = None,
) -> Table:
    """Read a table and choose inputs and target.

    Parameters
    ----------
    source : str
        As in `read_frame`.
    target : str or None
        The target column; None only for a bundled set, which knows its own.
    regression : bool
        The target is a number to predict rather than a class.
    encoding, decimal : str
        As in `read_frame`.
    choice : Choice, optional
        Which columns to use; default: all.
    """
    choice = Choice() if choice is None else choice
    frame = read_frame(source, encoding, decimal)
    test = bundled(source)[1] if source in BUNDLED and not Path(source).exists() else None
    if target is None:
        if source not in BUNDLED:
            raise DataError(f"say which column to predict: --target COLUMN; there are {names(frame.columns)}")
        target = BUNDLED[source]
    for name in (target, *choice.named()):
        _check_column(name, frame, source)
    notes: list[str] = []
    y, known = _target(frame[target], target, regression, notes)
    if test is not None and not known.all():
        test = None
    X, kinds = _inputs(choice.inputs(frame, target), known, notes, choice.features)
    numeric, category, date = (tuple(n for n in X if kinds[n] == kind) for kind in ("number", "category", "date"))
    order, group = (None if name is None else frame[name][known] for name in (choice.time, choice.group))
    order = None if order is None else _ordered(order)
    group = None if group is None else to_text(group)
    return Table(source, X, y, numeric, category, date, tuple(notes), test, order, group)


def _check_column(name: str, frame: pd.DataFrame, source: str) -> None:
    if name not in frame.columns:
        close = get_close_matches(name, [str(c) for c in frame.columns], n=1)
        hint = f"; did you mean {short(close[0])!r}?" if close else f"; there are {names(frame.columns)}"
        raise DataError(f"there is no column {short(name)!r} in {source!r}{hint}")


def _ordered(column: pd.Series) -> pd.Series:
    """A column that says what came first: dates or numbers."""
    order = to_date(column) if is_date(column) else to_number(column)
    if order.isna().any():
        raise DataError(
            f"column {short(column.name)!r} has cells that are neither a date nor a number, so it cannot say "
            "which rows are the latest; give another --time"
        )
    return order


def _target(column: pd.Series, name: str, regression: bool, notes: list[str]) -> tuple[pd.Series, pd.Series]:
    """The target without missing values, and which rows have one."""
    if regression:
        y = to_number(column)
        strange = column[y.isna() & ~is_missing(column)]
        if len(strange):
            raise DataError(
                f"column {short(name)!r} has values that are no finite numbers, such as {short(strange.iloc[0])!r}; "
                "repair them, or leave out --regression if it holds classes"
            )
    else:
        y = to_text(column)
    known = y.notna()
    if not known.all():
        notes.append(f"{int((~known).sum())} rows without {short(name)!r} were left out")
    y = y[known]
    if len(y) == 0:
        raise DataError(f"column {short(name)!r} has no values")
    if not regression:
        _check_classes(y, name)
    elif y.nunique() == 1:
        raise DataError(f"column {short(name)!r} is constant: there is nothing to predict")
    return y.rename(name), known


def _check_classes(y: pd.Series, name: str) -> None:
    counts = y.value_counts()
    if len(counts) == 1:
        raise DataError(f"column {short(name)!r} has one class only, {short(counts.index[0])!r}; two are needed")
    numbers = pd.to_numeric(y, errors="coerce").notna().all()
    if len(counts) > 20 and (numbers or len(counts) > len(y) / 5):
        what = "is a number with" if numbers else "has"
        remedy = "use --regression" if numbers else "choose another --target, or join rare classes"
        raise DataError(f"column {short(name)!r} {what} {len(counts)} distinct values: {remedy}")
    rare = counts[counts < 3]
    if len(rare):
        raise DataError(
            f"column {short(name)!r}: class {short(rare.index[0])!r} has {rare.iloc[0]} rows; each class needs 3. "
            "Remove these rows or join the class with another"
        )


def _inputs(
    frame: pd.DataFrame, known: pd.Series, notes: list[str], wanted: tuple[str, ...]
) -> tuple[pd.DataFrame, dict[str, str]]:
    """Columns of the rows with a target as numbers, categories or dates; columns without use are left out."""
    kept: dict[str, pd.Series] = {}
    kinds: dict[str, str] = {}
    dropped: dict[str, str] = {}
    for name in frame.columns:
        kind, column = _read_column(frame[name][known], name, notes)
        reason = _useless(kind, column)
        # Rows are numbered before those without a target are left out.
        if reason is None and kind == "number" and numbers_rows(to_number(frame[name]), name):
            reason = "numbers the rows"
        if reason is None or (name in wanted and kind):
            kept[name], kinds[name] = column, kind
        else:
            dropped[name] = reason
    if dropped:
        notes.append(f"left out: {', '.join(f'{short(name)!r} ({why})' for name, why in dropped.items())}")
    if not kept:
        raise DataError(
            f"no column is left to predict from ({', '.join(f'{short(n)!r}: {why}' for n, why in dropped.items())}); "
            "the table needs numbers, categories or dates beside the target, or --features to insist on a column"
        )
    return pd.DataFrame(kept), kinds


def _read_column(column: pd.Series, name: str, notes: list[str]) -> tuple[str, pd.Series]:
    """What a column is ("" if it is empty), and its cells read so."""
    present = column[~is_missing(column)]
    if len(present) == 0:
        return "", column
    if is_date(column):
        return "date", to_date(column)
    if column.dtype != bool and to_number(present).notna().mean() > NUMBER_SHARE:
        numbers = to_number(column)
        lost = int(numbers.isna().sum()) - int(is_missing(column).sum())
        if lost:
            notes.append(f"column {short(name)!r}: {lost} cells are no finite numbers and count as missing")
        return "number", numbers
    return "category", to_text(column)


def _useless(kind: str, column: pd.Series) -> str | None:
    """Why a column is left out; None if it is not."""
    if not kind:
        return "empty"
    count = column.nunique()
    if column.nunique(dropna=False) == 1:
        return "constant"
    if kind == "category" and count > min(MAX_CATEGORIES, max(len(column) / 2, 2)):
        return f"text with {count} distinct values"
    return None
