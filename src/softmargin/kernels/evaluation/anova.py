"""The ANOVA kernel at given inputs, one input after the other in blocks that stay in the cache.

With f_a the factor of input a, t_a = 1 + u_a^2 and s_a = w/(t_a (t_a + w)):

    dk/dln l_a = 2 k u_a^2 s_a,    dk/dz_a = 2 k u_a s_a / l_a,    u_a = (x_a - z_a)/l_a.
"""

import numpy as np
from scipy.sparse import issparse

from softmargin._linalg import Array
from softmargin.kernels._anova import Anova, factor, log_slope
from softmargin.kernels.evaluation.blocks import CACHE_BYTES, row_blocks
from softmargin.kernels.evaluation.distances import Inputs, scale_inputs, within_range
from softmargin.kernels.evaluation.leaves import EMPTY
from softmargin.kernels.evaluation.radial import STRIP, length_scale_of

FARTHEST = 1e70
"""Length scales from the centre, beyond which the square of 1 + u^2 may overflow."""
BLOCK_BYTES = CACHE_BYTES // 4
"""A block and the temporaries of one input stay in the cache together."""


class AnovaNode:
    """An ANOVA kernel at inputs X and Z."""

    def __init__(self, kernel: Anova, X: Inputs, Z: Inputs | None) -> None:
        self.length_scale = length_scale_of(kernel, X.shape[1])
        self.w = kernel.weight()
        self.fixed = isinstance(kernel.length_scale_bounds, str)
        A, B = scale_inputs(X, Z, self.length_scale)
        self.same = same = A is B
        self.A = _by_column(within_range(A, FARTHEST))
        self.B = self.A if same else _by_column(within_range(B, FARTHEST))
        n, m = self.A.shape[0], self.B.shape[0]
        self.K = np.empty((n, m))
        for s in row_blocks(n, m, min(8 * STRIP * m, BLOCK_BYTES) if same else BLOCK_BYTES):
            stop = s.stop if same else m
            block = np.ones((s.stop - s.start, stop))
            for a in range(self.A.shape[1]):
                u = self._differences(s, a, stop)
                u *= u
                block *= factor(u, self.w)
            self.K[s, :stop] = block
            if same:
                self.K[: s.start, s] = block[:, : s.start].T

    def _differences(self, s: slice, a: int, stop: int | None = None) -> Array:
        """u_a between rows s of X and the first rows of Z."""
        u: Array = _column(self.A, a)[s, None] - _column(self.B, a)[:stop]
        return u

    def rows(self, s: slice) -> Array:
        return self.K[s]

    def contract(self, s: slice, G: Array) -> Array:
        if self.fixed:
            return EMPTY
        total = np.zeros(self.A.shape[1])
        for part in row_blocks(s.stop - s.start, self.B.shape[0], BLOCK_BYTES):
            rows = slice(s.start + part.start, s.start + part.stop)
            # The weights of a Gram matrix are symmetric: what is left of the diagonal block counts twice.
            stop = rows.stop if self.same else self.B.shape[0]
            P = 2.0 * G[part, :stop] * self.K[rows, :stop]
            if self.same:
                P[:, : rows.start] *= 2.0
            for a in range(len(total)):
                u2 = self._differences(rows, a, stop)
                u2 *= u2
                u2 *= log_slope(u2, self.w)
                total[a] += np.vdot(P, u2)
        return total if self.length_scale.size > 1 or len(total) == 1 else np.array([total.sum()])

    def contract_inputs(self, s: slice, G: Array) -> Array:
        P = G * self.K[s]
        slopes = np.empty(self.B.shape)
        for a in range(slopes.shape[1]):
            u = self._differences(s, a)
            u *= log_slope(u * u, self.w)
            slopes[:, a] = 2.0 * np.einsum("ij,ij->j", P, u)
        return slopes / self.length_scale


def _by_column(A: Inputs) -> Inputs:
    """Sparse rows in the form whose columns are at hand."""
    return A.tocsc() if issparse(A) else A


def _column(A: Inputs, a: int) -> Array:
    """Column a, dense, shape (n,)."""
    column: Array = A[:, [a]].toarray()[:, 0] if issparse(A) else A[:, a]
    return column
