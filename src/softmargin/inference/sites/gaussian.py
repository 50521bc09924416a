"""Moments of a Gaussian posterior N(f; 0, K) x prod_i N(f_i; nu_i/tau_i, 1/tau_i), without inverting K.

With r = |tau|^1/2 and S = sign(tau), everything follows from P = (S + r K r)^-1:

    G = (K + T^-1)^-1 = r P r           (T = diag(tau))
    b = K^-1 mu = r P S r^-1 nu         (the weights of the latent mean), mu = K b
    Sigma_ii = S_i sum_j K_ij r_j P_ij / r_i
    cavity: v_i = Sigma_ii / (P_ii S_i), m_i = mu_i - v_i b_i

These forms do not cancel, neither for weak sites (tau -> 0) nor for strong ones; `_core.py` makes P.
"""

import math
from dataclasses import dataclass

import numpy as np

from softmargin._compiled import njit
from softmargin._linalg import Array, NotPositiveDefiniteError, shifted_cholesky
from softmargin.inference.sites._core import Core, reordered, scaled_gram

WEAKEST_SITE = 1e-10
"""Smallest |tau_i| K_ii kept: weaker sites are raised to it, which changes the posterior by as little."""


@dataclass
class SiteGaussian:
    """The Gaussian posterior given by a Gram matrix and sites. Arrays have shape (n,)."""

    tau: Array
    nu: Array
    root: Array
    """``r = |tau|^1/2``."""
    beta: Array
    """b = K^-1 mu."""
    mean: Array
    variance: Array
    cavity_mean: Array
    cavity_variance: Array
    """Negative where the posterior without this row would be improper, as other rows' negative sites can make it."""
    core: Core
    """P."""

    @property
    def log_det(self) -> float:
        """ln det(I + T K)."""
        return self.core.log_det

    @property
    def factor(self) -> Array | None:
        """L of L L' = I + T^1/2 K T^1/2, shape (n, n); None when some site is negative."""
        return self.core.factor

    def d_gram(self) -> Array:
        """W = (b b' - G)/2: the gradient of ln Z or of the variational bound with respect to K, shape (n, n)."""
        return _d_gram(self.core, self.root, self.beta)

    def precision_gap(self) -> Array:
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

    Raises `NotPositiveDefiniteError` if negative sites make the posterior improper, or if sites are not finite (1 + v h
    of `match_moments` has no digits left where a site outweighs its cavity by more than 1e16).
    """
    if not (np.all(np.isfinite(tau)) and np.all(np.isfinite(nu))):
        raise NotPositiveDefiniteError("the sites are not finite")
    weakest = WEAKEST_SITE / np.maximum(np.diag(K), np.finfo(float).tiny)
    tau = np.where(np.abs(tau) < weakest, weakest, tau)
    root = np.sqrt(np.abs(tau))
    sign = np.sign(tau)
    core = Core.of(K, root, sign)
    beta = root * core.times(sign * nu / root)
    mean = K @ beta
    variance = core.variances(K, tau, root)
    if not variance.min() > 0:
        raise NotPositiveDefiniteError("negative sites make the posterior improper")
    cavity_variance = variance / (core.diagonal * sign)
    cavity_mean = mean - cavity_variance * beta
    return SiteGaussian(tau, nu, root, beta, mean, variance, cavity_mean, cavity_variance, core)


def site_cholesky(K: Array, tau: Array) -> Array:
    """L L' = I + T^1/2 K T^1/2 for tau >= 0; the factor that predictions need."""
    return shifted_cholesky(scaled_gram(K, np.sqrt(tau), np.ones_like(tau)))


@njit(cache=True, error_model="numpy")
def match_moments(m, v, slope, curvature, mean, variance, target):
    """Fill in the sites that match the tilted moments; return the largest gap between these and the posterior's."""
    n = m.size
    gap = 0.0
    for i in range(n):
        # tau = -h/(1 + v h), nu = (g - m h)/(1 + v h)
        shrink = 1 + v[i] * curvature[i]
        target[i] = -curvature[i] / shrink
        target[n + i] = (slope[i] - m[i] * curvature[i]) / shrink
        mean_gap = abs(m[i] + v[i] * slope[i] - mean[i]) / math.sqrt(variance[i])
        variance_gap = abs(v[i] * shrink / variance[i] - 1)
        # A nan must get through.
        if not (mean_gap <= gap and variance_gap <= gap):
            larger = mean_gap if mean_gap > variance_gap else variance_gap
            gap = larger if mean_gap + variance_gap < np.inf else np.inf
    return gap


def _d_gram(core: Core, root: Array, beta: Array) -> Array:
    """(b b' - r P r)/2 as a full symmetric matrix."""
    order, W = core.order, np.empty(core.inverse.shape)
    if order is None:
        _fill_d_gram(core.lower(), root, beta, W)
        return W
    _fill_d_gram(core.lower(), root[order], beta[order], W)
    return reordered(W, np.argsort(order))


@njit(cache=True)
def _fill_d_gram(core, root, beta, W):
    n = root.size
    for j in range(n):
        for i in range(j, n):
            x = 0.5 * (beta[i] * beta[j] - root[i] * core[i, j] * root[j])
            W[j, i] = x
            W[i, j] = x
