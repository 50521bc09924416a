"""Rows of a Dask collection, reachable through sums: a graph of block statistics with a tree reduction."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin._linalg import Array
from softmargin.rows._collections import as_dask_array, is_dask
from softmargin.rows._faults import check_block
from softmargin.rows._workspace import Workspace
from softmargin.rows.source import BLOCK_ROWS, Encoding, LocalRows, Mapped

FAN_IN = 8
"""Block sums that one task of the tree reduction adds."""
_thread = threading.local()


@dataclass
class DaskRows:
    """Rows of Dask collections. Whoever is the scheduler at the time (threads, a cluster) computes the sums.

    Parameters
    ----------
    X : list of delayed arrays of shape (n_k, d)
        Blocks of rows, one for each partition.
    y, weight : lists of delayed arrays of shape (n_k,); weight may be None
        Targets and weights of the same blocks.
    sizes : tuple of int
        The n_k.
    encoding : Encoding, optional
        Turns targets as given into those of the latent function; None: as they are.
    """

    X: list[Any]
    y: list[Any]
    weight: list[Any] | None
    sizes: tuple[int, ...]
    n_features: int
    encoding: Encoding | None = None

    @classmethod
    def of(cls, X: Any, y: Any, weight: Any = None, *, align: bool = False) -> "DaskRows":
        """Line up a Dask array or dataframe with its targets (Dask or NumPy); `align`: cut where `aligned` says."""
        X = as_dask_array(X)
        if X.ndim != 2:
            raise ValueError(f"X must have two dimensions (rows, features), got shape {X.shape}")
        X = X.rechunk((aligned(X.chunks[0]) if align else X.chunks[0], -1))
        columns = [None if c is None else _column(c, X) for c in (y, weight)]
        blocks = [None if c is None else list(c.to_delayed().ravel()) for c in columns]
        assert blocks[0] is not None
        return cls(list(X.to_delayed().ravel()), blocks[0], blocks[1], tuple(map(int, X.chunks[0])), X.shape[1])

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return sum(self.sizes)

    def encoded(self, encoding: Encoding) -> "DaskRows":
        """The same rows with their targets encoded block by block."""
        return replace(self, encoding=encoding)

    def total(self, statistic: Any) -> Any:
        """Add up the statistic over blocks of rows, as one graph."""
        import dask

        # One node of the graph holds the parameters; every block's task depends on it.
        parameters = dask.delayed(statistic, traverse=False)
        encoding = dask.delayed(self.encoding, traverse=False)
        weights = self.weight or [None] * len(self.X)
        sums = [
            dask.delayed(_block_total)(parameters, X, y, weight, encoding)
            for X, y, weight in zip(self.X, self.y, weights)
        ]
        while len(sums) > 1:
            sums = [dask.delayed(_add)(sums[k : k + FAN_IN]) for k in range(0, len(sums), FAN_IN)]
        return dask.compute(sums[0])[0]

    def map_rows(self, statistic: Any, state: Array) -> Mapped:
        """Call a statistic with per-row state on every block; see `LocalRows.map_rows`.

        The state stays here, in the process that calls; each block's task gets its columns.
        """
        import dask

        parameters = dask.delayed(statistic, traverse=False)
        encoding = dask.delayed(self.encoding, traverse=False)
        weights = self.weight or [None] * len(self.X)
        cuts = np.cumsum((0, *self.sizes))
        blocks = [
            dask.delayed(_block_map, nout=2)(parameters, X, y, weight, encoding, state[:, low:high])
            for X, y, weight, (low, high) in zip(self.X, self.y, weights, pairwise(cuts))
        ]
        sums = [total for total, _ in blocks]
        while len(sums) > 1:
            sums = [dask.delayed(_add)(sums[k : k + FAN_IN]) for k in range(0, len(sums), FAN_IN)]
        total, *values = dask.compute(sums[0], *(rows for _, rows in blocks))
        known = [rows for rows in values if rows is not None]
        if not known:
            return Mapped(total, None)
        per_row = np.zeros((len(known[0]), self.n_rows))
        for (low, high), rows in zip(pairwise(cuts), values):
            if rows is not None:
                per_row[:, low:high] = rows
        return Mapped(total, per_row)

    def take(self, index: NDArray[np.intp]) -> tuple[Any, Any, Array]:
        """Fetch the inputs, raw targets and weights of a few rows, given by their sorted numbers."""
        import dask

        ends = np.cumsum(self.sizes)
        cuts = np.searchsorted(index, np.concatenate([[0], ends]))
        parts = []
        for k, (low, high) in enumerate(pairwise(cuts)):
            if high > low:
                weight = None if self.weight is None else self.weight[k]
                within = index[low:high] - (ends[k] - self.sizes[k])
                parts.append(dask.delayed(_take)(self.X[k], self.y[k], weight, within))
        X, y, weight = zip(*dask.compute(*parts))
        return np.concatenate(X), np.concatenate(y), np.concatenate(weight)

    def check(self, names: Sequence[str], *, numeric_target: bool) -> tuple[float, float]:
        """Look at every block once and raise for the first that is not valid; return the range of the weights.

        Parameters
        ----------
        names : sequence of str
            Of the columns, for errors.
        numeric_target : bool
            Whether the targets must be numbers.
        """
        import dask

        weights = self.weight or [None] * len(self.X)
        look = dask.delayed(check_block)
        found = dask.compute(*[look(X, y, w, names, numeric_target) for X, y, w in zip(self.X, self.y, weights)])
        for block, seen in enumerate(found):
            if seen.fault:
                raise ValueError(f"block {block} of the Dask collection (of {len(found)}): {seen.fault}")
        return min(seen.smallest for seen in found), max(seen.largest for seen in found)

    def labels(self) -> NDArray[Any]:
        """The distinct raw targets, sorted."""
        import dask

        try:
            return np.unique(np.concatenate(dask.compute(*[dask.delayed(np.unique)(y) for y in self.y])))
        except TypeError as error:
            raise ValueError(f"y holds labels of several kinds, which have no order ({error}); use one kind") from error

    def find(self, label: Any, limit: int) -> NDArray[np.intp]:
        """Numbers of the first rows with a raw target, at most `limit` of them."""
        import dask

        found = dask.compute(*[dask.delayed(_find)(y, label, limit) for y in self.y])
        starts = np.cumsum(self.sizes) - self.sizes
        return np.concatenate([start + index for start, index in zip(starts, found)])[:limit]


def aligned(chunks: Sequence[int]) -> tuple[int, ...]:
    """Chunks of about the same size whose ends are those of the blocks of `LocalRows`.

    The sums of a block then have the same bits wherever the rows are and however they are cut, and a random choice of
    rows in a block is the same. Sums in single precision over other blocks differ by 1e-7, which is enough for an
    iteration to end one pass earlier.

    Examples
    --------
    >>> aligned((5000, 5000, 2000))
    (4096, 4096, 3808)
    """
    n = sum(chunks)
    size = BLOCK_ROWS * max(1, round(max(chunks, default=0) / BLOCK_ROWS))
    return tuple(min(size, n - start) for start in range(0, n, size)) or (0,)


def _column(values: Any, X: Any) -> Any:
    """A Dask array of shape (n,) with the row chunks of X."""
    import dask.array as da

    values = as_dask_array(values) if is_dask(values) else da.from_array(np.asarray(values))
    if values.shape != X.shape[:1]:
        raise ValueError(f"X has {X.shape[0]} rows, but a target or weight of shape {values.shape} was given")
    return values.rechunk((X.chunks[0],))


def _block_total(statistic: Any, X: Any, y: Any, weight: Any, encoding: Any) -> Any:
    rows = LocalRows(_numbers(X), np.asarray(y), weight, encoding, cache_bytes=0)
    return rows.total(statistic, _workspace())


def _block_map(statistic: Any, X: Any, y: Any, weight: Any, encoding: Any, state: Any) -> tuple[Any, Any]:
    rows = LocalRows(np.asarray(X), np.asarray(y), weight, encoding, cache_bytes=0)
    return tuple(rows.map_rows(statistic, state, _workspace()))


def _workspace() -> Workspace:
    """Memory of this thread, from one task to the next: a worker's allocator returns its own to the system."""
    if not hasattr(_thread, "workspace"):
        _thread.workspace = Workspace()
    return _thread.workspace


def _numbers(X: Any) -> Any:
    """A block's inputs as floating-point numbers; single precision stays so."""
    X = np.asarray(X)
    return X if X.dtype.kind == "f" else X.astype(np.float64)


def _find(y: Any, label: Any, limit: int) -> Any:
    return np.flatnonzero(np.asarray(y) == label)[:limit]


def _add(sums: list[Any]) -> Any:
    """Add sums, skipping blocks in which no row took part."""
    total = None
    for s in sums:
        if s is not None:
            total = s if total is None else total.add(s)
    return total


def _take(X: Any, y: Any, weight: Any, index: Any) -> tuple[Any, Any, Any]:
    chosen = np.ones(len(index)) if weight is None else np.asarray(weight, dtype=np.float64)[index]
    return _numbers(X)[index], np.asarray(y)[index], chosen
