"""Guess what the columns of a table mean: numbers, categories, target.

A column's type depends on its content alone, so that a model can ask for the same types at prediction (`conform`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path

import numpy as np
import pandas as pd

from softmargin.tables.reading import BUNDLED, DataError, bundled, names, read_frame, short

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
    notes: tuple[str, ...] = ()
    """What was done to the data that its owner should know."""
    test: np.ndarray | None = field(default=None, repr=False)
    """Rows of the data set's customary test set, if it has one."""


def read_table(source: str, target: str | None, *, regression: bool = False, encoding: str = "utf-8") -> Table:
    """Read a table and choose inputs and target.

    Parameters
    ----------
    source : str
        As in `read_frame`.
    target : str or None
        The target column; None only for a bundled set, which knows its own.
    regression : bool
        The target is a number to predict rather than a class.
    encoding : str
        Character set of a text file.
    """
    frame = read_frame(source, encoding)
    test = bundled(source)[1] if source in BUNDLED and not Path(source).exists() else None
    if target is None:
        if source not in BUNDLED:
            raise DataError(f"say which column to predict: --target COLUMN; there are {names(frame.columns)}")
        target = BUNDLED[source]
    if target not in frame.columns:
        close = get_close_matches(target, [str(c) for c in frame.columns], n=1)
        hint = f"; did you mean {short(close[0])!r}?" if close else f"; there are {names(frame.columns)}"
        raise DataError(f"there is no column {short(target)!r} in {source!r}{hint}")
    notes: list[str] = []
    y, known = _target(frame[target], target, regression, notes)
    if test is not None and not known.all():
        test = None
    X, numeric, category = _inputs(frame.drop(columns=target)[known], notes)
    return Table(source, X, y, tuple(numeric), tuple(category), tuple(notes), test)


def conform(frame: pd.DataFrame, numeric: Sequence[str], category: Sequence[str]) -> tuple[pd.DataFrame, list[str]]:
    """Give a frame the columns and types that a model was fitted with; say what had to be repaired."""
    missing = [name for name in (*numeric, *category) if name not in frame.columns]
    if missing:
        raise DataError(
            f"the data lack {len(missing)} of the model's columns: {names(missing)}; there are {names(frame.columns)}"
        )
    notes = []
    columns = {}
    for name in numeric:
        columns[name] = to_number(frame[name])
        strange = frame[name][columns[name].isna() & ~is_missing(frame[name])]
        lost = len(strange)
        if lost and not columns[name].notna().any():
            raise DataError(
                f"column {short(name)!r} held numbers when the model was fitted, but here no cell is a finite number: "
                f"it holds {short(strange.iloc[0])!r}; repair the column, or empty its cells if they are unknown"
            )
        if lost:
            notes.append(f"column {short(name)!r}: {lost} cells are no finite numbers and count as missing")
    for name in category:
        columns[name] = to_text(frame[name])
    return pd.DataFrame(columns, index=frame.index), notes


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


def _inputs(frame: pd.DataFrame, notes: list[str]) -> tuple[pd.DataFrame, list[str], list[str]]:
    """Columns as numbers or categories; columns without use are left out."""
    kept: dict[str, pd.Series] = {}
    numeric: list[str] = []
    category: list[str] = []
    dropped: list[str] = []
    for name in frame.columns:
        column = frame[name]
        present = column[~is_missing(column)]
        if len(present) == 0:
            dropped.append(f"{short(name)!r} (empty)")
        elif column.dtype == bool or not to_number(present).notna().any():
            _keep_words(name, to_text(column), kept, category, dropped)
        elif to_number(present).notna().mean() > 0.9:
            kept[name] = to_number(column)
            lost = int(kept[name].isna().sum()) - int(is_missing(column).sum())
            if lost:
                notes.append(f"column {short(name)!r}: {lost} cells are no finite numbers and count as missing")
            numeric.append(name)
        else:
            _keep_words(name, to_text(column), kept, category, dropped)
    constant = [name for name in kept if kept[name].nunique(dropna=False) == 1]
    dropped += [f"{short(name)!r} (constant)" for name in constant]
    if dropped:
        notes.append(f"left out: {', '.join(dropped)}")
    kept = {name: column for name, column in kept.items() if name not in constant}
    if not kept:
        raise DataError("no column is left to predict from; the table needs numbers or categories beside the target")
    chosen = [n for n in numeric if n in kept], [n for n in category if n in kept]
    return pd.DataFrame(kept), *chosen


def _keep_words(
    name: str, words: pd.Series, kept: dict[str, pd.Series], category: list[str], dropped: list[str]
) -> None:
    count = words.nunique()
    if count > min(MAX_CATEGORIES, max(len(words) / 2, 2)):
        dropped.append(f"{short(name)!r} (text with {count} distinct values)")
    else:
        kept[name] = words
        category.append(name)


def is_missing(column: pd.Series) -> pd.Series:
    return column.isna() | (column.astype(str).str.strip() == "?")


def to_number(column: pd.Series) -> pd.Series:
    numbers = pd.to_numeric(column, errors="coerce").astype(float)
    return numbers.where(np.isfinite(numbers))


def to_text(column: pd.Series) -> pd.Series:
    """Words as Python strings, gaps as NaN, dtype object (what scikit-learn's encoders and skops know best)."""
    words = [np.nan if gap else str(v).strip() for v, gap in zip(column, is_missing(column))]
    return pd.Series(words, index=column.index, dtype=object)
