"""Inducing points: k-means centres of the inputs in units of the length scales."""

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.gaussian_process.kernels import Kernel
from sklearn.utils import check_random_state

from softmargin._linalg import Array
from softmargin.kernels import column_scales
from softmargin.policy import POLICY


def inducing_points(X: Any, kernel: Kernel, n_inducing: int, random_state: Any = 0) -> Array:
    """Choose inducing points by k-means on ``X / length_scale``, so that irrelevant inputs do not spread them.

    Parameters
    ----------
    X : array, memmap or CSR matrix of shape (n, d)
        Rows of inputs.
    kernel : Kernel
        Its first length scales set the units; a kernel without any leaves the inputs as they are.
    n_inducing : int
        At most n are returned.
    random_state : int, RandomState or None
        Seed of the draws; None: other draws at every call.

    Returns
    -------
    ndarray of shape (m, d), m <= n_inducing
        Chosen inputs.

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> inducing_points(np.array([[0.0], [0.1], [5.0], [5.1]]), RBF(1.0), 2).round(2).tolist()
    [[0.05], [5.05]]
    """
    rng = check_random_state(random_state)
    rows = X[_subset(X.shape[0], POLICY.size.rows_per_centre * n_inducing, rng)]
    rows = rows.toarray() if sparse.issparse(rows) else np.asarray(rows, dtype=np.float64)
    if len(rows) <= n_inducing:
        return np.unique(rows, axis=0)
    scale = column_scales(kernel, X.shape[1])
    scaled = rows / scale
    if len(np.unique(scaled, axis=0)) <= n_inducing:
        return np.unique(rows, axis=0)
    # Not needed by every fit, and slow to import.
    from sklearn.cluster import KMeans, MiniBatchKMeans

    method = KMeans if len(rows) <= 4000 else MiniBatchKMeans
    seed = rng.randint(2**31 - 1)
    extra = {"batch_size": 4096, "reassignment_ratio": 0.0} if method is MiniBatchKMeans else {}
    means = method(n_inducing, n_init=1, max_iter=20, random_state=seed, **extra).fit(scaled[_own_order(scaled)])
    centres = means.cluster_centers_ * scale
    return centres[np.lexsort(centres.T[::-1])]


def _own_order(rows: Array) -> Any:
    """Sort rows by what the order of the columns does not change: random numbers then belong to the same rows.

    Sums over the columns, of squares and of cubes, and with weights that are each column's own.
    """
    # Differences from the least value, unlike those from a mean, are not rounded in an order of the rows.
    u = rows - rows.min(axis=0)
    keys = np.stack([(u**2).sum(axis=1), (u**3).sum(axis=1), u @ np.sort(u, axis=0).sum(axis=0)])
    largest = np.maximum(keys.max(axis=1, keepdims=True), np.finfo(float).tiny)
    return np.lexsort((*rows.T, *np.round(keys / largest, 9)[::-1]))


def _subset(n: int, size: int, rng: np.random.RandomState) -> Any:
    """All rows, or a sorted random sample of them (sorted: a memory map is then read in order)."""
    return slice(None) if n <= size else np.sort(rng.choice(n, size, replace=False))
