"""Leave-one-out log predictive density from EP's cavities, with its exact gradient through one adjoint solve.

L = sum_i w_i ln of the integral of N(f; m_i, v_i) P(y_i | f), where (m_i, v_i) is EP's cavity: the posterior
without row i. Cavities c and sites s determine each other, s = S(c) and c = c(s, K), so

    dL = L_c dc,  dc = c_s S_c dc + c_K dK + c_s S_C dC   =>   adjoint  w = L_c + S_c' c_s' w.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from softmargin._linalg import Array, LinearMap, gmres, inverse_from_cholesky
from softmargin.criteria._protocol import CriterionDefaults, CriterionValue, Problem
from softmargin.inference import EP, LatentPosterior, Posterior
from softmargin.likelihoods import TiltedMoments


@dataclass(frozen=True, repr=False)
class LeaveOneOut(CriterionDefaults):
    """EP leave-one-out log predictive density in nats, summed over the rows (a merged row counts w times).

    See Also
    --------
    SVMLeaveOneOut : The error of the support vector machine, exactly.
    Span : An estimate of that error.

    References
    ----------
    Gao, Gunn & Harris (2003), Mean field method for the support vector machine regression, eqs. 3.4 to 3.6: the
    predictive distribution of a row from the others.

    Examples
    --------
    >>> from softmargin import BayesianSVC
    >>> BayesianSVC(criterion=LeaveOneOut())
    BayesianSVC(criterion=LeaveOneOut())
    """

    name: ClassVar[str] = "loo"
    is_predictive: ClassVar[bool] = True
    for_regression: ClassVar[bool] = True
    through_inducing_points: ClassVar[bool] = True
    inference: ClassVar[Any] = EP

    def __call__(self, posterior: Posterior, problem: Problem) -> CriterionValue:
        """Return the leave-one-out log density and its gradient."""
        weight = np.ones_like(problem.y) if problem.weight is None else problem.weight
        left_out = leave_one_out(posterior, problem)
        value = float(weight @ left_out.log_z)
        if posterior.factor is None or posterior.cavity_mean is None:
            return CriterionValue(value)
        # dL/dm = w g, dL/dv = w (h + g^2)/2
        g, h = left_out.d_mean, left_out.d2_mean
        d_gram, d_params = _adjoint(posterior, problem, np.concatenate([weight * g, 0.5 * weight * (h + g**2)]))
        return CriterionValue(value, d_gram, d_params + left_out.d_params @ weight)


def leave_one_out(posterior: LatentPosterior, problem: Problem, share: Array | None = None) -> TiltedMoments:
    """Predict each row without it: log_z is ln P(y_i | the others), shape (n,).

    `share` is the part of each row's copies that is left out, shape (n,); None: all of them.

    References
    ----------
    Gao, Gunn & Harris (2003), Mean field method for the support vector machine regression, eqs. 3.4 to 3.6.
    """
    m, v = cavities(posterior, share)
    return problem.likelihood.normalised().tilted_moments(problem.y, m, v)


def cavities(posterior: LatentPosterior, share: Array | None = None) -> tuple[Array, Array]:
    """Leave-one-out mean and variance of f at the training rows, shape (n,) each."""
    found = posterior.cavities(share)
    if found is None:
        raise ValueError(
            f"leave-one-out needs a posterior with variances at the training rows, which inference "
            f"{posterior.method!r} does not give; use inference='ep' or 'variational'"
        )
    return found


class _SiteJacobian(NamedTuple):
    """Derivatives of the sites (tau, nu) with respect to the cavity (m, v) and the likelihood's parameters."""

    tau_m: Array
    tau_v: Array
    nu_m: Array
    nu_v: Array
    tau_params: Array
    nu_params: Array


def _adjoint(posterior: Posterior, problem: Problem, d_cavity: Array) -> tuple[Array, Array]:
    """Pull a gradient with respect to the cavities (m, v), shape (2n,), back to K and to the parameters."""
    assert posterior.site_precision is not None and posterior.factor is not None
    root, beta = np.sqrt(posterior.site_precision), posterior.beta
    P = inverse_from_cholesky(posterior.factor)
    # The arrays of n^2 numbers that the solve needs are gone when the next ones are made.
    a, b, d_params = _solve_adjoint(P, posterior, problem, d_cavity)
    # dSigma = A dK A', dmu = A dK A' nu with A = (I + K T)^-1 = r^-1 P r, and A' nu = beta.
    A = P
    A *= root
    A /= root[:, None]
    Ab = A.T @ b
    d_gram = A.T @ (a[:, None] * A)
    half = 0.5 * np.outer(Ab, beta)
    d_gram += half
    d_gram += half.T
    return d_gram, d_params


