"""Laplace's approximation around the SVM's solution, generalised to losses with a kink.

    ln Z = ln p(y | f*) - b'Kb/2 - ln det(I + T K)/2,   f* = K b the most probable function

with T = diag(tau) the curvature of the log-likelihood at f*, or what stands for it:

- hinge: 2 pi [alpha (C - alpha)/C]^2 at marginal rows (Sollich 2002, eq. 32; Gold & Sollich 2003, eq. 15): the
  Gaussian with the integral C/(alpha (C - alpha)) of the two exponential flanks;
  (with ``regularised=False`` det(T K) over these rows in the place of det(I + T K): Sollich 2002, eq. 31);
- epsilon-insensitive: the same with |b| for alpha, at rows on the edge of the tube, where the kink is the same one;
- squared hinge: C exp(-a/(1 - y f*)) at support vectors (Gold & Sollich 2003, eq. 17);
- smooth likelihoods (logistic, Gaussian, Student's t): minus the second derivative;
- normalised hinge (Sollich 2002, eq. 11): minus the second derivative, and at the kink y f = 1 the hinge's formula with
  the jump of the slope in the place of C (`modes/kinked_curvature.py`).

Gradients differentiate f* and tau implicitly through the active set: exact wherever the set does not change.
"""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from scipy.linalg import cho_solve, solve_triangular

from softmargin._linalg import (
    Array,
    NotPositiveDefiniteError,
    cholesky,
    inverse_from_cholesky,
    log_det_from_cholesky,
    shifted_cholesky,
)
from softmargin.inference._protocol import InferenceDefaults, check_likelihood
from softmargin.inference.map import MAP, dual_problem
from softmargin.inference.modes import KinkedCurvature, kinked_curvature
from softmargin.inference.posterior import Posterior
from softmargin.inference.sites.gaussian import site_gaussian
from softmargin.likelihoods import Likelihood
from softmargin.svm import active_set, gather

WEAKEST_SITE = 1e-14
"""Smallest tau_i K_ii kept: a weaker site is none."""


@dataclass(frozen=True, repr=False)
class Laplace(InferenceDefaults):
    """Laplace's approximation.

    Parameters
    ----------
    smoothing : float
        The constant a of the squared hinge's smoothed curvature; a -> 0 gives the jump of the true one.
    regularised : bool
        Whether the identity is added to T K in the determinant at the marginal rows of the hinge and of the tube
        (Sollich 2002, eq. 32). Without it (eq. 31) the linear terms alone are integrated, and the evidence diverges
        where a row becomes marginal or ceases to be so. Predictions do not depend on it, nor do other losses.
    tol : float
        Relative duality gap of the SVM.
    gradients : bool
        Whether to fill `d_gram`, `d_params` and `variance`, which a search without gradients has no use for.

    See Also
    --------
    EP : Closer to the truth.
    MAP : The mode alone.

    References
    ----------
    Sollich (2002), Bayesian methods for support vector machines, eqs. 31 and 32; Gold & Sollich (2003), Model selection
    for support vector machine classification, eqs. 15 to 17.

    Examples
    --------
    >>> from softmargin.likelihoods import Hinge
    >>> K, y = np.array([[2.0, 0.0], [0.0, 2.0]]), np.array([1.0, -1.0])
    >>> round(Laplace().infer(K, y, Hinge(C=1.0)).log_evidence, 4)
    -1.3335
    """

    smoothing: float = 0.1
    regularised: bool = True
    tol: float = 1e-12
    gradients: bool = True

    name: ClassVar[str] = "laplace"
    requires: ClassVar[tuple[str, ...]] = ("log_prob", "derivatives", "map_curvature", "site_precision_at_map")

    def without_gradients(self) -> Self:
        """Return the same inference without `d_gram`."""
        return replace(self, gradients=False)

    def infer(
        self,
        K: Array,
        y: Array,
        likelihood: Likelihood,
        weight: Array | None = None,
        start: Posterior | None = None,
    ) -> Posterior:
        """Infer the posterior over the latent values; see `Inference.infer`."""
        check_likelihood(self, likelihood)
        kink = likelihood.kink(y, weight)
        has_kinks = not likelihood.is_smooth and kink is None
        if has_kinks and likelihood.site_precision_at_map(np.ones(1), np.ones(1), 1.0) is None:
            raise TypeError(
                "inference 'laplace' needs what stands for the curvature at the kinks of a likelihood, and "
                f"{type(likelihood).__name__} does not implement site_precision_at_map. Use inference='ep' with it"
            )
        mode = MAP(tol=self.tol, gradients=self.gradients).infer(K, y, likelihood, weight, start)
        if kink is not None:
            return _curved_kink(K, mode, kinked_curvature(y, likelihood, kink, weight, mode))
        if likelihood.is_smooth:
            return _smooth(K, y, likelihood, weight, mode)
        return _kinked(K, y, likelihood, weight, mode, self)


