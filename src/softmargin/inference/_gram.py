"""The Gram matrix as the dual solver sees it: blocks and products, from memory or from rows on demand."""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar, Protocol

import numpy as np
from numba import njit
from numpy.typing import NDArray

from softmargin._linalg import Array

Rows = NDArray[np.intp]
RowOracle = Callable[[Rows], Array]
"""Row numbers of shape (m,) in, rows of the Gram matrix of shape (m, n) out."""


class Gram(Protocol):
    """A symmetric positive semi-definite matrix K of order n."""

    @property
    def diag(self) -> Array:
        """Shape (n,)."""
        ...

    @property
    def max_rows(self) -> int:
        """Largest working set that fits the memory."""
        ...

    @property
    def whole(self) -> Array | None:
        """K itself, if it is in memory."""
        ...

    def block(self, rows: Rows) -> Array:
        """K[rows][:, rows]."""
        ...

    def product(self, rows: Rows, x: Array) -> Array:
        """K[:, rows] @ x, shape (n,)."""
        ...


class DenseGram:
    """A Gram matrix in memory."""

    def __init__(self, K: Array) -> None:
        # By symmetry the rows of a Fortran-ordered matrix are its columns.
        self.whole = np.ascontiguousarray(K.T if K.flags.f_contiguous else K, dtype=float)
        self.diag = np.diagonal(self.whole).copy()
        self.max_rows = len(K)

    def block(self, rows: Rows) -> Array:
        """K[rows][:, rows]."""
        return gather(self.whole, rows)

    def product(self, rows: Rows, x: Array) -> Array:
        """K[:, rows] @ x, shape (n,)."""
        out = np.zeros(len(self.diag))
        add_rows(self.whole, rows, x, out)
        return out


@dataclass
class RowGram:
    """A Gram matrix whose rows are computed when asked for and kept while they fit.

    Parameters
    ----------
    oracle : callable
        Row numbers of shape (m,) in, rows of shape (m, n) out.
    diag : ndarray of shape (n,)
    cache_bytes : int
        Budget for the kept rows and the working block together; the least recently used rows go first.
    """

    oracle: RowOracle
    diag: Array
    cache_bytes: int
    _kept: OrderedDict[int, Array] = field(default_factory=OrderedDict, repr=False)

    BATCH: ClassVar[int] = 64
    """Rows asked for at once."""
    whole: ClassVar[None] = None

    @property
    def max_rows(self) -> int:
        """Half the budget is for the working block, K_WW and its factor."""
        return max(8, int(np.sqrt(self.cache_bytes / 2 / 8 / 3)))

    @property
    def capacity(self) -> int:
        """Number of rows that the other half holds."""
        return max(self.BATCH, self.cache_bytes // 2 // (8 * len(self.diag)))

    def block(self, rows: Rows) -> Array:
        """K[rows][:, rows]."""
        out = np.empty((len(rows), len(rows)))
        for start in range(0, len(rows), self.BATCH):
            for i, row in enumerate(self._rows(rows[start : start + self.BATCH]), start):
                out[i] = row[rows]
        return out

    def product(self, rows: Rows, x: Array) -> Array:
        """K[:, rows] @ x, shape (n,)."""
        out = np.zeros(len(self.diag))
        for start in range(0, len(rows), self.BATCH):
            for xi, row in zip(x[start:], self._rows(rows[start : start + self.BATCH])):
                out += xi * row
        return out

    def _rows(self, rows: Rows) -> list[Array]:
        """The rows asked for (at most BATCH), from the cache or the oracle."""
        missing = np.array([i for i in rows if int(i) not in self._kept], dtype=np.intp)
        if missing.size:
            new = np.ascontiguousarray(self.oracle(missing), dtype=float)
            if new.shape != (missing.size, len(self.diag)):
                raise ValueError(
                    f"the row oracle was asked for {missing.size} rows of length {len(self.diag)} "
                    f"and returned an array of shape {new.shape}"
                )
            # Copies, so that an evicted row frees its memory.
            self._kept.update((int(i), row.copy()) for i, row in zip(missing, new))
        found = []
        for i in rows:
            self._kept.move_to_end(int(i))
            found.append(self._kept[int(i)])
        while len(self._kept) > self.capacity:
            self._kept.popitem(last=False)
        return found


@njit(cache=True)
def gather(K, rows):
    """K[rows][:, rows], in C order."""
    m = rows.size
    out = np.empty((m, m))
    for i in range(m):
        row = K[rows[i]]
        for j in range(m):
            out[i, j] = row[rows[j]]
    return out


@njit(cache=True, fastmath={"reassoc", "contract"})
def add_rows(K, rows, x, out):
    """Add x'K[rows] to out, in place: four rows at a time, in column blocks that stay in the cache."""
    n, m = out.size, rows.size
    whole = m - m % 4
    for start in range(0, n, 2048):
        stop = min(start + 2048, n)
        for i in range(0, whole, 4):
            a, b, c, d = K[rows[i]], K[rows[i + 1]], K[rows[i + 2]], K[rows[i + 3]]
            xa, xb, xc, xd = x[i], x[i + 1], x[i + 2], x[i + 3]
            for k in range(start, stop):
                out[k] += (xa * a[k] + xb * b[k]) + (xc * c[k] + xd * d[k])
        for i in range(whole, m):
            a, xa = K[rows[i]], x[i]
            for k in range(start, stop):
                out[k] += xa * a[k]
