"""Where the rows are: in memory or in a memory map here, on a cluster in `_dask`.

Sparse inference only ever asks for sums over the rows. A source of rows maps a statistic over its blocks and
adds the results, so that nothing of size n x m exists at once.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from softmargin._linalg import Array
from softmargin.rows._workspace import Workspace

BLOCK_ROWS = 4096
"""Rows of a block: enough for matrix products at full speed, few enough for the caches and for memory."""
CACHE_BYTES = 2**28
"""Whitened features are kept from one pass to the next if all of them fit into this."""


class Encoded(NamedTuple):
    """Targets as a likelihood wants them."""

    keep: NDArray[np.bool_] | None
    """Which rows of the block take part; None: all."""
    target: Array
    """Labels -1 and +1, or regression targets, of the kept rows."""
    weight: Array
    """Weights of the kept rows."""


Encoding = Callable[[Any, Array], Encoded]
"""Turns a block of raw targets and weights into encoded ones; plain data, so that it travels to a cluster."""


class Mapped(NamedTuple):
    """What a statistic with per-row state gives."""

    total: Any
    """The sum of its sums over blocks; None if no row takes part."""
    rows: Array | None
    """Its values for each row, shape (k, n_rows), 0 where a row does not take part; None if it gives none."""


class Summable(Protocol):
    """Rows (x_i, y_i, w_i), reachable through sums only: all that inference needs."""

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        ...

    def total(self, statistic: Any) -> Any:
        """Add up ``statistic(X, y, weight)`` over blocks of rows; None if no row takes part."""
        ...


class Mappable(Summable, Protocol):
    """Rows of which each may have numbers of its own, kept by whoever asks."""

    def map_rows(self, statistic: Any, state: Array) -> Mapped:
        """Call ``statistic(X, y, weight, state)`` on blocks of rows, each with its columns of `state`."""
        ...


class RowSource(Mappable, Protocol):
    """A source of raw rows, of which an estimator can also fetch a few."""

    @property
    def encoding(self) -> Any:
        """The encoding of the targets, or None."""
        ...

    def encoded(self, encoding: Encoding) -> "RowSource":
        """The same rows with their targets encoded block by block."""
        ...

    def take(self, index: NDArray[np.intp]) -> tuple[Any, Any, Array]:
        """Fetch the inputs, raw targets and weights of a few rows, given by their sorted numbers."""
        ...

    def labels(self) -> NDArray[Any]:
        """The distinct raw targets, sorted."""
        ...

    def find(self, label: Any, limit: int) -> NDArray[np.intp]:
        """Numbers of the first rows with a raw target, at most `limit` of them."""
        ...


@dataclass
class LocalRows:
    """Rows in this process: an array, a `numpy.memmap` or a CSR matrix, read one block at a time.

    Parameters
    ----------
    X : array, memmap or CSR matrix of shape (n, d)
        Rows of inputs.
    y : array of shape (n,)
        Labels -1 and +1, or regression targets, unless an encoding makes them so.
    weight : array of shape (n,), optional
        Weight of each row, its number of copies.
    encoding : Encoding, optional
        Turns targets as given into those of the latent function; None: as they are.
    block_rows : int
        Number of rows that are worked on at once.
    cache_bytes : int
        What the statistic's features may take when they are kept between passes; 0 keeps nothing.
    """

    X: Any
    y: Any
    weight: Array | None = None
    encoding: Encoding | None = None
    block_rows: int = BLOCK_ROWS
    cache_bytes: int = CACHE_BYTES
    _cache: dict[int, Any] = field(default_factory=dict, repr=False)
    _cached_for: Any = field(default=None, repr=False)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.X.shape[0])

    def encoded(self, encoding: Encoding) -> "LocalRows":
        """The same rows with their targets encoded block by block."""
        return replace(self, encoding=encoding, _cache={}, _cached_for=None)

    def take(self, index: NDArray[np.intp]) -> tuple[Any, Any, Array]:
        """Fetch the inputs, raw targets and weights of a few rows."""
        return self.X[index], self.y[index], self._weight(index)

    def labels(self) -> NDArray[Any]:
        """The distinct raw targets, sorted."""
        return np.unique(self.y)

    def find(self, label: Any, limit: int) -> NDArray[np.intp]:
        """Numbers of the first rows with a raw target, at most `limit` of them."""
        return np.flatnonzero(self.y == label)[:limit]

    def total(self, statistic: Any, workspace: Workspace | None = None) -> Any:
        """Add up the statistic over blocks of rows, in memory left by an earlier call if given."""
        workspace = Workspace() if workspace is None else workspace
        result = None
        for s, _, X, y, weight in self._blocks():
            features = self._features(statistic.prior, s, X, workspace)
            block = statistic(X, y, weight, features, workspace)
            result = block.owned() if result is None else result.absorb(block)
        return result

    def map_rows(self, statistic: Any, state: Array, workspace: Workspace | None = None) -> Mapped:
        """Call a statistic that also takes and gives numbers for each row, block by block.

        Parameters
        ----------
        statistic : callable
            ``statistic(X, y, weight, state, features, workspace)`` returns additive sums and an array of shape
            (k, rows) or None.
        state : ndarray of shape (j, n_rows)
            What each row carries from call to call.
        """
        workspace = Workspace() if workspace is None else workspace
        total, per_row = None, None
        for s, keep, X, y, weight in self._blocks():
            part = state[:, s] if keep is None else state[:, s][:, keep]
            features = self._features(statistic.prior, s, X, workspace)
            block, values = statistic(X, y, weight, part, features, workspace)
            total = block.owned() if total is None else total.absorb(block)
            if values is not None:
                per_row = np.zeros((len(values), self.n_rows)) if per_row is None else per_row
                per_row[:, s if keep is None else s.start + np.flatnonzero(keep)] = values
        return Mapped(total, per_row)

    def features(self, prior: Any) -> list[Any]:
        """Features of each block, in n m numbers of memory; those kept from earlier passes are reused."""
        return [self._features(prior, s, X, Workspace()) for s, _, X, _, _ in self._blocks()]

    def _features(self, prior: Any, s: slice, X: Any, workspace: Workspace) -> Any:
        """Features of a block, kept from pass to pass if those of all rows fit."""
        if self._cached_for is not prior:
            self._cache.clear()
            self._cached_for = prior
        features = self._cache.get(s.start)
        if features is None:
            keep = self.n_rows * prior.bytes_per_row <= self.cache_bytes
            out = None if keep else workspace.array("features", (X.shape[0], prior.Z.shape[0]), prior.dtype)
            features = prior.features(X, out)
            if keep:
                self._cache[s.start] = features
        return features

    def _blocks(self) -> Iterator[tuple[slice, NDArray[np.bool_] | None, Any, Array, Array]]:
        """Encoded blocks that have rows, and which of their rows take part (None: all)."""
        for start in range(0, self.n_rows, self.block_rows):
            s = slice(start, min(start + self.block_rows, self.n_rows))
            X, y, weight = self.X[s], self.y[s], self._weight(s)
            keep = None
            if self.encoding is not None:
                keep, y, weight = self.encoding(y, weight)
                X = X if keep is None else X[keep]
            if len(y):
                yield s, keep, X, y, weight

    def _weight(self, index: Any) -> Array:
        """Weights of some rows: ones where none were given."""
        if self.weight is not None:
            return self.weight[index]
        return np.ones(len(self.y[index]))
