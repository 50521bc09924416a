"""The gradient of low-rank EP's evidence with respect to the kernel, and the chain rule from features to kernel.theta.

At the fixed point ln Z is stationary in the sites, so that only the explicit dependence on features and prior variances
counts: with d, h the derivatives of ln Z_i in the cavity mean and S = B^-1,

    d ln Z/dk_ii = (h + d^2)/2 = G_i,    d ln Z/df_i = d mu + [d (a g - c)/k + (h + d^2)/k] S f_i - 2 G_i f_i.

With G_f = d/df_i as columns, F = L^-1 Kzx gives d/dKzx = L^-T G_f and d/dKzz = -L^-T sym(G_f F') L^-1/2.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import blas

from softmargin._linalg import Array
from softmargin.inference._sparse_sums import Features, RowSums, WhitenedGaussian, WhitenedPrior, multiply_rows
from softmargin.inference.low_rank.sums import Marginals
from softmargin.kernels import contract, contract_cross, contract_diag
from softmargin.likelihoods import Likelihood
from softmargin.rows import Mappable, Workspace


def evidence_gradient(
    rows: Mappable, prior: WhitenedPrior, q: WhitenedGaussian, likelihood: Likelihood, sites: Array
) -> Array:
    """d ln Z_EP/d kernel.theta at the fixed point, shape (n_theta,).

    Parameters
    ----------
    rows : Mappable
    prior : WhitenedPrior
    q : WhitenedGaussian
        Posterior of the whitened inducing values.
    likelihood : Likelihood
    sites : ndarray of shape (2, n)
        (a, c).
    """
    sums = rows.map_rows(GradientStatistic(prior, q, likelihood), sites).total
    return sums.d_theta + contract(prior.kernel, prior.Z, _d_inducing(prior, sums.precision))


@dataclass(frozen=True)
class GradientStatistic:
    """A block's part of the evidence gradient: d_theta through k(x, Z) and k(x, x), and sum_i G_f f' as a matrix."""

    prior: WhitenedPrior
    q: WhitenedGaussian
    likelihood: Likelihood

    def __call__(
        self, X: Any, y: Array, weight: Array | None, state: Array, features: Features, workspace: Workspace
    ) -> tuple[RowSums, None]:
        """Evaluate a block with sites `state` = (a, c)."""
        r = Marginals.of(self.prior, self.q, state, features, workspace)
        tilted = r.tilted(self.likelihood, y, weight)
        d = tilted.d_mean
        d_diag = 0.5 * (tilted.d2_mean + d**2)
        along = (d * (r.a * r.gamma - r.c) + 2 * d_diag) / r.keep
        # S f_i = C^-T C^-1 f_i.
        d_features = multiply_rows(self.q.inverse, np.asarray(r.W, dtype=np.float64), transposed=True, overwrite=True)
        d_features *= along[:, None]
        d_features += d[:, None] * self.q.mean
        d_features -= (2 * d_diag)[:, None] * features.F
        return pull_block(self.prior, X, features.F, d_features, d_diag), None


def pull_block(prior: WhitenedPrior, X: Any, F: Any, d_features: Array, d_diag: Array) -> RowSums:
    """A block's part of the chain rule, given gradients with respect to f_i, shape (rows, m), and k(x_i, x_i)."""
    F = np.asarray(F, dtype=np.float64)
    d_inducing = blas.dgemm(1.0, d_features.T, F.T, trans_b=1)
    d_cross = back_substitute(prior.L, d_features)
    d_theta = contract_cross(prior.kernel, X, prior.Z, d_cross) + contract_diag(prior.kernel, X, d_diag)
    return RowSums(0.0, np.zeros(0), d_inducing, np.zeros(0), d_theta)


def pull_features(prior: WhitenedPrior, X: Any, F: Array, d_features: Array, d_diag: Array) -> Array:
    """Turn gradients with respect to f_i and k(x_i, x_i) of all rows into one with respect to kernel.theta."""
    sums = pull_block(prior, X, F, d_features, d_diag)
    assert sums.d_theta is not None
    return sums.d_theta + contract(prior.kernel, prior.Z, _d_inducing(prior, sums.precision))


def back_substitute(L: Array, rows: Array) -> Array:
    """(L^-T rows')', shape (n, m), in the memory of `rows` if they are C-ordered."""
    rows = np.asarray(rows, dtype=np.float64)
    return blas.dtrsm(1.0, L, rows.T, lower=1, trans_a=1, overwrite_b=1).T


def _d_inducing(prior: WhitenedPrior, matrix: Array) -> Array:
    """d/dKzz = -L^-T sym(G_f F') L^-1/2, shape (m, m), with the jitter's share of the mean of the diagonal."""
    m = len(matrix)
    W = back_substitute(prior.L, -0.25 * (matrix + matrix.T))
    W = back_substitute(prior.L, np.ascontiguousarray(W.T))
    W = 0.5 * (W + W.T)
    W.flat[:: m + 1] += prior.jitter * np.trace(W) / m
    return W
