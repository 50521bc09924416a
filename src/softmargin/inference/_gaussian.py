"""Moments of a Gaussian posterior N(f; 0, K) x prod_i N(f_i; nu_i/tau_i, 1/tau_i), without inverting K.

With r = |tau|^1/2 and S = sign(tau), everything follows from P = (S + r K r)^-1:

    G = (K + T^-1)^-1 = r P r           (T = diag(tau))
    b = K^-1 mu = r P S r^-1 nu         (the weights of the latent mean), mu = K b
    Sigma_ii = S_i sum_j K_ij r_j P_ij / r_i
    cavity: v_i = Sigma_ii / (P_ii S_i), m_i = mu_i - v_i b_i

These forms do not cancel, neither for weak sites (tau -> 0) nor for strong ones. If every tau is positive P
comes from a Cholesky factor; a likelihood that is not log-concave can make some negative, then from a signed one.
"""

from dataclasses import dataclass

import numpy as np
from numba import njit
from scipy.linalg import blas, lapack, solve_triangular

from softmargin._linalg import Array, NotPositiveDefiniteError, cholesky

WEAKEST_SITE = 1e-10
"""Smallest |tau_i| K_ii kept: weaker sites are raised to it, which changes the posterior by as little."""


@dataclass
class SiteGaussian:
    """The Gaussian posterior given by a Gram matrix and sites. Arrays have shape (n,)."""

    tau: Array
    nu: Array
    root: Array
    """r = |tau|^1/2."""
    core: Array
    """P, shape (n, n); only its lower triangle is meaningful."""
    beta: Array
    """b = K^-1 mu."""
    mean: Array
    variance: Array
    cavity_mean: Array
    cavity_variance: Array
    """Negative where the posterior without this row would be improper, as other rows' negative sites can make it."""
    log_det: float
    """ln det(I + T K)."""
    factor: Array | None = None
    """L of L L' = I + T^1/2 K T^1/2, shape (n, n); None when some site is negative."""

    def d_gram(self) -> Array:
        """W = (b b' - G)/2: the gradient of ln Z or of the variational bound with respect to K, shape (n, n)."""
        return _d_gram(self.core, self.root, self.beta)

    def pull(self) -> Array:
        """G = (K + T^-1)^-1, shape (n, n)."""
        return _d_gram(self.core, self.root, np.zeros_like(self.beta)) * -2


def with_positive_diagonal(K: Array) -> Array:
    """Return K, with zeros of its diagonal (where f is known to be 0) raised to a variance that can be divided by."""
    diagonal = np.diag(K)
    least = 1e-12 * (float(diagonal.mean()) or 1.0)
    if diagonal.min() >= least:
        return K
    K = K.copy()
    np.fill_diagonal(K, np.maximum(diagonal, least))
    return K


def site_gaussian(K: Array, tau: Array, nu: Array) -> SiteGaussian:
    """Combine the prior N(0, K) with the sites.

    Raises `NotPositiveDefiniteError` if negative sites make the posterior improper.
    """
    weakest = WEAKEST_SITE / np.maximum(np.diag(K), np.finfo(float).tiny)
    tau = np.where(np.abs(tau) < weakest, weakest, tau)
    root = np.sqrt(np.abs(tau))
    sign = np.sign(tau)
    factor = None
    if np.all(sign > 0):
        core, log_det, factor = _core_by_cholesky(K, root)
    else:
        core, log_det = _core_with_signs(K, root, sign)
    beta = root * blas.dsymv(1.0, core, sign * nu / root, lower=1)
    mean = K @ beta
    variance = _weighted_row_sums(K, core, root) * sign
    if not variance.min() > 0:
        raise NotPositiveDefiniteError("negative sites make the posterior improper")
    cavity_variance = variance / (np.diag(core) * sign)
    cavity_mean = mean - cavity_variance * beta
    return SiteGaussian(tau, nu, root, core, beta, mean, variance, cavity_mean, cavity_variance, log_det, factor)


def site_cholesky(K: Array, tau: Array) -> Array:
    """L L' = I + T^1/2 K T^1/2 for tau >= 0; the factor that predictions need."""
    return cholesky(_scaled_gram(K, np.sqrt(tau), np.ones_like(tau)), overwrite=True)


def _core_by_cholesky(K: Array, root: Array) -> tuple[Array, float, Array]:
    L, info = lapack.dpotrf(_scaled_gram(K, root, np.ones_like(root)), lower=1, clean=0, overwrite_a=1)
    if info != 0:
        raise NotPositiveDefiniteError("I + T^1/2 K T^1/2 is not positive definite: the Gram matrix is not PSD")
    log_det = 2 * float(np.sum(np.log(np.diag(L))))
    # A copy of L costs n^2 numbers; predictions would otherwise have to factorise once more.
    core, _ = lapack.dpotri(L, lower=1)
    return core, log_det, L


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
def _scaled_gram(K, root, diagonal):
    """Lower triangle of diag(diagonal) + r K r, in Fortran order (the upper one is zero)."""
    n = root.size
    A = np.zeros((n, n)).T
    for j in range(n):
        for i in range(j, n):
            A[i, j] = root[i] * K[j, i] * root[j]
        A[j, j] += diagonal[j]
    return A


@njit(cache=True)
def _ordered_gram(K, root, diagonal, order):
    """`_scaled_gram` of reordered rows."""
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


@njit(cache=True)
def _d_gram(core, root, beta):
    """(b b' - r P r)/2 as a full symmetric matrix."""
    n = root.size
    W = np.empty((n, n))
    for j in range(n):
        for i in range(j, n):
            x = 0.5 * (beta[i] * beta[j] - root[i] * core[i, j] * root[j])
            W[j, i] = x
            W[i, j] = x
    return W
