"""From tables to rows of numbers: one encoder for pandas and polars frames, arrays with gaps and the command line.

Frames are read through narwhals, column by column. By default (``categorical_features="from_dtype"``) strings,
categories and enumerations are categories, booleans and durations are numbers, and dates are dates.
"""

import datetime
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from scipy.sparse import issparse

from softmargin._linalg import Array
from softmargin.kernels import Layout
from softmargin.rows.columns import CategoryColumn, DateColumn, NumberColumn

KINDS: dict[str, Any] = {"number": NumberColumn, "category": CategoryColumn, "date": DateColumn}


@dataclass(frozen=True)
class FrameCells:
    """A column of a frame."""

    series: Any = field(repr=False)

    @property
    def name(self) -> str:
        """In quotes."""
        return repr(self.series.name)

    @property
    def kind(self) -> str:
        """What its type says that it is: "number", "category" or "date"; "" if it is nothing that can be used."""
        dtype = self.series.dtype
        if dtype.is_numeric() or dtype in (nw.Boolean, nw.Duration):
            return "number"
        if dtype in (nw.String, nw.Categorical, nw.Enum):
            return "category"
        if dtype in (nw.Date, nw.Datetime):
            return "date"
        if dtype == nw.Object:
            return _kind_of([value for value in self.series.to_list() if not _is_gap(value)])
        return "number" if self.series.null_count() == len(self.series) else ""

    def numbers(self) -> Array:
        """Numbers, nan where there is a gap."""
        if self.series.dtype == nw.Duration:
            spans = np.asarray(self.series.to_numpy()).astype("timedelta64[ns]")
            return np.where(np.isnat(spans), np.nan, spans.astype(np.int64) / 1e9)
        if self.series.dtype.is_numeric():
            return _finite(np.asarray(self.series.cast(nw.Float64).to_numpy(), dtype=np.float64), self.name)
        return _as_numbers(self.series.to_list(), self.name)

    def values(self) -> list[Any]:
        """Values that can be compared, None where there is a gap."""
        return _as_values(self.series.to_list())

    def dates(self) -> Any:
        """datetime64[s], NaT where there is a gap."""
        return _as_dates(self.series.to_list(), self.name)


@dataclass(frozen=True)
class ArrayCells:
    """A column of an array, which has no type of its own."""

    array: Any = field(repr=False)
    name: str

    @property
    def kind(self) -> str:
        """A number."""
        return "number"

    def numbers(self) -> Array:
        """Numbers, nan where there is a gap."""
        if self.array.dtype.kind in "fiub":
            return _finite(np.asarray(self.array, dtype=np.float64), self.name)
        return _as_numbers(self.array.tolist(), self.name)

    def values(self) -> list[Any]:
        """Values that can be compared, None where there is a gap."""
        return _as_values(self.array.tolist())

    def dates(self) -> Any:
        """datetime64[s], NaT where there is a gap."""
        return _as_dates(self.array.tolist(), self.name)


def is_frame(X: Any) -> bool:
    """Whether X is a frame in memory that narwhals knows: of pandas, polars, PyArrow, ..."""
    return isinstance(nw.from_native(X, eager_only=True, pass_through=True), nw.DataFrame)


def has_words(X: Any) -> bool:
    """Whether a frame has columns that are not plain numbers."""
    return any(
        not (kind.is_numeric() or kind == nw.Boolean) for kind in nw.from_native(X, eager_only=True).schema.values()
    )


def cells_of(X: Any) -> list[Any]:
    """The columns of a frame, or of an array-like of shape (n, d)."""
    if is_frame(X):
        frame = nw.from_native(X, eager_only=True)
        return [FrameCells(frame[:, j]) for j in range(frame.shape[1])]
    array = X if isinstance(X, np.ndarray) else np.array([list(row) for row in X], dtype=object)
    if array.ndim != 2:
        raise ValueError(f"Expected 2D array, got {array.ndim}D array instead; X must have two dimensions")
    return [ArrayCells(array[:, j], str(j)) for j in range(array.shape[1])]


