"""Which sizes of numbers are too large or too small: their squares and cubes must be numbers too."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

LARGEST = 1e100
"""Of inputs and targets: a variance is its square, and kernels of scaled targets are ratios of such."""
SMALLEST = 1e-100
"""Of the largest entry of a column that varies."""


def input_size_fault(X: Any, names: Sequence[str] | None = None, *, training: bool = True) -> str:
    """What is wrong with the sizes of inputs of shape (n, d); empty if nothing is.

    Parameters
    ----------
    X : array or CSR matrix of finite numbers
    names : sequence of str, optional
        Of the columns.
    training : bool
        Whether a column of tiny numbers is refused too; a new row of such is as good as zero.
    """
    if 0 in X.shape:
        return ""
    low, high = _range(X)
    largest = np.maximum(-low, high)
    too_large = largest > LARGEST
    if np.any(too_large):
        column = int(np.argmax(too_large))
        return f"{_name(column, names)} of X holds numbers up to {largest[column]:.2g}, {_remedy('large')}"
    too_small = (largest < SMALLEST) & (low < high)
    if training and np.any(too_small):
        column = int(np.argmax(too_small))
        return f"{_name(column, names)} of X holds no number above {largest[column]:.2g}, {_remedy('small')}"
    return ""


def target_size_fault(y: NDArray[Any]) -> str:
    """What is wrong with the sizes of targets of shape (n,); empty if nothing is."""
    values = np.asarray(y, dtype=np.float64)
    largest = float(np.abs(values).max(initial=0.0))
    if largest > LARGEST:
        return f"y holds numbers up to {largest:.2g}, {_remedy('large')}"
    if largest < SMALLEST and np.any(values != values[:1]):
        return f"y holds no number above {largest:.2g}, {_remedy('small')}"
    return ""


def check_input_sizes(X: Any) -> None:
    """Raise a ValueError if new rows hold numbers that are too large."""
    fault = input_size_fault(X, training=False)
    if fault:
        raise ValueError(fault)


def check_sample_sizes(X: Any, y: Any = None) -> None:
    """Raise a ValueError if a sample of all blocks holds nothing but tiny numbers: one block cannot know that."""
    fault = input_size_fault(X) or ("" if y is None else target_size_fault(y))
    if fault:
        raise ValueError(fault)


def _range(X: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Smallest and largest entry of each column, shape (d,) each."""
    if issparse(X):
        low, high = X.min(axis=0).toarray(), X.max(axis=0).toarray()
        return low.ravel().astype(np.float64), high.ravel().astype(np.float64)
    return np.min(X, axis=0).astype(np.float64), np.max(X, axis=0).astype(np.float64)


def _remedy(how: str) -> str:
    limit, verb = (LARGEST, "divide") if how == "large" else (SMALLEST, "multiply")
    return f"whose squares are out of range (the limit is {limit:g}); {verb} by a constant first"


def _name(column: int, names: Sequence[str] | None) -> str:
    return f"column {column if names is None else names[column]}"
