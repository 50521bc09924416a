"""Warped inputs: normal scores in the place of heavy-tailed columns.

A column with heavy tails has no single length scale. Replaced by the normal scores of its training ranks (ties
averaged, linear between, constant outside) it has one; where no column is so there is nothing to warp.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.sparse import issparse
from scipy.stats import norm, rankdata

from softmargin._linalg import Array
from softmargin.policy import POLICY
from softmargin.rows import is_heavy_tailed


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
        """The warp of the heavy-tailed columns of training rows; None if there are none, or the rows are sparse.

        Parameters
        ----------
        X : ndarray of shape (n, d)
        weight : ndarray of shape (n,)
            A row of weight w counts as w rows.
        """
        if issparse(X):
            return None
        tailed = np.flatnonzero(is_heavy_tailed(X, weight))
        tables = {int(j): _scores(np.asarray(X[:, j], float), weight) for j in tailed}
        return cls(tables) if tables else None

    def __call__(self, X: Any) -> Array:
        """Map the columns of new rows, shape (n, d)."""
        warped = np.array(X, dtype=np.float64)
        for j, (values, scores) in self.tables.items():
            warped[:, j] = np.interp(warped[:, j], values, scores)
        return warped

    def slope(self, X: Any) -> Array:
        """Derivative of every mapped column in its own input, shape (n, d); 1 where a column is not mapped.

        The map is linear between training values, some of which nearly agree: the slope is the average over
        `POLICY.stack.slope_window` normal scores to either side.
        """
        slope = np.ones(X.shape)
        window = POLICY.stack.slope_window
        for j, (values, scores) in self.tables.items():
            score = np.interp(X[:, j], values, scores)
            low, high = (np.clip(score + d, scores[0], scores[-1]) for d in (-window, window))
            slope[:, j] = (high - low) / (np.interp(high, scores, values) - np.interp(low, scores, values))
        return slope

    def units(self, X: Any, spread: Array) -> Array:
        """How far one unit is along every column at every row, shape (n, d): a normal score in mapped columns.

        Elsewhere it is the column's spread.
        """
        units = spread / self.slope(X)
        mapped = list(self.tables)
        units[:, mapped] /= spread[mapped]
        return units


def _scores(column: Array, weight: Array) -> tuple[Array, Array]:
    """Distinct values and the normal scores of their ranks, each shape (n_values,)."""
    values, index = np.unique(column, return_inverse=True)
    count = np.bincount(index, weights=weight)
    if np.all(weight == 1):
        ranks = rankdata(column)[np.unique(column, return_index=True)[1]]
    else:
        ranks = np.cumsum(count) - 0.5 * (count - np.minimum(count, 1.0))
    return values, np.asarray(norm.ppf(ranks / (weight.sum() + 1)))
