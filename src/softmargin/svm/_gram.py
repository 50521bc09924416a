"""The Gram matrix as the dual solver sees it: blocks and products of rows."""

import numpy as np
from numpy.typing import NDArray

from softmargin._compiled import njit
from softmargin._linalg import Array

Rows = NDArray[np.intp]


class Gram:
    """A symmetric positive semi-definite matrix K of order n in memory."""

    def __init__(self, K: Array) -> None:
        # By symmetry the rows of a Fortran-ordered matrix are its columns.
        self.whole = np.ascontiguousarray(K.T if K.flags.f_contiguous else K, dtype=float)
        self.diag = np.diagonal(self.whole).copy()

    def block(self, rows: Rows) -> Array:
        """K[rows][:, rows]."""
        part: Array = gather(self.whole, rows)
        return part

    def product(self, rows: Rows, x: Array) -> Array:
        """K[:, rows] @ x, shape (n,)."""
        out = np.zeros(len(self.diag))
        add_rows(self.whole, rows, x, out)
        return out


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
