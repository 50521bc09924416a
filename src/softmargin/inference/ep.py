"""Expectation propagation: the mean-field (TAP) posterior and its evidence, for any likelihood with tilted moments.

Each likelihood factor is replaced by a Gaussian site so that the posterior matches the mean and variance of the
tilted density (cavity x factor) at every row. Sites are updated in parallel (see `sites.sweeps`). The fixed point is
that of the mean-field equations (Opper & Winther; Gao, Gunn & Harris, eqs. 3.10 and 3.11); its cavities are
leave-one-out predictions.
"""

import logging
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from softmargin._linalg import Array, NotPositiveDefiniteError
from softmargin.inference._protocol import InferenceDefaults, check_likelihood
from softmargin.inference.posterior import Posterior
from softmargin.inference.sites.gaussian import SiteGaussian, match_moments, site_gaussian, with_positive_diagonal
from softmargin.inference.sites.sweeps import iterate
from softmargin.inference.variational import Variational
from softmargin.likelihoods import Likelihood, TiltedMoments
from softmargin.policy import POLICY

logger = logging.getLogger(__name__)

ROUNDING, LARGEST_ROUNDING = 64 * float(np.finfo(float).eps), 1e-3
"""Relative error of 1 + v h, which a strong site makes small, in units of its inverse; and what is accepted at most."""


class State(NamedTuple):
    """A posterior, the tilted moments at its cavities, and how far the two disagree."""

    gaussian: SiteGaussian
    tilted: TiltedMoments
    residual: float
    target: Array
    """Sites (tau, nu) that would match the tilted moments, shape (2n,)."""

    @property
    def sites(self) -> Array:
        """(tau, nu), shape (2n,)."""
        return np.concatenate([self.gaussian.tau, self.gaussian.nu])

    @property
    def variance(self) -> Array:
        """Posterior variances, shape (n,)."""
        return self.gaussian.variance

    def agrees(self, tol: float) -> bool:
        """Whether tilted and posterior moments agree to `tol`, or to the digits that the tilted variance has.

        That is v (1 + v h), and 1 + v h rounds where the noise is thousands of times smaller than the cavity's spread.
        """
        if self.residual <= tol:
            return True
        g = self.gaussian
        rounding = ROUNDING * float(np.max(g.cavity_variance / g.variance))
        return self.residual <= min(rounding, LARGEST_ROUNDING)

    def log_evidence(self) -> float:
        """ln Z_EP."""
        g = self.gaussian
        m, v = g.cavity_mean, g.cavity_variance
        spread = 1 + g.tau * v
        site = 0.5 * np.log(spread) - (2 * m * g.nu + v * g.nu**2 - m**2 * g.tau) / (2 * spread)
        return float(np.sum(self.tilted.log_z + site) - 0.5 * g.log_det + 0.5 * g.nu @ g.mean)


