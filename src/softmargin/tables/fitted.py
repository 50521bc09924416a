"""What a model that was fitted to a table says of its columns, and how new tables become what it expects."""

from typing import Any

import numpy as np
import pandas as pd

from softmargin.rows import CategoryColumn, DateColumn
from softmargin.tables.cells import is_missing, to_date, to_number, to_text
from softmargin.tables.reading import DataError, names, short


def columns_of(model: Any) -> dict[str, str]:
    """The columns that a model expects, and what they are: "number", "category" or "date"."""
    kinds = {CategoryColumn: "category", DateColumn: "date"}
    found = zip(model.feature_names_in_, model.encoder_.columns)
    return {str(name): kinds.get(type(column), "number") for name, column in found}


def conform(frame: pd.DataFrame, expected: dict[str, str]) -> tuple[pd.DataFrame, list[str]]:
    """Give a frame the columns and types that a model was fitted with; say what had to be repaired."""
    missing = [name for name in expected if name not in frame.columns]
    if missing:
        raise DataError(
            f"the data lack {len(missing)} of the model's columns: {names(missing)}; there are {names(frame.columns)}"
        )
    read = {"number": to_number, "category": to_text, "date": to_date}
    notes, columns = [], {}
    for name, kind in expected.items():
        columns[name] = read[kind](frame[name])
        strange = frame[name][columns[name].isna() & ~is_missing(frame[name])]
        what = "dates" if kind == "date" else "finite numbers"
        if len(strange) and not columns[name].notna().any():
            raise DataError(
                f"column {short(name)!r} held {what} when the model was fitted, but here no cell is one: it holds "
                f"{short(strange.iloc[0])!r}; repair the column, or empty its cells if they are unknown"
            )
        if len(strange):
            notes.append(f"column {short(name)!r}: {len(strange)} cells are no {what} and count as missing")
    return pd.DataFrame(columns, index=frame.index), notes


def unseen_categories(model: Any, X: pd.DataFrame) -> list[str]:
    """Say which categories of X the model has never met."""
    notes = []
    for name, column in zip(model.feature_names_in_, model.encoder_.columns):
        if not isinstance(column, CategoryColumn):
            continue
        new = sorted(set(X[name].dropna()) - set(column.categories))
        if new:
            shown = ", ".join(repr(short(v)) for v in new[:3]) + (", ..." if len(new) > 3 else "")
            notes.append(f"column {short(name)!r}: {len(new)} values were not in the training data ({shown})")
    return notes


def relevance_by_column(model: Any) -> dict[str, float] | None:
    """Relevance of each column, most relevant first; None if the kernel has none."""
    return _by_column(model, getattr(model, "relevance_", None))


def importance_by_column(model: Any) -> dict[str, float] | None:
    """Importance of each column, sums to 1, the largest first; None if unknown."""
    return _by_column(model, getattr(model, "importance_", None))


def _by_column(model: Any, values: Any) -> dict[str, float] | None:
    if values is None:
        return None
    named = zip(map(str, model.feature_names_in_), np.asarray(values).tolist())
    return dict(sorted(named, key=lambda item: -item[1]))
