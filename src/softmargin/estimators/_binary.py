"""A classification as binary problems: one, one for each pair of classes, or one for each class against the rest."""

from itertools import combinations
from typing import Any

import numpy as np

from softmargin._linalg import Array
from softmargin.rows import TrainingRows, class_weights

Pair = tuple[int, int]
"""Indices (a, b) of the classes called -1 and +1; a is -1 where it stands for all the rest."""


def weigh_classes(class_weight: Any, classes: np.ndarray, index: np.ndarray, weight: Array | None) -> Array | None:
    """Multiply the weights by those of the classes; every class must keep a row."""
    if class_weight is not None:
        each = class_weights(class_weight, classes, index, weight)
        weight = each[index] if weight is None else weight * each[index]
    if weight is not None and len(np.unique(index[weight > 0])) < len(classes):
        raise ValueError(
            "sample_weight or class_weight removes every row of a class: give each class a row with positive weight"
        )
    return weight


def check_classes(classes: np.ndarray) -> None:
    """Raise unless there are at least two classes."""
    if len(classes) < 2:
        raise ValueError(
            f"BayesianSVC needs at least 2 classes in y, got 1 class: {classes[0]!r}. "
            "Check that y has the labels and not one constant"
        )


def pairs_of(n_classes: int, multi_class: str) -> list[Pair]:
    """The binary problems of `multi_class`."""
    if n_classes == 2 or multi_class == "ovo":
        return list(combinations(range(n_classes), 2))
    return [(-1, b) for b in range(n_classes)]


def seen_by(pair: Pair, index: np.ndarray) -> np.ndarray:
    """Which rows of the given classes take part in a binary problem, shape (n,)."""
    a, b = pair
    return (index == a) | (index == b) | (a < 0)


def rows_of(rows: TrainingRows, pair: Pair, *, precomputed: bool) -> TrainingRows:
    """The rows of a binary problem, with targets -1 and +1."""
    mask = seen_by(pair, rows.y)
    return rows.subset(mask, np.where(rows.y[mask] == pair[1], 1.0, -1.0), precomputed=precomputed)