@dataclass(frozen=True, repr=False)
class EP(InferenceDefaults):
    """Expectation propagation.

    Parameters
    ----------
    tol : float
        Largest allowed disagreement of tilted and posterior moments, in units of the posterior standard deviation
        (means) and relative (variances).
    max_sweeps : int
        Sweeps of one attempt. Attempts: from `start`, from the likelihood's cold start, and twice with more damping
        from the variational posterior, which is the answer, with a warning, if all of them fail.
    gradients : bool
        Whether to fill `d_gram`, the gradient of the evidence, which other criteria have no use for.

    See Also
    --------
    Variational : Slower, and never fails to converge.
    Laplace : Faster, less accurate.
    HMC : Without a Gaussian approximation.

    References
    ----------
    Gao, Gunn & Harris (2003), Mean field method for the support vector machine regression, eqs. 3.4 to 3.11: the fixed
    point is theirs, the iteration is not.

    Examples
    --------
    >>> from softmargin import BayesianSVC
    >>> BayesianSVC(inference=EP(tol=1e-8))
    BayesianSVC(inference=EP(tol=1e-08))
    """

    tol: float = 1e-6
    max_sweeps: int = 60
    gradients: bool = True

    name: ClassVar[str] = "ep"
    gives_cavities: ClassVar[bool] = True
    requires: ClassVar[tuple[str, ...]] = ("tilted_moments", "initial_sites")

    def without_gradients(self) -> Self:
        """Return the same inference without `d_gram`."""
        return replace(self, gradients=False)

    def for_prediction(self) -> Self:
        """Return the same inference without `d_gram`."""
        return self.without_gradients()

    def for_search(self, criterion: Any) -> Self:
        """Return EP with as many digits as the criterion needs.

        ln Z is stationary in the sites, so its error is the square of the tolerance. Leave-one-out is not and needs
        more digits, but has its own gradient.
        """
        if criterion.uses_evidence:
            return replace(self, tol=max(self.tol, POLICY.search.ep_tol))
        return self.without_gradients()

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
        sweeps = 0
        for sites, careful in self._attempts(K, y, likelihood, weight, start):
            state, used = iterate(
                partial(evaluate, K, y, likelihood, weight), sites, self.tol, self.max_sweeps, careful
            )
            sweeps += used
            if state is not None and state.agrees(self.tol):
                return gaussian_posterior(state, sweeps, gradients=self.gradients)
        warnings.warn(
            f"EP did not converge in {sweeps} sweeps; the variational posterior is used instead. "
            "The hyperparameters are extreme: narrow their bounds, or choose inference='variational'.",
            ConvergenceWarning,
            stacklevel=2,
        )
        # The last attempt started at the variational sites.
        fallback = Variational().from_sites(K, y, likelihood, weight, sites)
        return replace(fallback, n_iter=fallback.n_iter + sweeps)

    def _attempts(
        self, K: Array, y: Array, likelihood: Likelihood, weight: Array | None, start: Posterior | None
    ) -> Iterator[tuple[Array, float | None]]:
        """Sites to start from and the share of a careful step, if it is to be careful; in the order to try them."""
        if start is not None and start.site_precision is not None and start.site_shift is not None:
            yield np.concatenate([start.site_precision, start.site_shift]), None
        yield cold_sites(y, likelihood, weight), None
        sites = Variational().sites(K, y, likelihood, weight)
        yield sites, 0.4
        yield sites, 0.1


@dataclass(frozen=True, repr=False)
class ConjugateEP(EP):
    """Expectation propagation from the sites of a Gaussian likelihood, which are its own: no other start is better."""

    def infer(
        self,
        K: Array,
        y: Array,
        likelihood: Likelihood,
        weight: Array | None = None,
        start: Posterior | None = None,
    ) -> Posterior:
        """Infer the posterior over the latent values; see `Inference.infer`."""
        return super().infer(K, y, likelihood, weight)


def cold_sites(y: Array, likelihood: Likelihood, weight: Array | None) -> Array:
    """Sites to start from when nothing is known: the likelihood's own, or none (the prior)."""
    sites = likelihood.initial_sites(y, weight)
    return np.zeros(2 * len(y)) if sites is None else np.concatenate(sites)


def evaluate(K: Array, y: Array, likelihood: Likelihood, weight: Array | None, sites: Array) -> State | None:
    """Posterior and tilted moments at the given sites; None if the posterior or a cavity is improper there."""
    n = len(y)
    try:
        g = site_gaussian(K, sites[:n], sites[n:])
    except NotPositiveDefiniteError:
        return None
    m, v = g.cavity_mean, g.cavity_variance
    if not v.min() > 0:
        return None
    tilted = likelihood.tilted_moments(y, m, v, weight)
    target = np.empty(2 * n)
    residual = match_moments(m, v, tilted.d_mean, tilted.d2_mean, g.mean, g.variance, target)
    return State(g, tilted, residual, target) if np.isfinite(residual) else None


def gaussian_posterior(state: State, sweeps: int, *, gradients: bool = True) -> Posterior:
    g = state.gaussian
    return Posterior(
        beta=g.beta,
        mean=g.mean,
        log_evidence=state.log_evidence(),
        method="ep",
        variance=g.variance,
        site_precision=g.tau,
        site_shift=g.nu,
        factor=g.factor,
        precision_gap=None if g.factor is not None else g.precision_gap(),
        cavity_mean=g.cavity_mean,
        cavity_variance=g.cavity_variance,
        d_gram=g.d_gram() if gradients else None,
        d_params=state.tilted.d_params.sum(axis=1),
        n_iter=sweeps,
    )
