"""The classes of a fit: that there are two, and what their weights do to the odds."""

from typing import Any

import numpy as np
from sklearn.utils.class_weight import compute_class_weight

from softmargin._linalg import Array


def check_classes(classes: np.ndarray) -> None:
    """Raise unless there are at least two classes."""
    if len(classes) < 2:
        raise ValueError(
            f"BayesianSVC needs at least 2 classes in y, got 1 class: {classes[0]!r}. "
            "Check that y has the labels and not one constant"
        )


def log_class_weights(class_weight: Any, classes: np.ndarray, index: np.ndarray, weight: Array) -> Array | None:
    """ln of the factor of each class's odds, shape (n_classes,); None without class weights.

    Every class must keep a row of positive weight. "balanced" makes all classes equally probable before anything is
    known of a row: a class of share s has the factor 1/(n_classes s).
    """
    counts = np.bincount(index, weights=weight, minlength=len(classes))
    if not np.all(counts > 0):
        raise ValueError("sample_weight removes every row of a class: give each class a row with positive weight")
    if class_weight is None:
        return None
    if isinstance(class_weight, str) and class_weight == "balanced":
        return np.asarray(np.log(counts.sum() / (len(classes) * counts)))
    factors = np.asarray(compute_class_weight(class_weight, classes=classes, y=classes[index]), dtype=float)
    if not np.all((factors > 0) & np.isfinite(factors)):
        worst = classes[int(np.argmin(np.where(np.isfinite(factors), factors, -np.inf)))]
        raise ValueError(
            f"class_weight={class_weight!r} must give every class a positive finite factor; class {worst!r} has none. "
            "Leave rows of a class out with sample_weight instead"
        )
    return np.log(factors)
