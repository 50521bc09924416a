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
            return _weighted_row_sums(K, self.lower(), root) * self.sign
        variance = lost / tau
        if len(weak):
            columns = (K[weak] * root).T
            columns = np.asfortranarray(columns if self.order is None else columns[self.order])
            pulled = blas.dtrmm(1.0, self.inverse, columns, lower=1, overwrite_b=1) ** 2
            variance[weak] = np.diag(K)[weak] - pulled[: self.n_plus].sum(axis=0) + pulled[self.n_plus :].sum(axis=0)
        return variance

    def lower(self) -> Array:
        """P, shape (n, n); only its lower triangle is meaningful."""
        P, _ = lapack.dlauum(self.inverse, lower=1)
        if self.order is None:
            return P
        # V'JV = V'V - 2 R'R with R the rows of V that belong to negative sites.
        P = blas.dsyrk(-2.0, self.inverse[self.n_plus :], beta=1.0, c=P, trans=1, lower=1, overwrite_c=1)
        return _matrix_in_old_order(P, self.order)


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
    F = _ordered_gram(K, root, sign, order)
    L = shifted_cholesky(F[:n_plus, :n_plus])
    V = solve_triangular(L, F[n_plus:, :n_plus].T, lower=True, check_finite=False)
    lower = F[n_plus:, n_plus:]
    try:
        F[n_plus:, n_plus:] = cholesky(V.T @ V - lower - np.tril(lower, -1).T)
    except NotPositiveDefiniteError:
        raise NotPositiveDefiniteError("negative sites make the posterior improper") from None
    F[:n_plus, :n_plus], F[n_plus:, :n_plus] = L, V.T
    return F


@njit(cache=True)
def scaled_gram(K, root, diagonal):
    """Lower triangle of diag(diagonal) + r K r, in Fortran order (the upper one is zero)."""
    n = root.size
    A = np.zeros((n, n)).T
    for j in range(n):
        for i in range(j, n):
            A[i, j] = root[i] * K[j, i] * root[j]
        A[j, j] += diagonal[j]
    return A


@njit(cache=True, fastmath={"reassoc", "contract"})
def _column_squares(V, n_plus):
    """sum_i J_i V_ij^2 of a lower triangular matrix in Fortran order, J_i = -1 from n_plus on."""
    n = len(V)
    total = np.empty(n)
    for j in range(n):
        plus, minus = 0.0, 0.0
        for i in range(j, n_plus):
            plus += V[i, j] * V[i, j]
        for i in range(max(j, n_plus), n):
            minus += V[i, j] * V[i, j]
        total[j] = plus - minus
    return total


@njit(cache=True)
def _ordered_gram(K, root, diagonal, order):
    """`scaled_gram` of reordered rows."""
    n = root.size
    A = np.zeros((n, n)).T
    for j in range(n):
        b = order[j]
        for i in range(j, n):
            A[i, j] = root[order[i]] * K[b, order[i]] * root[b]
        A[j, j] += diagonal[b]
    return A


@njit(cache=True)
def _matrix_in_old_order(P, order):
    """Lower triangle of a symmetric matrix whose rows were reordered, in Fortran order."""
    n = order.size
    core = np.zeros((n, n)).T
    for j in range(n):
        b = order[j]
        for i in range(j, n):
            a = order[i]
            core[max(a, b), min(a, b)] = P[i, j]
    return core


@njit(cache=True)
def _weighted_row_sums(K, core, root):
    """sum_j K_ij r_j P_ij / r_i, reading the lower triangle of the symmetric P."""
    n = root.size
    total, inverse = np.zeros(n), np.empty(n)
    for j in range(n):
        inverse[j] = 1 / root[j]
    for j in range(n):
        total[j] += K[j, j] * core[j, j]
        for i in range(j + 1, n):
            x = K[j, i] * core[i, j]
            total[i] += x * root[j] * inverse[i]
            total[j] += x * root[i] * inverse[j]
    return total
