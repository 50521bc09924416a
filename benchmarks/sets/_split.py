"""Training and held-out rows of a set, the same for every method, version and machine."""

import zlib
from typing import NamedTuple, Protocol

import numpy as np
from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit

MAX_TEST = 2000
MIN_TEST = 40
MIN_CLASS = 3
"""Expected training rows of the rarest class."""


class DataSet(Protocol):
    """Something that gives inputs and a target; generated ones are drawn anew for every seed."""

    def load(self, seed: int) -> tuple[np.ndarray, np.ndarray]: ...


class Split(NamedTuple):
    """Training and test rows; `checksum` tells two splits apart."""

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray
    checksum: int


def labels_of(y: np.ndarray) -> np.ndarray:
    """Labels 0..k-1."""
    return np.unique(y, return_inverse=True)[1]


def takes_part(data: DataSet, n: int, *, is_classifier: bool) -> bool:
    """Whether a set has enough rows for n training rows, `MIN_TEST` others and `MIN_CLASS` of its rarest class."""
    y = data.load(0)[1]
    if len(y) < n + MIN_TEST:
        return False
    return not is_classifier or n * np.bincount(labels_of(y)).min() / len(y) >= MIN_CLASS


def split_of(data: DataSet, n: int, seed: int, *, is_classifier: bool) -> Split:
    """n training rows (stratified by class) and at most `MAX_TEST` of the others."""
    X, y = data.load(seed)
    y = labels_of(y) if is_classifier else np.asarray(y, dtype=float)
    splitter = StratifiedShuffleSplit if is_classifier else ShuffleSplit
    n_test = min(MAX_TEST, len(y) - n)
    train, test = next(splitter(1, train_size=n, test_size=n_test, random_state=seed).split(X, y))
    checksum = zlib.crc32(X[train].tobytes() + y[train].tobytes() + y[test].tobytes())
    return Split(X[train], y[train], X[test], y[test], checksum)