@dataclass(frozen=True)
class _AdjointMap(LinearMap):
    """The linear map w -> w - S_c' c_s' w, in units that make means and variances comparable."""

    jacobian: _SiteJacobian
    Sigma: Array
    """Posterior covariance without its diagonal: the cavity of row i does not depend on site i."""
    Sigma2: Array
    """Its squares."""
    mu: Array
    beta: Array
    keep: Array
    """1 - tau_i Sigma_ii."""
    scale: Array
    """Units, shape (2n,)."""

    def __call__(self, u: Array, /) -> Array:
        """Apply it to w = u/scale, and scale the result."""
        w, jacobian = u / self.scale, self.jacobian
        on_tau, on_nu = self.to_sites(w)
        on_m = jacobian.tau_m * on_tau + jacobian.nu_m * on_nu
        on_v = jacobian.tau_v * on_tau + jacobian.nu_v * on_nu
        return (w - np.concatenate([on_m, on_v])) * self.scale

    def to_marginals(self, w: Array) -> tuple[Array, Array]:
        """Weights on dSigma_ii and on dmu_i: v = Sigma/k, m = (mu - Sigma nu)/k, k = 1 - tau Sigma."""
        n = len(self.mu)
        return (w[n:] - w[:n] * self.beta) / self.keep**2, w[:n] / self.keep

    def to_sites(self, w: Array) -> tuple[Array, Array]:
        """c_s' w: dSigma_ii = -sum_j Sigma_ij^2 dtau_j, dmu_i = sum_j Sigma_ij (dnu_j - mu_j dtau_j)."""
        a, b = self.to_marginals(w)
        pulled = self.Sigma @ b
        return -(self.Sigma2 @ a) - self.mu * pulled, pulled


def _solve_adjoint(P: Array, posterior: Posterior, problem: Problem, d_cavity: Array) -> tuple[Array, Array, Array]:
    """Solve w = L_c + S_c' c_s' w; return its weights on dSigma_ii and dmu_i, shape (n,), and dL/d parameters."""
    tau, variance = posterior.site_precision, posterior.variance
    assert tau is not None and variance is not None
    root = np.sqrt(tau)
    # Sigma_ij = -P_ij/(r_i r_j) off the diagonal.
    Sigma = P / -root
    Sigma /= root[:, None]
    np.fill_diagonal(Sigma, 0)
    jacobian, scale = _site_jacobian(posterior, problem), np.concatenate([np.sqrt(variance), variance])
    adjoint = _AdjointMap(jacobian, Sigma, Sigma**2, posterior.mean, posterior.beta, 1 - tau * variance, scale)
    w = gmres(adjoint, d_cavity * scale, rtol=1e-8) / scale
    on_tau, on_nu = adjoint.to_sites(w)
    return *adjoint.to_marginals(w), jacobian.tau_params @ on_tau + jacobian.nu_params @ on_nu


def _site_jacobian(posterior: Posterior, problem: Problem) -> _SiteJacobian:
    """Differentiate tau = -h/q, nu = (g - m h)/q, q = 1 + v h.

    The heat equation d ln Z/dv = (h + g^2)/2 gives dg/dv = (k3 + 2 g h)/2 and dh/dv = (k4 + 2 h^2 + 2 g k3)/2 from the
    third and fourth derivatives of ln Z in m.
    """
    m, v, nu = posterior.cavity_mean, posterior.cavity_variance, posterior.site_shift
    assert m is not None and v is not None and nu is not None
    y, weight, likelihood = problem.y, problem.weight, problem.likelihood
    here = likelihood.tilted_moments(y, m, v, weight)
    g, h = here.d_mean, here.d2_mean
    k3, k4, g_c, h_c = likelihood.tilted_slopes(y, m, v, weight)
    g_v, h_v = 0.5 * (k3 + 2 * g * h), 0.5 * (k4 + 2 * h * h + 2 * g * k3)
    q = 1 + v * h
    return _SiteJacobian(
        tau_m=-k3 / q**2,
        tau_v=(h * h - h_v) / q**2,
        nu_m=-k3 * (m + nu * v) / q,
        nu_v=(g_v - m * h_v - nu * (v * h_v + h)) / q,
        tau_params=-h_c / q**2,
        nu_params=(g_c - (m + nu * v) * h_c) / q,
    )