@dataclass(frozen=True)
class ColumnEncoder:
    """What the columns of a table are, learnt from training rows, and how they become inputs.

    A fitted estimator has it as `encoder_`: ``model.encoder_.transform(X)`` are the inputs that its kernel sees.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"age": [20.0, None, 40.0], "town": ["Rome", "Oslo", "Rome"]})
    >>> encoder = ColumnEncoder.of(frame)
    >>> encoder.transform(frame)
    array([[20.,  0.,  0.,  1.,  0.],
           [30., 10.,  1.,  0.,  0.],
           [40.,  0.,  0.,  1.,  0.]])
    >>> encoder.input_names
    ['age', 'age is missing', 'town']
    """

    columns: tuple[Any, ...]
    """A `NumberColumn`, `CategoryColumn` or `DateColumn` for each column of the table."""
    names: tuple[str, ...] | None = None

    @classmethod
    def of(
        cls, X: Any, categorical_features: Any = "from_dtype", names: Any = None, weight: Array | None = None
    ) -> "ColumnEncoder":
        """Learn the columns from training rows.

        Parameters
        ----------
        X : frame or array-like of shape (n, d)
        categorical_features : "from_dtype", array-like or None
            As in `BayesianSVC`.
        names : array-like of shape (d,), optional
            Default: those of the frame.
        weight : ndarray of shape (n,), optional
            Number of copies of each row.
        """
        cells = cells_of(X)
        if names is None and is_frame(X):
            names = nw.from_native(X, eager_only=True).columns
        names = None if names is None else tuple(str(name) for name in names)
        chosen = categorical_columns(categorical_features, len(cells), names)
        kinds = [_chosen_kind(cell, None if chosen is None else j in chosen) for j, cell in enumerate(cells)]
        return cls(tuple(KINDS[kind].of(cell, weight) for kind, cell in zip(kinds, cells)), names)

    def __getstate__(self) -> dict[str, Any]:
        """Columns of numbers as one array: a file with thousands of objects would take long to write and to read."""
        if not self.is_numeric:
            return {"columns": self.columns, "names": self.names}
        return {"numbers": np.array([(c.median, c.gap, c.share) for c in self.columns]), "names": self.names}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """The reverse of `__getstate__`."""
        numbers = state.get("numbers")
        columns = state["columns"] if numbers is None else tuple(NumberColumn(*row) for row in numbers.tolist())
        object.__setattr__(self, "columns", columns)
        object.__setattr__(self, "names", state["names"])

    @property
    def is_plain(self) -> bool:
        """Whether every column is a number that had no gaps."""
        return all(isinstance(column, NumberColumn) and not column.gap for column in self.columns)

    @property
    def is_numeric(self) -> bool:
        """Whether every column is a number."""
        return all(isinstance(column, NumberColumn) for column in self.columns)

    @property
    def layout(self) -> Layout:
        """Where the columns of the table are in the rows."""
        groups: list[int] = []
        columns: list[int] = []
        for j, column in enumerate(self.columns):
            groups += [len(columns) + group for group in column.groups]
            columns += [j] * (max(column.groups) + 1)
        return Layout(tuple(groups), tuple(columns), self.names)

    @property
    def input_names(self) -> list[str]:
        """A name for each input, in the order of the kernel's length scales."""
        names: list[str] = []
        for j, column in enumerate(self.columns):
            name = f"x{j}" if self.names is None else self.names[j]
            dated = [f"{name} (year)", f"{name} (day of year)"] if isinstance(column, DateColumn) else [name]
            names += [*dated, f"{name} is missing"][: max(column.groups) + 1]
        return names

    def transform(self, X: Any) -> Array:
        """The rows of inputs, shape (n, n_columns).

        Parameters
        ----------
        X : frame or array-like of shape (n, d)
            With the columns of the training rows, in their order.
        """
        cells = cells_of(X)
        if len(cells) != len(self.columns):
            raise ValueError(f"X has {len(cells)} columns, but {len(self.columns)} were fitted")
        return np.column_stack([column.encode(cell) for column, cell in zip(self.columns, cells)])

    def fill(self, X: Array) -> Array:
        """The same for an array of numbers with nan for gaps; X itself where there is nothing to do."""
        if self.is_plain:
            with np.errstate(over="ignore", invalid="ignore"):
                gaps = np.isnan(X.sum(axis=0))
            if not gaps.any() or not np.isnan(X[:, gaps]).any():
                return X
        return self.transform(X)


