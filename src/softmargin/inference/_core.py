"""P = (S + r K r)^-1 of a Gram matrix and sites, r = |tau|^1/2, S = sign(tau), and what is read off it.

If every site is positive P = V'V comes from the inverse V of a Cholesky factor, and an iteration makes do without P
itself: where a site is not weak Sigma_ii = (1 - P_ii)/tau_i keeps its digits, and where it is
Sigma_ii = K_ii - |V r k_i|^2 does. A likelihood that is not log-concave can make some sites negative; then P comes from
a signed factor.
"""

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numba import njit
from scipy.linalg import blas, lapack, solve_triangular

from softmargin._linalg import (
    Array,
    NotPositiveDefiniteError,
    cholesky,
    inverse_of_triangle,
    log_det_from_cholesky,
)

WEAK = 1e-6
"""tau_i Sigma_ii below which 1 - P_ii has lost too many digits."""


@dataclass
class PositiveCore:
    """P = V'V of positive sites."""

    factor: Array
    """L of L L' = I + r K r, shape (n, n)."""
    inverse: Array
    """V = L^-1, shape (n, n)."""
    diagonal: Array
    """P_ii, shape (n,)."""

    @classmethod
    def of(cls, K: Array, root: Array) -> Self:
        """Factorise I + r K r."""
        L, info = lapack.dpotrf(scaled_gram(K, root, np.ones_like(root)), lower=1, clean=0, overwrite_a=1)
        if info != 0:
            raise NotPositiveDefiniteError("I + T^1/2 K T^1/2 is not positive definite: the Gram matrix is not PSD")
        V = inverse_of_triangle(L)
        return cls(L, V, _column_squares(V))

    @property
    def log_det(self) -> float:
        """ln det(I + T K)."""
        return log_det_from_cholesky(self.factor)

    def times(self, x: Array) -> Array:
        """P x."""
        return blas.dtrmv(self.inverse, blas.dtrmv(self.inverse, x, lower=1), lower=1, trans=1)

    def variances(self, K: Array, tau: Array, root: Array) -> Array:
        """Sigma_ii, shape (n,)."""
        lost = 1 - self.diagonal
        weak = np.flatnonzero(lost < WEAK)
        if 2 * len(weak) > len(tau):
            return _weighted_row_sums(K, self.lower(), root)
        variance = lost / tau
        if len(weak):
            pulled = blas.dtrmm(1.0, self.inverse, np.asfortranarray((K[weak] * root).T), lower=1, overwrite_b=1)
            variance[weak] = np.diag(K)[weak] - np.einsum("ij,ij->j", pulled, pulled)
        return variance

    def lower(self) -> Array:
        """P, shape (n, n); only its lower triangle is meaningful."""
        P, _ = lapack.dlauum(self.inverse, lower=1)
        return P


@dataclass
class SignedCore:
    """P of sites some of which are negative."""

    P: Array
    """Shape (n, n); only its lower triangle is meaningful."""
    sign: Array
    log_det: float
    """ln det(I + T K)."""
    factor: ClassVar[None] = None

    @classmethod
    def of(cls, K: Array, root: Array, sign: Array) -> Self:
        """Factorise S + r K r."""
        P, log_det = _core_with_signs(K, root, sign)
        return cls(P, sign, log_det)

    @property
    def diagonal(self) -> Array:
        """P_ii, shape (n,)."""
        return np.diag(self.P)

    def times(self, x: Array) -> Array:
        """P x."""
        return blas.dsymv(1.0, self.P, x, lower=1)

    def variances(self, K: Array, tau: Array, root: Array) -> Array:
        """Sigma_ii, shape (n,)."""
        return _weighted_row_sums(K, self.P, root) * self.sign

    def lower(self) -> Array:
        """P, of which only the lower triangle is meaningful."""
        return self.P


def _core_with_signs(K: Array, root: Array, sign: Array) -> tuple[Array, float]:
    """P and ln det when some sites are negative, by S + r K r = F J F' with the negative sites last, J = diag(I, -I).

    The posterior is proper if and only if S + r K r has as many negative eigenvalues as there are negative sites
    (Sylvester's law on K^-1 + T), which is when the Schur complement of the positive block is negative definite.
    Positive diagonals of P and Sigma would not be enough.
    """
    order = np.argsort(sign < 0, kind="stable")
    n_plus = int(np.sum(sign > 0))
    F = _ordered_gram(K, root, sign, order)
    L = cholesky(F[:n_plus, :n_plus])
    V = solve_triangular(L, F[n_plus:, :n_plus].T, lower=True, check_finite=False)
    lower = F[n_plus:, n_plus:]
    try:
        F[n_plus:, n_plus:] = cholesky(V.T @ V - lower - np.tril(lower, -1).T)
    except NotPositiveDefiniteError:
        raise NotPositiveDefiniteError("negative sites make the posterior improper") from None
    F[:n_plus, :n_plus], F[n_plus:, :n_plus] = L, V.T
    log_det = 2 * float(np.sum(np.log(np.diag(F))))
    # P = F^-T J F^-1 = F^-T F^-1 - 2 R'R with R the rows of F^-1 that belong to negative sites.
    F, _ = lapack.dtrtri(F, lower=1, overwrite_c=1)
    negative = F[n_plus:].copy()
    P, _ = lapack.dlauum(F, lower=1, overwrite_c=1)
    P = blas.dsyrk(-2.0, negative, beta=1.0, c=P, trans=1, lower=1, overwrite_c=1)
    return _in_old_order(P, order), log_det


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


@njit(cache=True)
def _column_squares(V):
    """sum_i V_ij^2 of a lower triangular matrix in Fortran order."""
    n = len(V)
    total = np.empty(n)
    for j in range(n):
        x = 0.0
        for i in range(j, n):
            x += V[i, j] * V[i, j]
        total[j] = x
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
def _in_old_order(P, order):
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