def _kinked(K: Array, y: Array, likelihood: Any, weight: Array | None, mode: Posterior, settings: Laplace) -> Posterior:
    """The SVM's posterior: curvature on the free rows only, differentiated through the active set."""
    active = active_set(K, dual_problem(likelihood, y, weight), float(likelihood.C), mode.beta, mode.mean)
    C = active.C * (np.ones_like(y) if weight is None else weight)
    F = active.free
    tau, by_alpha, by_C = np.zeros_like(y), np.zeros_like(y), np.zeros_like(y)
    tau[F], by_alpha[F], by_C[F] = likelihood.site_precision_at_map(active.alpha[F], C[F], settings.smoothing)
    posterior, on_tau = _gaussian(K, replace(mode, beta=active.beta, mean=active.mean), tau)
    if not (settings.regularised or np.any(active.problem.ridge)):
        posterior, on_tau = _unregularised(K, posterior, mode)
    if on_tau is None:
        return posterior
    # d alpha = sign(b) db on the free rows
    d_gram, d_params = active.pull_back(on_tau * by_alpha * np.sign(active.beta))
    d_params[0] += on_tau @ (by_C * C) / active.C
    return _add_gradient(posterior, mode, d_gram, d_params[: len(likelihood.param_names)])


def _unregularised(K: Array, posterior: Posterior, mode: Posterior) -> tuple[Posterior, Array | None]:
    """Put -ln det(T K)/2 over the rows with sites in the place of -ln det(I + T K)/2; also its derivative in tau."""
    tau = posterior.site_precision
    assert tau is not None
    rows = np.flatnonzero(tau)
    L = cholesky(gather(K, rows)) if len(rows) else np.empty((0, 0))
    log_det = log_det_from_cholesky(L) + float(np.sum(np.log(tau[rows])))
    posterior = replace(posterior, log_evidence=mode.log_evidence - 0.5 * log_det)
    if mode.d_gram is None:
        return posterior, None
    on_tau, d_gram = np.zeros_like(tau), np.zeros_like(K)
    on_tau[rows] = -0.5 / tau[rows]
    if len(rows):
        d_gram[np.ix_(rows, rows)] = -0.5 * inverse_from_cholesky(L)
    return replace(posterior, d_gram=d_gram), on_tau


def _smooth(K: Array, y: Array, likelihood: Likelihood, weight: Array | None, mode: Posterior) -> Posterior:
    """A Gaussian process: with W = -(ln p)'' the mode moves by (I + K W) df = dK b + K d(slope)."""
    W = likelihood.map_curvature(y, mode.mean, weight)
    posterior, on_tau = _gaussian(K, mode, W.precision) if W.precision.min() >= 0 else _signed(K, mode, W.precision)
    if on_tau is None:
        return posterior
    # g'df with g = on_tau dW/df: u = (I + W K)^-1 g, so that g'df = u'dK b + (K u)'d(slope)/dparam
    u = _solve(K, posterior, on_tau * W.d_f)
    half = np.outer(u, 0.5 * mode.beta)
    by_params = W.d_params @ on_tau + W.slope_d_params @ (K @ u)
    return _add_gradient(posterior, mode, half + half.T, by_params)


def _curved_kink(K: Array, mode: Posterior, curvature: KinkedCurvature) -> Posterior:
    """A likelihood that is curved on both sides of a kink: rows at the kink stay there, the others move."""
    posterior, on_tau = _gaussian(K, mode, curvature.tau)
    if on_tau is None:
        return posterior
    return _add_gradient(posterior, mode, *curvature.pull_back(K, mode.beta, on_tau))


