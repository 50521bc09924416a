"""Which inputs matter: how much the prediction changes along each of them.

For a number, the root mean square over the training rows of the derivative of the prediction (log-odds,
log-probabilities, or mean) times the input's spread. For a category, the root mean square change of the prediction when
the category is replaced by one drawn at random, over sqrt(2): for a column of zeros and ones and a linear prediction
both are the same number. All of them are scaled to sum 1.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.sparse import issparse

from softmargin._linalg import Array

Outputs = Callable[[Any], Array]
"""From rows to outputs, shape (n, n_outputs)."""
Slopes = Callable[[Any], Array]
"""From rows to the derivatives of the outputs, shape (n, n_outputs, d)."""

ROWS = 1000
"""Training rows that are looked at, evenly spaced: a root mean square of more is the same to a few per cent."""
BLOCK_ROWS = 256
STEP = 1e-4
"""Of central differences, in standard deviations of a column: errors of 1e-8 in both truncation and rounding."""


def importance(
    outputs: Outputs, slopes: Slopes, X: Any, weight: Array, spread: Array, categories: Sequence[int] = ()
) -> Array:
    """Importance of every input, shape (d,), sums to 1; zeros if the prediction is constant.

    Parameters
    ----------
    outputs, slopes : callable
        The prediction and its derivatives.
    X : array or CSR matrix of shape (n, d)
        Training rows.
    weight : ndarray of shape (n,)
    spread : ndarray of shape (d,)
        Standard deviation of every input.
    categories : sequence of int
        Columns whose numbers are names of categories.
    """
    some = np.unique(np.linspace(0, X.shape[0] - 1, min(ROWS, X.shape[0])).round().astype(int))
    X, weight = X[some], weight[some] / weight[some].sum()
    squares = np.zeros(X.shape[1])
    for first in range(0, X.shape[0], BLOCK_ROWS):
        s = slice(first, first + BLOCK_ROWS)
        squares += weight[s] @ np.mean(slopes(X[s]) ** 2, axis=1)
    found = np.sqrt(squares) * spread
    for column in categories:
        found[column] = _change(outputs, X, weight, column)
    total = found.sum()
    return found / total if total > 0 else np.zeros_like(found)


def _change(outputs: Outputs, X: Any, weight: Array, column: int) -> float:
    """Root mean square change of the outputs when a column's value is drawn anew, over sqrt(2)."""
    values, index = np.unique(np.asarray(X[:, column]), return_inverse=True)
    share = np.bincount(index, weights=weight)
    before, total = outputs(X), 0.0
    for value, p in zip(values, share):
        changed = np.array(X, dtype=np.float64)
        changed[:, column] = value
        total += p * float(weight @ np.mean((outputs(changed) - before) ** 2, axis=1))
    return float(np.sqrt(0.5 * total))


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
