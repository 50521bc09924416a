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


class Summable(Protocol):
    """Rows (x_i, y_i, w_i), reachable through sums only: all that inference needs."""

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        ...

    def total(self, statistic: Any) -> Any:
        """Add up ``statistic(X, y, weight)`` over blocks of rows; None if no row takes part."""
        ...


class RowSource(Summable, Protocol):
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
    y : array of shape (n,)
        Labels -1 and +1, or regression targets, unless an encoding makes them so.
    weight : array of shape (n,), optional
    encoding : Encoding, optional
    block_rows : int
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
        keep = self.n_rows * statistic.prior.bytes_per_row <= self.cache_bytes
        if self._cached_for is not statistic.prior:
            self._cache.clear()
            self._cached_for = statistic.prior
        workspace = Workspace() if workspace is None else workspace
        width, dtype = len(statistic.prior.Z), statistic.prior.dtype
        result = None
        for s, X, y, weight in self._blocks():
            features = self._cache.get(s.start)
            if features is None:
                out = None if keep else workspace.array("features", (len(y), width), dtype)
                features = statistic.prior.features(X, out)
                if keep:
                    self._cache[s.start] = features
            block = statistic(X, y, weight, features, workspace)
            result = block.owned() if result is None else result.absorb(block)
        return result

    def _blocks(self) -> Iterator[tuple[slice, Any, Array, Array]]:
        """Encoded blocks that have rows."""
        for start in range(0, self.n_rows, self.block_rows):
            s = slice(start, min(start + self.block_rows, self.n_rows))
            X, y, weight = self.X[s], self.y[s], self._weight(s)
            if self.encoding is not None:
                keep, y, weight = self.encoding(y, weight)
                X = X if keep is None else X[keep]
            if len(y):
                yield s, X, y, weight

    def _weight(self, index: Any) -> Array:
        """Weights of some rows: ones where none were given."""
        if self.weight is not None:
            return self.weight[index]
        return np.ones(len(self.y[index]))