def _solve(K: Array, posterior: Posterior, g: Array) -> Array:
    """(I + W K)^-1 g."""
    if posterior.precision_gap is not None:
        return g - posterior.precision_gap @ (K @ g)
    assert posterior.site_precision is not None
    root = np.sqrt(posterior.site_precision)
    return g - root * cho_solve((posterior.factor, True), root * (K @ g), check_finite=False)


def _signed(K: Array, mode: Posterior, tau: Array) -> tuple[Posterior, Array | None]:
    """`_gaussian` for a likelihood that is not log-concave: some precisions are negative."""
    try:
        g = site_gaussian(K, tau, mode.beta + tau * mode.mean)
    except NotPositiveDefiniteError:
        raise ValueError(
            "inference 'laplace' found a point that is not a maximum of the posterior: this likelihood is not "
            "log-concave and has several explanations of the rows. Use inference='ep' or 'variational'"
        ) from None
    posterior = Posterior(
        beta=mode.beta,
        mean=mode.mean,
        log_evidence=mode.log_evidence - 0.5 * g.log_det,
        method="laplace",
        variance=g.variance,
        site_precision=g.tau,
        site_shift=mode.beta + g.tau * mode.mean,
        factor=g.factor,
        precision_gap=None if g.factor is not None else g.precision_gap(),
        converged=mode.converged,
        n_iter=mode.n_iter,
    )
    if mode.d_gram is None:
        return posterior, None
    return replace(posterior, d_gram=-0.5 * g.precision_gap()), -0.5 * g.variance


def _gaussian(K: Array, mode: Posterior, tau: Array) -> tuple[Posterior, Array | None]:
    """Join mode and precisions into a posterior, without the solution's own change in its gradient.

    Also returns d ln Z/d tau = -Sigma_ii/2, shape (n,); None if the mode comes without gradients.
    """
    n = len(tau)
    tau = np.where(tau * np.diag(K) > WEAKEST_SITE, tau, 0.0)
    rows = np.flatnonzero(tau)
    root = np.sqrt(tau[rows])
    # Only rows with curvature enter: with m of them everything costs m^2 n.
    block = gather(K, rows)
    L = _site_factor(block, root) if len(rows) else block
    factor = np.eye(n)
    factor[np.ix_(rows, rows)] = L
    posterior = Posterior(
        beta=mode.beta,
        mean=mode.mean,
        log_evidence=mode.log_evidence - 0.5 * log_det_from_cholesky(L),
        method="laplace",
        site_precision=tau,
        site_shift=mode.beta + tau * mode.mean,
        factor=factor,
        converged=mode.converged,
        n_iter=mode.n_iter,
    )
    if mode.d_gram is None:
        return posterior, None
    P = inverse_from_cholesky(L) if len(rows) else block
    V = solve_triangular(L, root[:, None] * K[rows], lower=True, check_finite=False) if len(rows) else K[rows]
    k = np.diag(K)
    variance = np.maximum(k - np.einsum("ij,ij->j", V, V), 1e-12 * k)
    # Sigma_ii = sum_j K_ij r_j P_ij / r_i: no cancellation for strong sites, unless rows are nearly equal. Then
    # rounding must not leave the bounds K_ii/(1 + tr T K) <= Sigma_ii <= 1/tau_i.
    strong = np.einsum("ij,j,ij->i", block, root, P) / root
    variance[rows] = np.clip(strong, k[rows] / (1 + tau @ k), 1 / tau[rows])
    # -d/dK ln det(I + T K)/2 = -r P r/2
    d_gram = np.zeros((n, n))
    d_gram[np.ix_(rows, rows)] = -0.5 * root[:, None] * P * root
    return replace(posterior, variance=variance, d_gram=d_gram), -0.5 * variance


def _site_factor(block: Array, root: Array) -> Array:
    """L with L L' = I + T^1/2 K T^1/2."""
    system = root[:, None] * block
    system *= root
    system[np.diag_indices(len(root))] += 1.0
    return shifted_cholesky(system)


def _add_gradient(posterior: Posterior, mode: Posterior, d_gram: Array, d_params: Array) -> Posterior:
    """Add the envelope's gradient (that of ln Q*) and the one through the solution to the determinant's."""
    assert mode.d_gram is not None and mode.d_params is not None and posterior.d_gram is not None
    return replace(posterior, d_gram=posterior.d_gram + mode.d_gram + d_gram, d_params=mode.d_params + d_params)
