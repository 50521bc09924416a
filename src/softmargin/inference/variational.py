"""The best Gaussian under the evidence lower bound: it cannot diverge, and its evidence is a strict lower bound.

Same sites as expectation propagation, with tau = -2 d E/dv and nu = d E/dm + m tau at the posterior marginals
(m, v), where E is the expected log-probability; steps are halved whenever the bound would drop, and close to the
maximum Anderson acceleration takes over.
"""

import warnings
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from softmargin._linalg import Array, NotPositiveDefiniteError
from softmargin.inference._protocol import InferenceDefaults, check_likelihood
from softmargin.inference.posterior import Posterior
from softmargin.inference.sites.anderson import Anderson
from softmargin.inference.sites.gaussian import SiteGaussian, site_gaussian, with_positive_diagonal
from softmargin.likelihoods import ExpectedLogProb, Likelihood

ACCELERATE_BELOW = 0.1
"""Residual below which Anderson acceleration replaces damped steps."""
PATIENCE = 12
"""Evaluations without a gain beyond rounding, of the bound or of the residual, after which there is none to be had:
with weights of 1e12 the mean has four digits."""


class _State(NamedTuple):
    gaussian: SiteGaussian
    expected: ExpectedLogProb
    bound: float

    def target_sites(self) -> Array:
        tau = -2 * self.expected.d_var
        return np.concatenate([tau, self.expected.d_mean + self.gaussian.mean * tau])

    def residual(self) -> float:
        """Distance to the stationary point in posterior standard deviations (mean) and relative (precision)."""
        g, (tau, nu) = self.gaussian, np.split(self.target_sites(), 2)
        shift = np.abs((nu - tau * g.mean) - g.beta) * np.sqrt(g.variance)
        return float(max(shift.max(), np.max(np.abs(tau - g.tau) * g.variance)))

    def is_no_worse_than(self, other: "_State") -> bool:
        """Whether to move here: the bound must not drop; where it is flat to rounding, the residual decides."""
        size = max(abs(other.bound), 1.0)
        if self.bound >= other.bound - 1e-13 * size:
            return True
        return self.bound >= other.bound - 1e-9 * size and self.residual() < 0.9 * other.residual() < 1e-2


@dataclass
class _Progress:
    """The best bound and residual so far, and the evaluations since one of them was gained."""

    bound: float = -np.inf
    residual: float = np.inf
    waited: int = 0

    def has_ended(self, bound: float, residual: float) -> bool:
        """Whether nothing has been gained for long, these included."""
        gained = bound > self.bound + 1e-12 * abs(bound) or residual < 0.9 * self.residual
        self.waited = 0 if gained else self.waited + 1
        self.bound, self.residual = max(self.bound, bound), min(self.residual, residual)
        return self.waited > PATIENCE


@dataclass(frozen=True, repr=False)
class Variational(InferenceDefaults):
    """Gaussian variational inference.

    Parameters
    ----------
    tol : float
        Largest allowed distance to the stationary point, in units of the posterior standard deviation.
    max_iter : int
        Cap on the number of bound evaluations; a ConvergenceWarning says so when it is reached.

    See Also
    --------
    EP : The default, usually closer to the truth.

    References
    ----------
    Sollich (2000), Probabilistic methods for support vector machines, last paragraph of section 2 (page 355): the
    optimal Gaussian has the covariance (D + K^-1)^-1 with a diagonal D.

    Examples
    --------
    >>> from softmargin import BayesianSVC
    >>> BayesianSVC(inference=Variational())
    BayesianSVC(inference=Variational())
    """

    tol: float = 1e-7
    max_iter: int = 300

    name: ClassVar[str] = "variational"
    requires: ClassVar[tuple[str, ...]] = ("expected_log_prob",)

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
        K = with_positive_diagonal(K)
        sites = np.zeros(2 * len(y))
        if start is not None and start.site_precision is not None and start.site_shift is not None:
            sites = np.concatenate([start.site_precision, start.site_shift])
        return self.from_sites(K, y, likelihood, weight, sites)

    def from_sites(self, K: Array, y: Array, likelihood: Likelihood, weight: Array | None, sites: Array) -> Posterior:
        """Infer the posterior from given sites (tau, nu) of shape (2n,); K has a positive diagonal."""
        state, n_iter, converged = self._iterate(K, y, likelihood, weight, sites)
        if not converged:
            warnings.warn(
                f"the variational bound was still rising after {n_iter} evaluations; raise max_iter",
                ConvergenceWarning,
                stacklevel=2,
            )
        g = state.gaussian
        return Posterior(
            beta=g.beta,
            mean=g.mean,
            log_evidence=state.bound,
            method="variational",
            variance=g.variance,
            site_precision=g.tau,
            site_shift=g.nu,
            factor=g.factor,
            precision_gap=None if g.factor is not None else g.precision_gap(),
            d_gram=g.d_gram(),
            d_params=state.expected.d_params.sum(axis=1),
            converged=converged,
            n_iter=n_iter,
        )

    def sites(self, K: Array, y: Array, likelihood: Likelihood, weight: Array | None = None) -> Array:
        """The sites (tau, nu) alone, loosely converged, for others to start from; shape (2n,)."""
        loose = Variational(tol=1e-3, max_iter=100)
        state, _, _ = loose._iterate(K, y, likelihood, weight, np.zeros(2 * len(y)))
        return np.concatenate([state.gaussian.tau, state.gaussian.nu])

    def _iterate(
        self, K: Array, y: Array, likelihood: Likelihood, weight: Array | None, sites: Array
    ) -> tuple[_State, int, bool]:
        first = _evaluate(K, y, likelihood, weight, sites)
        state = _evaluate(K, y, likelihood, weight, np.zeros(2 * len(y))) if first is None else first
        assert state is not None
        anderson, length, damp, progress = Anderson(), 1.0, False, _Progress()
        for iteration in range(1, self.max_iter + 1):
            residual = state.residual()
            if residual <= self.tol:
                return state, iteration, True
            if progress.has_ended(state.bound, residual):
                break
            g = state.gaussian
            sites = np.concatenate([g.tau, g.nu])
            step = state.target_sites() - sites
            if residual < ACCELERATE_BELOW and not damp:
                proposal = anderson.propose(sites, step, np.concatenate([g.variance, np.sqrt(g.variance)]))
                # Extrapolation must not make a site negative that has no reason to be.
                n = len(y)
                proposal[:n] = np.maximum(proposal[:n], np.minimum(np.minimum(sites + step, sites)[:n], 0))
            else:
                proposal = sites + length * step
            trial = _evaluate(K, y, likelihood, weight, proposal)
            if trial is not None and trial.is_no_worse_than(state):
                length = min(1.0, 2 * length if trial.residual() < residual else length * 0.7)
                state, damp = trial, False
            else:
                anderson.clear()
                length, damp = length * 0.5, True
            if length < 1e-8:
                break
        return state, iteration, state.residual() <= 1e-4


def _evaluate(K: Array, y: Array, likelihood: Likelihood, weight: Array | None, sites: Array) -> _State | None:
    """The bound at the given sites; None if negative ones make the posterior improper."""
    n = len(y)
    try:
        g = site_gaussian(K, sites[:n], sites[n:])
    except NotPositiveDefiniteError:
        return None
    expected = likelihood.expected_log_prob(y, g.mean, g.variance, weight)
    # bound = sum E - KL, KL = (b'mu - sum tau Sigma + ln det(I + TK))/2
    divergence = 0.5 * (g.beta @ g.mean - g.tau @ g.variance + g.log_det)
    return _State(g, expected, float(expected.value.sum() - divergence))
