"""One validator for every source of rows: arrays, frames, CSR matrices, memory maps and Dask collections.

All of them are checked for the same things, in the same words: two dimensions, at least one row and one column, numbers
that are not infinite and of a size whose squares are finite too, a target and a weight for every row, weights that are
not negative and not all zero. Gaps are allowed in frames and arrays, where the encoder fills them. What a Dask
collection holds is checked block by block in one pass, and an error names the block and the column.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.utils import assert_all_finite, check_X_y
from sklearn.utils.validation import _check_sample_weight, validate_data

from softmargin._linalg import Array
from softmargin.kernels import Layout
from softmargin.rows._collections import as_dask_array, is_dask
from softmargin.rows._dask import DaskRows
from softmargin.rows._sizes import check_input_sizes, input_size_fault, target_size_fault
from softmargin.rows.frames import ColumnEncoder, needs_encoder
from softmargin.rows.source import BLOCK_ROWS, LocalRows


@dataclass(frozen=True)
class CheckedRows:
    """Valid raw rows, and what an estimator remembers of their columns."""

    source: LocalRows | DaskRows
    n_features: int
    """Columns of the table."""
    feature_names: np.ndarray | None
    encoder: ColumnEncoder | None = None
    """How the table's columns become inputs; None for CSR matrices, Dask collections and kernel values."""

    @property
    def layout(self) -> Layout | None:
        """Where the table's columns are in the rows."""
        return None if self.encoder is None else self.encoder.layout

    def columns(self) -> dict[str, Any]:
        """The fitted attributes that tell of the columns."""
        named = {"n_features_in_": self.n_features, "encoder_": self.encoder}
        return named if self.feature_names is None else {**named, "feature_names_in_": self.feature_names}


class Columns(BaseEstimator):
    """What scikit-learn's checks read of an estimator and note on it: its name, its tags and its columns.

    `Columns.of` makes one whose class has the name of the estimator, which the errors show.

    Parameters
    ----------
    tags : sklearn.utils.Tags
        Those of the estimator.
    """

    def __init__(self, tags: Any) -> None:
        self.tags = tags

    @classmethod
    def of(cls, estimator: str, tags: Any, known: dict[str, Any]) -> "Columns":
        """Those of an estimator of a class of this name; `known` are the fitted attributes that describe columns."""
        columns = _named(estimator)(tags)
        for name, value in known.items():
            setattr(columns, name, value)
        return columns

    def __sklearn_tags__(self) -> Any:
        return self.tags


@cache
def _named(name: str) -> type[Columns]:
    return type(name, (Columns,), {})


def check_rows(
    columns: Columns,
    X: Any,
    y: Any,
    sample_weight: Any,
    *,
    numeric_target: bool,
    keep_float32: bool = False,
    reset: bool = True,
    categorical_features: Any = None,
    allow_gaps: bool = True,
) -> CheckedRows:
    """Validate training rows without copying what is too large to copy.

    Parameters
    ----------
    columns : Columns
        The name of the estimator, its tags, and with ``reset=False`` the columns that it was fitted with.
    X, y, sample_weight : array-like, frame, sparse matrix or Dask collection
        Inputs, targets and weights as the user gave them.
    numeric_target : bool
        Whether y must be finite numbers (regression); labels can be of any kind but missing.
    keep_float32 : bool
        Whether inputs in single precision stay so.
    reset : bool
        Whether these rows define the columns; if not they must have those of the estimator.
    categorical_features : "from_dtype", array-like or None
        Which columns are categories; see `BayesianSVC`.
    allow_gaps : bool
        Whether columns are encoded and may have gaps; not the columns of kernel values.

    Returns
    -------
    CheckedRows
        The rows as one source, and their columns.
    """
    if is_dask(X):
        if len(getattr(X, "shape", ())) == 2:
            _refuse_words(X, categorical_features)
        return _check_dask(X, y, sample_weight, numeric_target=numeric_target)
    dtype = [np.float64, np.float32] if keep_float32 else np.float64
    known = None if reset else columns.encoder_
    if allow_gaps and (needs_encoder(X, categorical_features) or not (known is None or known.is_numeric)):
        validate_data(columns, X, skip_check_array=True, reset=reset)
        names = getattr(columns, "feature_names_in_", None)
        weight = _weights(sample_weight, X)
        encoder = ColumnEncoder.of(X, categorical_features, names, weight) if known is None else known
        X, y = check_X_y(encoder.transform(X), y, ensure_min_samples=1, y_numeric=numeric_target, estimator=columns)
    else:
        # scikit-learn looks at the sum first, which is inf - inf for float32 inputs of 1e38.
        with np.errstate(invalid="ignore"):
            X, y = validate_data(
                columns,
                X,
                y,
                accept_sparse="csr",
                dtype=dtype,
                ensure_all_finite="allow-nan" if allow_gaps else True,
                ensure_min_samples=1,
                y_numeric=numeric_target,
                reset=reset,
            )
        names = getattr(columns, "feature_names_in_", None)
        weight = _weights(sample_weight, X)
        encoder, X = _numeric(X, names, weight, known, allow_gaps=allow_gaps)
    fault = input_size_fault(X) or (target_size_fault(y) if numeric_target else "")
    if fault:
        raise ValueError(fault)
    return CheckedRows(LocalRows(X, y, weight), columns.n_features_in_, names, encoder)


