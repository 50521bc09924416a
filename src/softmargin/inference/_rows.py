"""Where the rows are: in memory or in a memory map here, on a cluster in `softmargin.distributed`.

Sparse inference only ever asks for sums over the rows. A source of rows maps a statistic over its blocks and
adds the results, so that nothing of size n x m exists at once.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from softmargin._linalg import Array

BLOCK_ROWS = 4096
"""Rows of a block: enough for matrix products at full speed, few enough for the caches and for memory."""
CACHE_BYTES = 2**28
"""Whitened features are kept from one pass to the next if all of them fit into this."""

Sum = TypeVar("Sum")


class Rows(Protocol):
    """Rows (x_i, y_i, w_i), reachable through sums only."""

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        ...

    def total(self, statistic: Callable[[Any, Array, Array | None], Sum]) -> Sum:
        """Add up ``statistic(X, y, weight)`` over blocks of rows."""
        ...


@dataclass
class LocalRows:
    """Rows in this process: an array, a `numpy.memmap` or a CSR matrix, read one block at a time.

    Parameters
    ----------
    X : array, memmap or CSR matrix of shape (n, d)
    y : array of shape (n,)
        Labels -1 and +1, or regression targets.
    weight : array of shape (n,), optional
    block_rows : int
    cache_bytes : int
        What the statistic's `features` may take when they are kept between passes; 0 keeps nothing.
    """

    X: Any
    y: Array
    weight: Array | None = None
    block_rows: int = BLOCK_ROWS
    cache_bytes: int = CACHE_BYTES
    _cache: dict[int, Any] = field(default_factory=dict, repr=False)
    _cached_for: Any = field(default=None, repr=False)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.X.shape[0])

    def blocks(self) -> Iterator[slice]:
        """Slices that cover the rows."""
        for start in range(0, self.n_rows, self.block_rows):
            yield slice(start, min(start + self.block_rows, self.n_rows))

    def total(self, statistic: Any) -> Any:
        """Add up the statistic over blocks of rows."""
        keep = self.n_rows * statistic.bytes_per_row <= self.cache_bytes
        if self._cached_for is not statistic.prior:
            self._cache.clear()
            self._cached_for = statistic.prior
        result = None
        for s in self.blocks():
            features = self._cache.get(s.start)
            if features is None:
                features = statistic.prior.features(self.X[s])
                if keep:
                    self._cache[s.start] = features
            weight = None if self.weight is None else self.weight[s]
            block = statistic(self.X[s], self.y[s], weight, features)
            result = block if result is None else result.add(block)
        return result
