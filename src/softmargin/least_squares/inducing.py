"""Inducing points: k-means centres in units of the length scales, and rows that are hard to predict."""

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.gaussian_process.kernels import Kernel

from softmargin._linalg import Array
from softmargin.kernels import column_scales
from softmargin.policy import POLICY


def centres(X: Any, kernel: Kernel, m: int, rng: np.random.RandomState) -> Any:
    """Return about m centres of the rows, shape (<= m, d): k-means on X / length_scale; of CSR rows a sample of them.

    Sparse centres would be dense, hence the sample.
    """
    n = X.shape[0]
    if sparse.issparse(X):
        return X[np.sort(rng.choice(n, min(n, m), replace=False))]
    some = X[rng.choice(n, min(n, POLICY.size.rows_per_centre * m), replace=False)]
    scale = column_scales(kernel, X.shape[1])
    rows = np.unique(np.asarray(some, dtype=np.float64), axis=0) / scale
    if len(rows) <= m:
        return rows * scale
    means = rows[rng.choice(len(rows), m, replace=False)]
    for _ in range(POLICY.least_squares.sweeps):
        means = _lloyd(rows, means)
    return means * scale


def _lloyd(rows: Array, means: Array) -> Array:
    """One sweep of k-means; a centre without rows stays where it is."""
    norms = np.einsum("ij,ij->i", means, means)
    nearest = np.concatenate(
        [np.argmin(norms - 2.0 * (rows[a : a + 1024] @ means.T), axis=1) for a in range(0, len(rows), 1024)]
    )
    member = sparse.csr_array((np.ones(len(rows)), (nearest, np.arange(len(rows)))), shape=(len(means), len(rows)))
    count = np.asarray(member.sum(axis=1)).ravel()
    return np.where(count[:, None] > 0, (member @ rows) / np.maximum(count, 1.0)[:, None], means)


def hard_points(X: Any, miss: Array, kernel: Kernel, m: int, share: float, rng: np.random.RandomState) -> Any:
    """Draw `share` of m points among the rows in proportion to `miss`, and take centres for the others.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
        Rows of inputs.
    miss : ndarray of shape (n,)
        A pilot's leave-one-out 1 - p(truth) of each row.
    kernel : Kernel
        Covariance of the prior.
    m : int
        Number of points.
    share : float
        Part of the points that are drawn among the rows.
    rng : RandomState
        Source of the random draws.
    """
    n_hard = min(int(share * m), X.shape[0])
    # A little of the uniform distribution, so that n_hard rows can be drawn even if few are hard.
    odds = miss + 1e-3 * miss.mean() + 1e-12
    hard = X[np.sort(rng.choice(X.shape[0], n_hard, replace=False, p=odds / odds.sum()))]
    others = centres(X, kernel, m - n_hard, rng)
    if sparse.issparse(X):
        return sparse.vstack([hard, others], format="csr")
    return np.unique(np.vstack([hard, others]), axis=0)
