"""Which inputs matter: how much the prediction changes along each of them.

For a number, the root mean square over the training rows of the derivative of the prediction (log-odds,
log-probabilities, or mean) times the input's spread. For a category, the root mean square change of the prediction when
the category is replaced by one drawn at random, over sqrt(2): for a column of zeros and ones and a linear prediction
both are the same number. A column with heavy tails, whose standard deviation a few rows decide, counts in its normal
scores (`Warp`). Inputs of one column of the table (a number and its gaps) add up in squares, and all of them
are scaled to sum 1.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.gaussian_process.kernels import Kernel

from softmargin._linalg import Array
from softmargin.kernels import Layout, roles
from softmargin.machines.warp import Warp
from softmargin.policy import POLICY

Outputs = Callable[[Any], Array]
"""From rows to outputs, shape (n, n_outputs)."""
Slopes = Callable[[Any], Array]
"""From rows to the derivatives of the outputs, shape (n, n_outputs, d)."""

BLOCK_ROWS = 256
STEP = 1e-4
"""Of central differences, in standard deviations of a column: errors of 1e-8 in both truncation and rounding."""


def importance(
    outputs: Outputs,
    slopes: Slopes,
    X: Any,
    weight: Array,
    spread: Array,
    layout: Layout | None = None,
    warp: Warp | None = None,
) -> Array:
    """Importance of every column of the table, shape (d,), sums to 1; zeros if the prediction is constant.

    Parameters
    ----------
    outputs, slopes : callable
        The prediction and its derivatives.
    X : array or CSR matrix of shape (n, D)
        Training rows.
    weight : ndarray of shape (n,)
    spread : ndarray of shape (D,)
        Standard deviation of every column of the rows.
    layout : Layout, optional
        An input of several columns is a category. None: every column of the rows is one of the table.
    warp : Warp, optional
        Its columns are measured along the scores that it maps them to.
    """
    some = np.unique(np.linspace(0, X.shape[0] - 1, min(POLICY.size.importance_rows, X.shape[0])).round().astype(int))
    X, weight = X[some], weight[some] / weight[some].sum()
    squares = np.zeros(X.shape[1])
    for first in range(0, X.shape[0], BLOCK_ROWS):
        s = slice(first, first + BLOCK_ROWS)
        units = spread if warp is None else warp.units(X[s], spread)[:, None, :]
        squares += weight[s] @ np.mean((slopes(X[s]) * units) ** 2, axis=1)
    found = np.sqrt(squares) if layout is None else _by_table(outputs, X, weight, squares, layout)
    total = found.sum()
    return found / total if total > 0 else np.zeros_like(found)


def _by_table(outputs: Outputs, X: Any, weight: Array, squares: Array, layout: Layout) -> Array:
    """Root mean squares of the columns of the table, shape (d,), from those of the rows' columns, squared."""
    groups, total = np.asarray(layout.groups), np.zeros(layout.n_columns)
    for group, column in enumerate(layout.columns):
        members = np.flatnonzero(groups == group)
        total[column] += squares[members[0]] if len(members) == 1 else _change(outputs, X, weight, members)
    return np.sqrt(total)


def _change(outputs: Outputs, X: Any, weight: Array, columns: np.ndarray) -> float:
    """Mean square change of the outputs when the category in these columns is drawn anew, over 2."""
    X = X.toarray() if issparse(X) else np.asarray(X, dtype=np.float64)
    values, index = np.unique(X[:, columns], axis=0, return_inverse=True)
    share = np.bincount(index.ravel(), weights=weight)
    before, total = outputs(X), 0.0
    for value, p in zip(values, share):
        changed = X.copy()
        changed[:, columns] = value
        total += p * float(weight @ np.mean((outputs(changed) - before) ** 2, axis=1))
    return 0.5 * total


def differences(outputs: Outputs, X: Any) -> Array:
    """Derivatives of the outputs by central differences, shape (n, n_outputs, d)."""
    X = X.toarray() if issparse(X) else np.asarray(X, dtype=np.float64)
    step = STEP * X.std(axis=0)
    step[step == 0] = STEP
    columns = []
    for a, h in enumerate(step):
        shift = np.zeros(X.shape[1])
        shift[a] = h
        columns.append((outputs(X + shift) - outputs(X - shift)) / (2 * h))
    return np.stack(columns, axis=2)


def relevance(kernel: Kernel, spread: Array, layout: Layout | None = None) -> Array | None:
    """Inverse length scale of each input in units of its spread, the largest scaled to 1; None if there are none.

    A column of a table that is several inputs has that of the most relevant one.
    """
    result = np.zeros(len(spread))
    found = False
    for role, theta in zip(roles(kernel, len(spread)), kernel.theta):
        if role.kind == "length_scale":
            inputs = slice(None) if role.input is None else role.input
            result[inputs] = np.maximum(result[inputs], spread[inputs] / np.exp(theta))
            found = True
    if not found:
        return None
    if layout is not None:
        result = layout.by_table(result)
    top = result.max(initial=0.0)
    return result / top if top > 0 else result
