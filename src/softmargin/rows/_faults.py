"""What is wrong with a block of rows of a Dask collection, in the words of the validator of local rows."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from softmargin.rows._sizes import LARGEST, input_size_fault, target_size_fault

SHOWN = 5
"""Columns that an error names."""


class BlockCheck(NamedTuple):
    """What one look at a block has found."""

    fault: str
    """Empty: nothing."""
    smallest: float
    """Of the weights; infinite for a block without rows."""
    largest: float


def check_block(X: Any, y: Any, weight: Any, names: Sequence[str], numeric_target: bool) -> BlockCheck:
    """Look at a block of rows.

    Parameters
    ----------
    X : array of shape (n, d)
    y : array of shape (n,)
    weight : array of shape (n,) or None
    names : sequence of str
        Of the d columns.
    numeric_target : bool
        Whether y must be numbers.
    """
    fault = _input_fault(np.asarray(X), names) or _target_fault(np.asarray(y), numeric_target)
    if fault or weight is None:
        return BlockCheck(fault, 1.0, 1.0)
    values = as_numbers(np.asarray(weight))
    if values is None:
        return BlockCheck(f"sample_weight holds {np.asarray(weight).dtype} values that are no numbers", 1.0, 1.0)
    bad = ~(np.isfinite(values) & (values >= 0))
    if np.any(bad):
        row = int(np.flatnonzero(bad)[0])
        if np.isfinite(values[row]):
            return BlockCheck(f"sample_weight must not be negative; row {row} of the block has {values[row]:g}", 1, 1)
        return BlockCheck(f"Input sample_weight contains NaN or infinity (row {row} of the block)", 1.0, 1.0)
    return BlockCheck("", float(values.min(initial=np.inf)), float(values.max(initial=-np.inf)))


def as_numbers(values: NDArray[Any]) -> NDArray[np.float64] | None:
    """The values as real numbers; None if some are none."""
    if values.dtype.kind == "c":
        return None
    try:
        return values.astype(np.float64)
    except (TypeError, ValueError):
        return None


def _input_fault(X: NDArray[Any], names: Sequence[str]) -> str:
    if X.dtype.kind == "c":
        return "Complex data not supported: X must hold real numbers"
    values = as_numbers(X)
    if values is None:
        text = [as_numbers(X[:, j]) is None for j in range(X.shape[1])]
        return f"X holds values that are no numbers ({_columns(np.array(text), names)}); encode such columns first"
    bad = ~np.all(np.isfinite(values), axis=0)
    if np.any(bad):
        return f"Input X contains NaN or infinity ({_columns(bad, names)}); fill or drop these rows first"
    # A block of tiny numbers may belong to a column of larger ones.
    return input_size_fault(values, names, training=False)


def _target_fault(y: NDArray[Any], numeric: bool) -> str:
    if numeric:
        values = as_numbers(y)
        if values is None:
            return f"y holds {y.dtype} values that are no numbers; a regression needs numbers"
        missing = ~np.isfinite(values)
        if not np.any(missing) and np.abs(values).max(initial=0.0) > LARGEST:
            return target_size_fault(values)
    elif y.dtype.kind == "f":
        missing = ~np.isfinite(y)
    else:
        # A missing value is None, or not equal to itself; pandas' own is neither equal nor unequal to anything.
        missing = np.array([v is None or type(v).__name__ == "NAType" or v != v for v in y.ravel()], dtype=bool)
    if np.any(missing):
        return f"Input y contains NaN or infinity (row {np.flatnonzero(missing)[0]} of the block)"
    return ""


def _columns(bad: NDArray[np.bool_], names: Sequence[str]) -> str:
    """The first bad columns by name."""
    index = np.flatnonzero(bad)
    listed = ", ".join(names[j] for j in index[:SHOWN])
    return f"column{'s' if len(index) > 1 else ''} {listed}{', ...' if len(index) > SHOWN else ''}"
