"""Warped inputs: normal scores in the place of skewed columns.

A column with heavy tails has no single length scale. Replaced by the normal scores of its training ranks (ties
averaged, linear between, constant outside) it has one; where no column is skewed there is nothing to warp.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.sparse import issparse
from scipy.stats import norm, rankdata

from softmargin._linalg import Array
from softmargin.policy import POLICY


@dataclass(frozen=True)
class Warp:
    """A monotone map of some columns.

    Parameters
    ----------
    tables : dict from column to (values, scores)
        Both increasing, of the same length.
    """

    tables: dict[int, tuple[Array, Array]] = field(repr=False)

    @classmethod
    def of(cls, X: Any, weight: Array) -> "Warp | None":
        """The warp of the skewed columns of training rows; None if there are none, or the rows are sparse.

        Parameters
        ----------
        X : ndarray of shape (n, d)
        weight : ndarray of shape (n,)
            A row of weight w counts as w rows.
        """
        if issparse(X):
            return None
        columns = {j: np.asarray(column, dtype=np.float64) for j, column in enumerate(np.asarray(X).T)}
        tables = {j: _scores(column, weight) for j, column in columns.items() if _is_skewed(column, weight)}
        return cls(tables) if tables else None

    def __call__(self, X: Any) -> Array:
        """Map the columns of new rows, shape (n, d)."""
        warped = np.array(X, dtype=np.float64)
        for j, (values, scores) in self.tables.items():
            warped[:, j] = np.interp(warped[:, j], values, scores)
        return warped


def _is_skewed(column: Array, weight: Array) -> bool:
    """Whether a column has enough distinct values and a large third moment."""
    if len(np.unique(column)) <= POLICY.stack.few_values:
        return False
    share = weight / weight.sum()
    # A power of two: nothing is rounded, and the moments of extreme values do not overflow.
    centred = column / 2.0 ** np.frexp(np.abs(column).max())[1]
    centred = centred - share @ centred
    variance = share @ centred**2
    return bool(variance > 0 and abs(share @ centred**3) >= POLICY.stack.skew * variance**1.5)


def _scores(column: Array, weight: Array) -> tuple[Array, Array]:
    """Distinct values and the normal scores of their ranks, each shape (n_values,)."""
    values, index = np.unique(column, return_inverse=True)
    count = np.bincount(index, weights=weight)
    if np.all(weight == 1):
        ranks = rankdata(column)[np.unique(column, return_index=True)[1]]
    else:
        ranks = np.cumsum(count) - 0.5 * (count - np.minimum(count, 1.0))
    return values, np.asarray(norm.ppf(ranks / (weight.sum() + 1)))
