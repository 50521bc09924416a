"""Leave-one-out log predictive density of low-rank EP, with its exact gradient through one adjoint solve.

L = sum_i w_i ln of the integral of N(f; m_i, v_i) P(y_i | f) over the cavities v = s_c + D. Cavities (m, s_c) of gamma
and sites (a, c) determine each other, so with lambda = dL/d(m, v) = (w g0, w (h0 + g0^2)/2) the adjoint (w_m, w_s) is

    w = lambda + S' c_s' w,    S = d(a, c)/d(m, s_c),    c_s = d(m, s_c)/d(a, c).

c_s acts through A = (w_s - w_m beta)/k^2 on ds and b = w_m/k on dg, beta = c - a g; with S0 = W'W without its diagonal,
W = C^-1 F, it gives S0 b on c and -(S0 o S0) A - g o S0 b on a, at a cost of 3 n m^2, for GMRES to ask for.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import blas
from sklearn.gaussian_process.kernels import Kernel

from softmargin._linalg import Array, gmres
from softmargin.inference._sparse_sums import Features, WhitenedGaussian, WhitenedPrior, multiply_rows
from softmargin.inference.low_rank.gradients import pull_features
from softmargin.inference.low_rank.posterior import LowRankPosterior
from softmargin.inference.low_rank.sums import Marginals, weighted_gram
from softmargin.likelihoods import Likelihood
from softmargin.rows import Workspace


class LeaveOneOutValue(NamedTuple):
    """Leave-one-out log predictive density in nats, summed over rows (a row of weight w counts w times)."""

    value: float
    d_theta: Array | None
    """With respect to kernel.theta, shape (n_theta,); None if not asked for."""
    d_params: Array | None
    """With respect to the likelihood's parameters, shape (n_params,)."""
    log_z: Array
    """ln P(y_i | the other rows), shape (n,)."""


def low_rank_leave_one_out(
    posterior: LowRankPosterior,
    X: Any,
    y: Array,
    likelihood: Likelihood,
    kernel: Kernel,
    weight: Array | None = None,
    *,
    gradients: bool = True,
    rtol: float = 1e-3,
    features: list[Features] | None = None,
) -> LeaveOneOutValue:
    """Evaluate the leave-one-out log density of an EP posterior, and its gradient in n m numbers of memory.

    Parameters
    ----------
    posterior : LowRankPosterior
        EP's fixed point at these rows, likelihood and kernel. The gradient has as many digits as its convergence.
    X : array or CSR matrix of shape (n, d)
        Rows of inputs.
    y : ndarray of shape (n,)
        Targets.
    likelihood : Likelihood
        The one inferred with; predictions are by its normalised form.
    kernel : Kernel
        Covariance of the prior.
    weight : ndarray of shape (n,), optional
        Weight of each row, its number of copies.
    gradients : bool
        Whether to compute gradients too.
    rtol : float
        Relative accuracy of the adjoint solve.
    features : list of Features, optional
        Those of X under the posterior's prior, block by block, if at hand (`LocalRows.features`).
    """
    w = np.ones_like(y) if weight is None else weight
    left = likelihood.normalised().tilted_moments(y, posterior.cavity_mean, posterior.cavity_variance)
    value = float(w @ left.log_z)
    if not gradients:
        return LeaveOneOutValue(value, None, None, left.log_z)
    prior = WhitenedPrior(kernel, posterior.Z, posterior.prior_factor, posterior.jitter, "float64")
    known = prior.features(X) if features is None else joined(features)
    d_cavity = np.stack([w * left.d_mean, 0.5 * w * (left.d2_mean + left.d_mean**2)])
    adjoint = _adjoint(posterior, prior, known, y, likelihood, weight, d_cavity, rtol)
    d_theta = pull_features(prior, X, known.F, adjoint.d_features, adjoint.d_diag)
    return LeaveOneOutValue(value, d_theta, adjoint.d_params + left.d_params @ w, left.log_z)


def joined(blocks: list[Features]) -> Features:
    """The features of all blocks as one."""
    if len(blocks) == 1:
        return blocks[0]
    return Features(*(np.concatenate(parts) for parts in zip(*((b.F, b.k_diag, b.residual) for b in blocks))))


class _Adjoint(NamedTuple):
    d_features: Array
    """With respect to the rows of features, shape (n, m)."""
    d_diag: Array
    """With respect to k(x_i, x_i), shape (n,)."""
    d_params: Array


class _SiteJacobian(NamedTuple):
    """Derivatives of the sites (a, c) with respect to the cavity (m, s_c), D and the parameters."""

    a_m: Array
    a_s: Array
    c_m: Array
    c_s: Array
    a_D: Array
    c_D: Array
    a_params: Array
    c_params: Array


