"""One validator for every source of rows: arrays, frames, CSR matrices, memory maps and Dask collections.

All of them are checked for the same things, in the same words: two dimensions, at least one row and one column, finite
numbers of a size whose squares are finite too, a target and a weight for every row, weights that are not negative and
not all zero. What a Dask collection holds is checked block by block in one pass, and an error names the block and the
column.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import _check_sample_weight, validate_data

from softmargin.rows._collections import as_dask_array, is_dask
from softmargin.rows._dask import DaskRows
from softmargin.rows._sizes import input_size_fault, target_size_fault
from softmargin.rows.source import BLOCK_ROWS, LocalRows


@dataclass(frozen=True)
class CheckedRows:
    """Valid raw rows, and what an estimator remembers of their columns."""

    source: LocalRows | DaskRows
    n_features: int
    feature_names: np.ndarray | None

    def columns(self) -> dict[str, Any]:
        """The fitted attributes that name the columns."""
        named = {"n_features_in_": self.n_features}
        return named if self.feature_names is None else {**named, "feature_names_in_": self.feature_names}


def check_rows(
    estimator: Any,
    X: Any,
    y: Any,
    sample_weight: Any,
    *,
    numeric_target: bool,
    keep_float32: bool = False,
    reset: bool = True,
) -> CheckedRows:
    """Validate training rows without copying what is too large to copy.

    Parameters
    ----------
    estimator : estimator
        Named in errors. scikit-learn's own checks note the columns on it: give a copy.
    X, y, sample_weight : array-like, sparse matrix or Dask collection
        Inputs, targets and weights as the user gave them.
    numeric_target : bool
        Whether y must be finite numbers (regression); labels can be of any kind but missing.
    keep_float32 : bool
        Whether inputs in single precision stay so.
    reset : bool
        Whether these rows define the columns; if not they must have those of the estimator.

    Returns
    -------
    CheckedRows
        The rows as one source, and their columns.
    """
    if is_dask(X):
        return _check_dask(X, y, sample_weight, numeric_target=numeric_target)
    dtype = [np.float64, np.float32] if keep_float32 else np.float64
    X, y = validate_data(
        estimator, X, y, accept_sparse="csr", dtype=dtype, ensure_min_samples=1, y_numeric=numeric_target, reset=reset
    )
    fault = input_size_fault(X) or (target_size_fault(y) if numeric_target else "")
    if fault:
        raise ValueError(fault)
    weight = None
    if sample_weight is not None:
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64)
        check_weights(float(weight.min()), float(weight.max()))
    names = getattr(estimator, "feature_names_in_", None)
    return CheckedRows(LocalRows(X, y, weight), X.shape[1], names)


def check_weights(smallest: float, largest: float) -> None:
    """Raise unless no weight is negative and some are positive."""
    if smallest < 0:
        raise ValueError(f"sample_weight must not be negative; the smallest given is {smallest:g}")
    if not largest > 0:
        raise ValueError("sample_weight is zero for every row; give at least one row a positive weight")


def _check_dask(X: Any, y: Any, sample_weight: Any, *, numeric_target: bool) -> CheckedRows:
    if y is None:
        raise ValueError("y=None was given, but a target for every row is required")
    if len(getattr(X, "shape", ())) != 2:
        raise ValueError(
            f"Expected 2D array, got {len(getattr(X, 'shape', ()))}D array instead; X must have two dimensions "
            "(rows, features)"
        )
    names = np.asarray(X.columns, dtype=object) if hasattr(X, "columns") else None
    if X.shape[1] == 0:
        raise ValueError("Found array with 0 feature(s) while a minimum of 1 is required.")
    X, y, sample_weight = (as_dask_array(part) if is_dask(part) else part for part in (X, y, sample_weight))
    rows = DaskRows.of(X, y, sample_weight)
    if rows.n_rows == 0:
        raise ValueError(
            f"Found array with 0 sample(s) (shape=(0, {rows.n_features})) while a minimum of 1 is required."
        )
    columns = list(map(str, range(rows.n_features) if names is None else names))
    smallest, largest = rows.check(columns, numeric_target=numeric_target)
    check_weights(smallest, largest)
    if rows.n_rows > BLOCK_ROWS:
        # An error names the user's own chunk; sums are over blocks that do not depend on it.
        rows = DaskRows.of(X, y, sample_weight, align=True)
    return CheckedRows(rows, rows.n_features, names)
