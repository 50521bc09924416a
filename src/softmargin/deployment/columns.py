"""The columns of a table as nodes of a graph: what `ColumnEncoder.transform` does with them.

A table of numbers is one input ``X``, nan for a gap. A table with categories has an input of shape (n, 1) for each
column, named as the column is (``x0``, ``x1``, ... without names), as scikit-learn pipelines have in ONNX: strings for
categories of words, with the empty string for a gap, and numbers for all others.
"""

from typing import Any

import numpy as np

from softmargin.deployment.graph import Graph, Tensor, concat, lookup
from softmargin.deployment.kernels import ExportError
from softmargin.rows import CategoryColumn, ColumnEncoder, DateColumn, NumberColumn

DOUBLE, STRING = 11, 8
"""ONNX's numbers for double precision and strings."""
ML = "ai.onnx.ml"
Inputs = list[tuple[str, int, list[int | None]]]
"""Name, type and shape of each input."""


def encoded(encoder: ColumnEncoder | None, n_features: int, graph: Graph) -> tuple[Tensor, Inputs]:
    """The rows that the kernels see, shape (n, n_columns), and the inputs that they are made of."""
    whole: Inputs = [("X", DOUBLE, [None, n_features])]
    if encoder is None:
        return Tensor(graph, "X"), whole
    if encoder.is_numeric:
        X = Tensor(graph, "X")
        if encoder.is_plain:
            medians = np.array([[column.median for column in encoder.columns]])
            return graph.call("IsNaN", X).where(medians, X), whole
        return concat([_number(column, X.columns(j, j + 1)) for j, column in enumerate(encoder.columns)]), whole
    names = encoder.names or tuple(f"x{j}" for j in range(n_features))
    parts, inputs = [], []
    for name, column in zip(names, encoder.columns):
        part, kind = _column(column, Tensor(graph, name))
        parts.append(part)
        inputs.append((name, kind, [None, 1]))
    return concat(parts), inputs


def _column(column: Any, cells: Tensor) -> tuple[Tensor, int]:
    """The encoded column and the type of its cells."""
    if isinstance(column, DateColumn):
        raise ExportError(
            f"column {cells.name!r} holds dates, which have no ONNX graph; give their year and day of the year as two "
            "columns of numbers"
        )
    if isinstance(column, NumberColumn):
        return _number(column, cells), DOUBLE
    assert isinstance(column, CategoryColumn)
    known = [value for value in column.categories if value is not None]
    if all(isinstance(value, str) for value in known):
        return _words(column, cells), STRING
    if any(isinstance(value, str) for value in known):
        raise ExportError(f"column {cells.name!r} mixes words and numbers, which has no ONNX graph; make strings of it")
    return _codes(column, cells), DOUBLE


def _number(column: NumberColumn, cells: Tensor) -> Tensor:
    """The number, gaps filled, and the mark of a gap; shape (n, 1 or 2)."""
    gap = cells.graph.call("IsNaN", cells)
    filled = gap.where(float(column.median), cells)
    return concat([filled, column.gap * gap.as_float()]) if column.gap else filled


def _words(column: CategoryColumn, cells: Tensor) -> Tensor:
    """Zeros and ones, shape (n, n_categories + 1); the empty string is a gap unless it is a category."""
    other = len(column.categories)
    index = {("" if value is None else value): k for k, value in reversed(list(enumerate(column.categories)))}
    found = cells.graph.call(
        "LabelEncoder", cells, domain=ML, keys_strings=list(index), values_int64s=list(index.values()),
        default_int64=other,
    )  # fmt: skip
    return lookup(np.eye(other + 1), found.squeeze())


def _codes(column: CategoryColumn, cells: Tensor) -> Tensor:
    """The same of categories that are numbers, nan for a gap."""
    parts = []
    for value in column.categories:
        hit = cells.graph.call("IsNaN", cells) if value is None else cells.graph.call("Equal", cells, float(value))
        parts.append(hit.as_float())
    known = concat(parts)
    return concat([known, 1.0 - known.sum()])