def _adjoint(
    posterior: LowRankPosterior,
    prior: WhitenedPrior,
    features: Features,
    y: Array,
    likelihood: Likelihood,
    weight: Array | None,
    d_cavity: Array,
    rtol: float,
) -> _Adjoint:
    """Pull a gradient with respect to the cavities (m, v), shape (2, n), back to features, k(x, x) and parameters."""
    q = WhitenedGaussian(posterior.whitened_mean, posterior.precision_factor)
    workspace = Workspace()
    r = Marginals.of(prior, q, np.stack([posterior.a, posterior.c]), features, workspace)
    W, other, n = r.W, Workspace(), len(y)
    J = _site_jacobian(r, likelihood, y, weight)
    beta, scale = r.c - r.a * r.gamma, np.concatenate([np.sqrt(r.s), r.s])

    def to_marginals(w: Array) -> tuple[Array, Array]:
        """Weights on ds_i and on dg_i: s_c = s/k, m = (g - c s)/k, k = 1 - a s."""
        return (w[n:] - w[:n] * beta) / r.keep**2, w[:n] / r.keep

    def to_sites(w: Array) -> tuple[Array, Array]:
        """c_s'w: ds_i = -sum_j S_ij^2 da_j, dg_i = sum_j S_ij (dc_j - g_j da_j)."""
        A, b = to_marginals(w)
        pulled = W @ (b @ W) - r.s * b
        return -_squared_product(W, r.s, A, other) - r.gamma * pulled, pulled

    def residual(u: Array) -> Array:
        w = u / scale
        on_a, on_c = to_sites(w)
        return u - scale * np.concatenate([J.a_m * on_a + J.c_m * on_c, J.a_s * on_a + J.c_s * on_c])

    w = gmres(residual, d_cavity.ravel() * scale, rtol=rtol) / scale
    on_a, on_c = to_sites(w)
    d_diag = d_cavity[1] + J.a_D * on_a + J.c_D * on_c
    d_features = _d_features(r, q, features.F, *to_marginals(w), d_diag, other)
    return _Adjoint(d_features, d_diag, J.a_params @ on_a + J.c_params @ on_c)


def _squared_product(W: Array, s: Array, A: Array, workspace: Workspace) -> Array:
    """(S0 o S0) A of S0 = W W' without its diagonal: row i is w_i' (sum_j A_j w_j w_j') w_i - s_i^2 A_i."""
    M = weighted_gram(W, A, workspace)
    M.flat[:: len(M) + 1] *= 0.5
    # w'Mw = 2 w'Tw, T the lower triangle of M with half its diagonal.
    product = workspace.array("work", W.shape, W.dtype)
    product[...] = W
    product = blas.dtrmm(1.0, M, product.T, lower=1, trans_a=1, overwrite_b=1).T
    return 2 * np.einsum("ij,ij->i", product, W) - s**2 * A


def _d_features(
    r: Marginals, q: WhitenedGaussian, F: Array, A: Array, b: Array, d_diag: Array, workspace: Workspace
) -> Array:
    """Explicit dependence on the features at fixed sites, given weights on ds_i, dg_i and dD_i; shape (n, m).

    With SF = B^-1 F, M = SF diag(A) SF', t = SF b:
    2 SF o A + mu b' - 2 (M F) o a + t beta' - mu (a o F't)' - 2 F o d_D.
    """
    # W is not needed any more: in its memory.
    SF = multiply_rows(q.inverse, r.W, transposed=True, overwrite=True)
    lower = weighted_gram(SF, A, workspace)
    M = lower + np.tril(lower, -1).T
    t = b @ SF
    d = np.multiply(SF, (2 * A)[:, None], out=SF)
    product = np.matmul(F, M, out=workspace.array("work", F.shape, F.dtype))
    product *= (2 * r.a)[:, None]
    d -= product
    d += np.outer(b - r.a * (F @ t), q.mean)
    d += np.outer(r.c - r.a * r.gamma, t)
    d -= np.multiply(F, (2 * d_diag)[:, None], out=product)
    return d


def _site_jacobian(r: Marginals, likelihood: Likelihood, y: Array, weight: Array | None) -> _SiteJacobian:
    """Differentiate a = -h/q, c = (g - m h)/q, q = 1 + s_c h, where g and h depend on m and v = s_c + D.

    The heat equation gives dg/dv and dh/dv from the third and fourth derivatives of ln Z in m.
    """
    here = r.tilted(likelihood, y, weight)
    g, h, m, c, spread = here.d_mean, here.d2_mean, r.cavity_mean, r.c, r.cavity_spread
    k3, k4, g_p, h_p = likelihood.tilted_slopes(y, m, spread + r.D, weight)
    g_v, h_v = 0.5 * (k3 + 2 * g * h), 0.5 * (k4 + 2 * h * h + 2 * g * k3)
    q, lever = 1 + spread * h, m + c * spread
    return _SiteJacobian(
        a_m=-k3 / q**2,
        a_s=(h * h - h_v) / q**2,
        c_m=-k3 * lever / q,
        c_s=(g_v - lever * h_v - c * h) / q,
        a_D=-h_v / q**2,
        c_D=(g_v - lever * h_v) / q,
        a_params=-h_p / q**2,
        c_params=(g_p - lever * h_p) / q,
    )
