"""Training rows with identical (x, y) merged into one weighted row, in a canonical order.

A weight and repeated rows then give the same model exactly, the order of the rows does not matter, and leave-one-out
leaves every copy of a row out at once.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.utils.class_weight import compute_class_weight

from softmargin._linalg import Array
from softmargin.kernels import Layout
from softmargin.policy import POLICY


@dataclass(frozen=True)
class TrainingRows:
    """Merged training rows."""

    X: Any = field(repr=False)
    """Inputs of shape (n, d); for a precomputed kernel the Gram matrix of the merged rows."""
    y: Array = field(repr=False)
    """Targets, shape (n,)."""
    weight: Array = field(repr=False)
    """Summed weights, shape (n,)."""
    first: np.ndarray = field(repr=False)
    """Index of a representative original row for each merged row, shape (n,)."""
    group: np.ndarray = field(repr=False)
    """Merged row of each original row, -1 where the weight is zero; shape (n_original,)."""
    share: Array = field(repr=False)
    """Each original row's part of its merged row's weight, shape (n_original,)."""

    def subset(self, mask: np.ndarray, y: Array, *, precomputed: bool = False) -> "TrainingRows":
        """Keep the merged rows where `mask` is true (and the columns of a Gram matrix), with new targets y."""
        keep = np.flatnonzero(mask)
        position = np.full(len(mask) + 1, -1)
        position[keep] = np.arange(len(keep))
        X = self.X[keep][:, keep] if precomputed else self.X[keep]
        return TrainingRows(X, y, self.weight[keep], self.first[keep], position[self.group], self.share)

    def contested(self) -> float:
        """Share of the weight that lies on inputs which carry more than one target."""
        gap = self.X[1:] - self.X[:-1]
        # Merged rows are sorted by their inputs, so equal inputs are neighbours.
        new = np.diff(gap.indptr) > 0 if issparse(gap) else np.any(gap, axis=1)
        starts = np.flatnonzero(np.append(True, new))
        # Rows of several classes against one may share input and target.
        differ = np.minimum.reduceat(self.y, starts) < np.maximum.reduceat(self.y, starts)
        return float(np.add.reduceat(self.weight, starts) @ differ / self.weight.sum())


def merge_rows(X: Any, y: Array, weight: Array | None, *, precomputed: bool = False) -> TrainingRows:
    """Merge identical rows and drop rows of zero weight.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
        Rows of inputs.
    y : ndarray of shape (n,)
        Targets.
    weight : ndarray of shape (n,) or None
        Weight of each row, its number of copies.
    precomputed : bool
        X is a Gram matrix: its columns are merged like its rows.
    """
    total = np.ones(len(y)) if weight is None else weight
    kept = np.flatnonzero(total > 0)
    first, group = _unique(X[kept], y[kept])
    merged_weight = np.bincount(group, weights=total[kept]).astype(float)
    first = kept[first]
    full_group = np.full(len(y), -1)
    full_group[kept] = group
    merged = X[first]
    if precomputed:
        merged = merged[:, first]
    share = np.where(full_group >= 0, total / merged_weight[full_group], 0.0)
    return TrainingRows(merged, y[first], merged_weight, first, full_group, share)


def _unique(X: Any, y: Array) -> tuple[np.ndarray, np.ndarray]:
    """First index and inverse of the distinct rows of (X, y), sorted by value."""
    if issparse(X):
        X = X.sorted_indices()
        X.eliminate_zeros()
        keys = [
            (tuple(X.indices[a:b].tolist()), tuple(X.data[a:b].tolist()), float(y[i]))
            for i, (a, b) in enumerate(zip(X.indptr[:-1], X.indptr[1:]))
        ]
        index = {key: k for k, key in enumerate(sorted(set(keys)))}
        group = np.array([index[key] for key in keys])
        first = np.full(len(index), -1)
        first[group[::-1]] = np.arange(len(keys))[::-1]
        return first, group
    # Sort by the inputs first: the order must not depend on how the classes are called.
    table = np.column_stack([X, y])
    order = np.lexsort(table.T[::-1])
    ordered = table[order]
    new = np.ones(len(table), dtype=bool)
    new[1:] = np.any(ordered[1:] != ordered[:-1], axis=1)
    group = np.empty(len(table), dtype=int)
    group[order] = np.cumsum(new) - 1
    return order[new], group


def class_weights(class_weight: Any, classes: np.ndarray, index: np.ndarray, weight: Array | None) -> Array:
    """The weight of each class, shape (n_classes,); "balanced" counts a row as often as its weight says.

    Parameters
    ----------
    class_weight : dict or "balanced"
        Factor of each class; "balanced": 1/(n_classes times the share of the class).
    classes : ndarray of shape (n_classes,)
        The classes in order.
    index : ndarray of shape (n,)
        Class of each row.
    weight : ndarray of shape (n,) or None
        Weight of each row, its number of copies.
    """
    if isinstance(class_weight, str) and class_weight == "balanced":
        counts = np.bincount(index, weights=weight, minlength=len(classes))
        return np.asarray(counts.sum() / (len(classes) * np.maximum(counts, np.finfo(float).tiny)))
    return np.asarray(compute_class_weight(class_weight, classes=classes, y=classes[index]), dtype=float)


def spread_of(X: Any, weight: Array | None, layout: Layout | None = None) -> Array:
    """Weighted standard deviation of each column, 0 for a column that does not vary; shape (d,).

    An input of several columns has the root of their summed variances at the first of them, and 0 at the others: half
    the mean squared distance of two rows is then the square of an input's spread, for numbers and categories alike.
    """
    spread = _spread(X, weight)
    if layout is None or layout.is_plain:
        return spread
    leaders = np.array(layout.leaders)
    total = np.bincount(layout.groups, weights=spread**2)
    spread[:] = 0.0
    spread[leaders] = np.sqrt(total)
    return spread


def _spread(X: Any, weight: Array | None) -> Array:
    w = np.ones(X.shape[0]) if weight is None else weight
    w = w / w.sum()
    if issparse(X):
        mean = np.asarray(X.T @ w).ravel()
        # sum w (x - mean)^2 over the stored entries, and mean^2 for the zeros: the plain difference would cancel.
        stored = X.tocsr(copy=True)
        row_weight = np.repeat(w, np.diff(stored.indptr))
        squares = row_weight * (stored.data - mean[stored.indices]) ** 2
        # Without stored entries bincount gives integers.
        variance = np.bincount(stored.indices, weights=squares, minlength=X.shape[1]).astype(np.float64)
        zero_weight = 1 - np.bincount(stored.indices, weights=row_weight, minlength=X.shape[1])
        full = np.bincount(stored.indices, minlength=X.shape[1]) == X.shape[0]
        variance += np.where(full, 0.0, mean**2 * zero_weight)
        constant = np.asarray(X.max(axis=0).todense() == X.min(axis=0).todense()).ravel()
    else:
        mean = w @ X
        variance = w @ (X - mean) ** 2
        constant = np.ptp(X, axis=0) == 0
    return np.where(constant, 0.0, np.sqrt(np.maximum(variance, 0)))


def is_heavy_tailed(X: Any, weight: Array) -> NDArray[np.bool_]:
    """Which columns have many distinct values and a skew or a kurtosis that is large, shape (d,); none of a CSR matrix.

    Such a column has no single length scale: its standard deviation is that of its tails, or of a few gross errors.
    """
    found = np.zeros(X.shape[1], dtype=bool)
    if issparse(X):
        return found
    share = weight / weight.sum()
    for j, column in enumerate(np.asarray(X, dtype=np.float64).T):
        if len(np.unique(column)) <= POLICY.stack.few_values:
            continue
        # A power of two: nothing is rounded, and the moments of extreme values do not overflow.
        centred = column / 2.0 ** np.frexp(np.abs(column).max())[1]
        centred = centred - share @ centred
        variance = share @ centred**2
        skewed = abs(share @ centred**3) >= POLICY.stack.skew * variance**1.5
        found[j] = variance > 0 and (skewed or share @ centred**4 >= POLICY.stack.kurtosis * variance**2)
    return found
