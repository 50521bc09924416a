"""Cells of text as numbers, words and dates, and columns that only number their rows."""

import re

import numpy as np
import pandas as pd

NUMBER_SHARE = 0.9
"""A column with more cells than this that are numbers is a number."""
ID_NAMES = re.compile(r"(.*[\W_])?(id|nr|no|index|rownames?|row|unnamed.*|column 1)", re.IGNORECASE)
DATE = re.compile(
    r"\s*(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{4}|[A-Za-z]{3,9}\.? \d{1,2},? \d{4}"
    r"|\d{1,2}\.? [A-Za-z]{3,9}\.? \d{4})([ T]\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?\s*(Z|[+-]\d{2}:?\d{2})?)?\s*"
)
DAY_FIRST = re.compile(r"\s*(1[3-9]|[23]\d)[-/.]\d{1,2}[-/.]\d{4}")


def is_missing(column: pd.Series) -> pd.Series:
    """Which cells are empty, or hold a question mark."""
    return column.isna() | (column.astype(str).str.strip() == "?")


def to_number(column: pd.Series) -> pd.Series:
    """Finite numbers, nan for everything else."""
    numbers = pd.to_numeric(column, errors="coerce").astype(float)
    return numbers.where(np.isfinite(numbers))


def to_text(column: pd.Series) -> pd.Series:
    """Words as Python strings, gaps as NaN, dtype object."""
    words = [np.nan if gap else str(v).strip() for v, gap in zip(column, is_missing(column))]
    return pd.Series(words, index=column.index, dtype=object)


def is_date(column: pd.Series) -> bool:
    """Whether the column has dates: by its type, or because all its words look like dates."""
    if pd.api.types.is_datetime64_any_dtype(column):
        return True
    words = column[~is_missing(column)]
    return len(words) > 0 and not pd.api.types.is_numeric_dtype(column) and all(DATE.fullmatch(str(w)) for w in words)


def to_date(column: pd.Series) -> pd.Series:
    """Dates and times without zone, NaT for everything else; the day comes first if a cell can only be read so."""
    if pd.api.types.is_datetime64_any_dtype(column):
        return column.dt.tz_localize(None) if column.dt.tz is not None else column
    words = to_text(column).where(lambda w: w.notna(), None)
    first = any(DAY_FIRST.match(w) for w in words if w is not None)
    dates = pd.to_datetime(words, errors="coerce", format="mixed", dayfirst=first, utc=True)
    return dates.dt.tz_localize(None)


def numbers_rows(column: pd.Series, name: str) -> bool:
    """Whether numbers only count their rows: 0 or 1 to n in that order, or with such a name in any order.

    With such a name numbers that rise may be left out: of a table of some of the rows.
    """
    n = len(column)
    if n < 10 or column.isna().any() or not column.is_unique or not (column == column.round()).all():
        return False
    named, rising = bool(ID_NAMES.fullmatch(str(name))), bool(column.is_monotonic_increasing)
    whole = column.min() in (0, 1) and column.max() - column.min() == n - 1
    return (named and rising) or (whole and (named or rising))