def _weights(sample_weight: Any, X: Any) -> Array | None:
    """The weights as an array of the length of X."""
    if sample_weight is None:
        return None
    weight: Array = _check_sample_weight(sample_weight, X, dtype=np.float64)
    check_weights(float(weight.min()), float(weight.max()))
    return weight


def _numeric(
    X: Any, names: Any, weight: Array | None, known: ColumnEncoder | None, *, allow_gaps: bool
) -> tuple[ColumnEncoder | None, Any]:
    """The encoder of an array of numbers, and the array with its gaps filled."""
    if issparse(X):
        _refuse_gaps(X)
    if issparse(X) or not allow_gaps:
        return None, X
    encoder = ColumnEncoder.of(X, None, names, weight) if known is None else known
    return encoder, encoder.fill(X)


def _refuse_gaps(X: Any) -> None:
    """Raise if a CSR matrix has gaps: filling them would need the median of entries that are not stored."""
    if np.isnan(X.data).any():
        raise ValueError(
            "Input X contains NaN. A sparse matrix cannot have gaps; give an array or a frame, whose gaps are filled "
            "and marked, or leave the entries out if they are zeros"
        )
    assert_all_finite(X, input_name="X")


def _refuse_words(X: Any, categorical_features: Any) -> None:
    """Raise if a Dask collection has columns that are not plain numbers."""
    types = getattr(X, "dtypes", {})
    # A column of objects may hold numbers: its blocks are looked at.
    words = [str(n) for n, t in types.items() if t.kind not in "iufbcO" or t.name in ("string", "category", "str")]
    from_dtype = isinstance(categorical_features, str) and categorical_features == "from_dtype"
    if words or not (from_dtype or categorical_features is None or np.size(categorical_features) == 0):
        listed = ", ".join(map(repr, words[:5]))
        what = f"the columns {listed} are no numbers" if words else "categorical_features is set"
        raise ValueError(
            f"a Dask collection must hold numbers, but {what}; make numbers of them (dask.dataframe.get_dummies), or "
            "fit rows in memory, X.compute() or a sample of them: a model that was fitted so predicts Dask collections "
            "of such columns"
        )


def check_new(columns: Columns, X: Any, encoder: ColumnEncoder | None) -> Any:
    """Validate new rows and make inputs of them, shape (n, n_columns).

    Parameters
    ----------
    columns : Columns
        Those that the estimator was fitted with.
    X : array-like, frame or sparse matrix
        New rows.
    encoder : ColumnEncoder or None
        That of the training rows.

    Returns
    -------
    array or CSR matrix of shape (n, n_columns)
        Finite numbers.
    """
    inputs = _new_inputs(columns, X, encoder)
    check_input_sizes(inputs)
    return inputs


def _new_inputs(columns: Columns, X: Any, encoder: ColumnEncoder | None) -> Any:
    if encoder is not None and not encoder.is_numeric:
        validate_data(columns, X, skip_check_array=True, reset=False)
        return encoder.transform(X)
    gaps = "allow-nan" if encoder is not None else True
    X = validate_data(columns, X, accept_sparse="csr", dtype=np.float64, ensure_all_finite=gaps, reset=False)
    if issparse(X):
        _refuse_gaps(X)
    if encoder is None or issparse(X):
        assert_all_finite(X, input_name="X")
        return X if encoder is None or encoder.is_plain else encoder.fill(X.toarray())
    return encoder.fill(X)


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