def categorical_columns(chosen: Any, n_columns: int, names: tuple[str, ...] | None) -> set[int] | None:
    """Numbers of the columns that a user called categories; None: their types say so.

    Parameters
    ----------
    chosen : "from_dtype", None, or array-like of str, int or bool
    n_columns : int
    names : tuple of str or None
    """
    if isinstance(chosen, str):
        if chosen == "from_dtype":
            return None
        chosen = [chosen]
    listed = [] if chosen is None else np.asarray(chosen).tolist()
    if not isinstance(listed, list):
        listed = [listed]
    if listed and all(isinstance(c, bool) for c in listed):
        if len(listed) != n_columns:
            raise ValueError(f"categorical_features is a mask of {len(listed)} columns, but X has {n_columns}")
        return {j for j, yes in enumerate(listed) if yes}
    found = set()
    for column in listed:
        if isinstance(column, str) and names is not None and column in names:
            found.add(names.index(column))
        elif isinstance(column, int) and not isinstance(column, bool) and 0 <= column < n_columns:
            found.add(column)
        else:
            there = f"0 to {n_columns - 1}" if names is None else ", ".join(map(repr, names))
            raise ValueError(
                f"categorical_features has {column!r}, which is no column of X ({there}); give names, numbers, a mask, "
                "None or 'from_dtype'"
            )
    return found


def _chosen_kind(cells: Any, is_category: bool | None) -> str:
    """What a column is; `is_category` is what the user said, or None."""
    if is_category:
        return "category"
    kind = str(cells.kind)
    if kind == "":
        raise ValueError(
            f"column {cells.name} has the type {cells.series.dtype}, which is no number, category or date; leave it "
            "out, or make numbers or strings of it"
        )
    if kind == "category" and is_category is False:
        raise ValueError(
            f"column {cells.name} holds words and is not among categorical_features; add it there, or use "
            "categorical_features='from_dtype'"
        )
    return kind


def _kind_of(values: list[Any]) -> str:
    """What Python objects are; gaps are left out."""
    if all(isinstance(value, Real | bool | np.bool_) or type(value).__name__ == "Decimal" for value in values):
        return "number"
    if all(isinstance(value, datetime.date) for value in values):
        return "date"
    return "category" if all(isinstance(value, str | Real | bool | datetime.date) for value in values) else ""


def _is_gap(value: Any) -> bool:
    """None, nan, NaT and pandas' NA: those that are not equal to themselves."""
    if value is None:
        return True
    equal = value == value
    return type(value).__name__ in ("NAType", "NaTType") or (isinstance(equal, bool | np.bool_) and not equal)


def _as_values(values: list[Any]) -> list[Any]:
    mixed = len({str if isinstance(v, str) else Real for v in values if not _is_gap(v)}) > 1
    if mixed:
        return [None if _is_gap(value) else str(value) for value in values]
    return [None if _is_gap(value) else value for value in values]


def _as_numbers(values: list[Any], name: str) -> Array:
    try:
        return _finite(np.array([np.nan if _is_gap(value) else float(value) for value in values]), name)
    except (TypeError, ValueError) as error:
        raise ValueError(f"column {name} held numbers, but here it has a value that is none: {error}") from error


def _as_dates(values: list[Any], name: str) -> Any:
    known = [np.datetime64("NaT", "s") if _is_gap(value) else value for value in values]
    wrong = [value for value in known if not isinstance(value, datetime.date | np.datetime64)]
    if wrong:
        raise ValueError(f"column {name} held dates, but here it has {wrong[0]!r}; make dates of it")
    plain = [value.replace(tzinfo=None) if isinstance(value, datetime.datetime) else value for value in known]
    return np.array(plain, dtype="datetime64[s]")


def _finite(numbers: Array, name: str) -> Array:
    if np.isinf(numbers).any():
        raise ValueError(f"Input X contains infinity or a value too large for dtype('float64') in column {name}.")
    return numbers


def needs_encoder(X: Any, categorical_features: Any) -> bool:
    """Whether rows cannot be read as an array of numbers."""
    if issparse(X):
        return False
    from_dtype = isinstance(categorical_features, str) and categorical_features == "from_dtype"
    if is_frame(X) and has_words(X):
        return True
    listed = not from_dtype and categorical_features is not None and np.size(categorical_features) > 0
    return bool(listed)
