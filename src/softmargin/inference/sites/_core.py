"""P = (S + r K r)^-1 of a Gram matrix and sites, r = |tau|^1/2, S = sign(tau), and what is read off it.

S + r K r = F J F' with the negative sites last, F a lower triangle and J = diag(I, -I); without negative sites F is the
Cholesky factor. With V = F^-1 the matrix is P = V'JV, but an iteration makes do without it: where a site is not weak
Sigma_ii = (1 - S_i P_ii)/tau_i keeps its digits, and where it is Sigma_ii = K_ii - (V r k_i)'J(V r k_i) does.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas, lapack, solve_triangular

from softmargin._compiled import njit
from softmargin._linalg import (
    Array,
    NotPositiveDefiniteError,
    cholesky,
    inverse_of_triangle,
    log_det_from_cholesky,
    shifted_cholesky,
)

Order = NDArray[np.intp]

WEAK = 1e-6
"""tau_i Sigma_ii below which 1 - P_ii has lost too many digits."""


@dataclass
class Core:
    """P of a Gram matrix and sites."""

    triangle: Array
    """F, shape (n, n); rows and columns in `order`."""
    inverse: Array
    """V = F^-1, shape (n, n)."""
    sign: Array
    """S, shape (n,)."""
    order: Order | None
    """Sites with the negative ones last; None if there are none."""
    n_plus: int
    """Number of positive sites."""
    diagonal: Array
    """P_ii, shape (n,)."""

    @classmethod
    def of(cls, K: Array, root: Array, sign: Array) -> Self:
        """Factorise S + r K r; raise `NotPositiveDefiniteError` if the posterior is improper."""
        order = None if sign.min() > 0 else np.argsort(sign < 0, kind="stable")
        n_plus = len(sign) if order is None else int(np.sum(sign > 0))
        F = _positive_triangle(K, root) if order is None else _signed_triangle(K, root, sign, order, n_plus)
        V = inverse_of_triangle(F)
        diagonal = _in_old_order(_column_squares(V, n_plus), order)
        return cls(F, V, sign, order, n_plus, diagonal)

    @property
    def factor(self) -> Array | None:
        """L of L L' = I + r K r, shape (n, n); None when some site is negative."""
        return self.triangle if self.order is None else None

    @property
    def log_det(self) -> float:
        """ln det(I + T K)."""
        return log_det_from_cholesky(self.triangle)

    def times(self, x: Array) -> Array:
        """P x."""
        half = blas.dtrmv(self.inverse, x if self.order is None else x[self.order], lower=1)
        half[self.n_plus :] *= -1
        return _in_old_order(blas.dtrmv(self.inverse, half, lower=1, trans=1), self.order)

    def variances(self, K: Array, tau: Array, root: Array) -> Array:
        """Sigma_ii, shape (n,)."""
        lost = 1 - self.sign * self.diagonal
        weak = np.flatnonzero(np.abs(lost) < WEAK)
        if 2 * len(weak) > len(tau):
            K, root = (K, root) if self.order is None else (reordered(K, self.order), root[self.order])
            return _in_old_order(_weighted_row_sums(K, self.lower(), root), self.order) * self.sign
        variance = lost / tau
        if len(weak):
            columns = (K[weak] * root).T
            columns = np.asfortranarray(columns if self.order is None else columns[self.order])
            pulled = blas.dtrmm(1.0, self.inverse, columns, lower=1, overwrite_b=1) ** 2
            variance[weak] = np.diag(K)[weak] - pulled[: self.n_plus].sum(axis=0) + pulled[self.n_plus :].sum(axis=0)
        return variance

    def lower(self) -> Array:
        """The lower triangle of P, rows and columns in `order`, shape (n, n)."""
        P, _ = lapack.dlauum(self.inverse, lower=1)
        if self.order is None:
            return P
        # V'JV = V'V - 2 R'R with R the rows of V that belong to negative sites.
        return blas.dsyrk(-2.0, self.inverse[self.n_plus :], beta=1.0, c=P, trans=1, lower=1, overwrite_c=1)


def reordered(A: Array, order: Order) -> Array:
    """A[order][:, order]."""
    return A.take(order, axis=0, mode="clip").take(order, axis=1, mode="clip")


def _in_old_order(x: Array, order: Order | None) -> Array:
    """Undo x[order]."""
    if order is None:
        return x
    old = np.empty_like(x)
    old[order] = x
    return old


def _positive_triangle(K: Array, root: Array) -> Array:
    """The Cholesky factor of I + r K r."""
    L, info = lapack.dpotrf(scaled_gram(K, root, np.ones_like(root)), lower=1, clean=0, overwrite_a=1)
    return L if info == 0 else shifted_cholesky(scaled_gram(K, root, np.ones_like(root)))


def _signed_triangle(K: Array, root: Array, sign: Array, order: Order, n_plus: int) -> Array:
    """F of S + r K r = F J F' when some sites are negative.

    The posterior is proper if and only if S + r K r has as many negative eigenvalues as there are negative sites
    (Sylvester's law on K^-1 + T), which is when the Schur complement of the positive block is negative definite.
    Positive diagonals of P and Sigma would not be enough.
    """
    F = scaled_gram(reordered(K, order), root[order], sign[order])
    L = shifted_cholesky(F[:n_plus, :n_plus])
    V = solve_triangular(L, F[n_plus:, :n_plus].T, lower=True, check_finite=False)
    lower = F[n_plus:, n_plus:]
    try:
        F[n_plus:, n_plus:] = cholesky(V.T @ V - lower - np.tril(lower, -1).T)
    except NotPositiveDefiniteError:
        raise NotPositiveDefiniteError("negative sites make the posterior improper") from None
    F[:n_plus, :n_plus], F[n_plus:, :n_plus] = L, V.T
    return F


def scaled_gram(K: Array, root: Array, diagonal: Array) -> Array:
    """Lower triangle of diag(diagonal) + r K r, in Fortran order (the upper one is zero)."""
    A = np.zeros(K.shape, order="F")
    _fill_scaled(K, root, diagonal, A)
    return A


# Arrays are made outside the compiled loops, which are then compiled in a third of the time.
@njit(cache=True)
def _fill_scaled(K, root, diagonal, A):
    n = root.size
    for j in range(n):
        for i in range(j, n):
            A[i, j] = root[i] * K[j, i] * root[j]
        A[j, j] += diagonal[j]


def _column_squares(V: Array, n_plus: int) -> Array:
    """sum_i J_i V_ij^2 of a lower triangular matrix in Fortran order, J_i = -1 from n_plus on."""
    plus = np.einsum("ij,ij->j", V[:n_plus], V[:n_plus])
    if n_plus < len(V):
        plus -= np.einsum("ij,ij->j", V[n_plus:], V[n_plus:])
    return plus


def _weighted_row_sums(K: Array, core: Array, root: Array) -> Array:
    """sum_j K_ij r_j P_ij / r_i, from the lower triangle of the symmetric P (its upper one is zero)."""
    product = core + core.T
    product.flat[:: len(K) + 1] *= 0.5
    product *= K
    sums: Array = (product @ root) / root
    return sums
