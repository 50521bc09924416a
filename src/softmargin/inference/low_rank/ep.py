"""Expectation propagation in a low-rank prior: EP for any likelihood with tilted moments at a cost of 2 n m^2 a sweep.

The prior is FITC's (Snelson & Ghahramani 2006), Cov f = F'F + diag(D), with one site per row (Naish-Guzman & Holden
2007); see `sums` for the equations and `sites.sweeps` for the iteration. With inducing points at the rows it is full
EP.

    ln Z = c'g/2 - sum ln C_jj + sum_i [ln Z_i - ln(k_i)/2 + (a_i g_i^2 - 2 c_i g_i + c_i^2 s_i)/(2 k_i)].
"""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.linalg import blas
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import Kernel

from softmargin._linalg import Array, NotPositiveDefiniteError
from softmargin.inference._inducing import inducing_points
from softmargin.inference._protocol import InferenceDefaults, check_likelihood
from softmargin.inference._sparse_sums import WhitenedGaussian, WhitenedPrior
from softmargin.inference.ep import LARGEST_ROUNDING
from softmargin.inference.low_rank.gradients import evidence_gradient
from softmargin.inference.low_rank.posterior import LowRankPosterior
from softmargin.inference.low_rank.sums import SiteStatistic, StartStatistic, TiltedStatistic, TiltedSums
from softmargin.inference.sites.sweeps import iterate
from softmargin.likelihoods import Likelihood
from softmargin.rows import LocalRows, Mappable

JITTER = 1e-8
"""Least jitter of Kzz, relative to the mean of its diagonal. D puts what it takes back, and gradients keep 7 digits."""


class State(NamedTuple):
    """A posterior of u, and how far its rows' moments are from the tilted ones."""

    q: WhitenedGaussian
    sites: Array
    """(a, c), shape (2n,)."""
    sums: TiltedSums
    rows: Array
    """Matching a and c, posterior variance, cavity mean, cavity variance and D of each row, shape (6, n)."""
    value: float
    """c'g/2 - sum ln C_jj."""
    rounding: float
    """Relative error of 1 + v h in units of its inverse."""

    @property
    def target(self) -> Array:
        """The sites that match the tilted moments, shape (2n,)."""
        return self.rows[:2].ravel()

    @property
    def variance(self) -> Array:
        """Posterior variances of f, shape (n,)."""
        return self.rows[2]

    @property
    def residual(self) -> float:
        """Largest gap between tilted and posterior moments."""
        return self.sums.residual

    @property
    def log_evidence(self) -> float:
        """ln Z_EP."""
        return self.value + self.sums.value

    def agrees(self, tol: float) -> bool:
        """Whether the moments agree to `tol`, or to the digits that 1 + v h has."""
        return self.residual <= max(tol, min(self.rounding * self.sums.confidence, LARGEST_ROUNDING))


@dataclass(frozen=True, repr=False)
class LowRankEP(InferenceDefaults):
    """Expectation propagation with inducing points.

    Parameters
    ----------
    n_inducing : int
        Number of inducing points, when they are not given.
    tol : float
        Largest allowed disagreement of tilted and posterior moments, in units of the posterior standard deviation
        (means) and relative (variances).
    max_sweeps : int
        Sweeps of one attempt: from `start`, then from the likelihood's cold start. The better state is the answer, with
        a warning, if both fail.
    dtype : {"float64", "float32"}
        Precision of the row blocks; sums over blocks are in float64 always. Single precision allows a `tol` of 1e-3.
    gradients : bool
        Whether to fill `d_theta`, the gradient of the evidence with respect to kernel.theta.
    random_state : int, RandomState or None
        For k-means.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from softmargin.likelihoods import Hinge
    >>> X = np.linspace(0, 6, 200)[:, None]
    >>> posterior = LowRankEP(n_inducing=10).infer_inputs(X, np.sign(np.sin(X[:, 0]) + 1e-9), Hinge(2.0), 9 * RBF(1.5))
    >>> posterior.Z.shape, posterior.converged
    ((10, 1), True)
    """

    n_inducing: int = 512
    tol: float = 1e-6
    max_sweeps: int = 60
    dtype: str = "float64"
    gradients: bool = False
    random_state: Any = 0

    name: ClassVar[str] = "ep"
    needs_gram: ClassVar[bool] = False
    gives_cavities: ClassVar[bool] = True
    requires: ClassVar[tuple[str, ...]] = ("tilted_moments", "initial_sites")

    def infer_inputs(
        self,
        X: Any,
        y: Array,
        likelihood: Likelihood,
        kernel: Kernel,
        weight: Array | None = None,
        Z: Array | None = None,
        start: LowRankPosterior | None = None,
    ) -> LowRankPosterior:
        """Infer the posterior from rows in this process.

        Parameters
        ----------
        X : array, memmap or CSR matrix of shape (n, d)
            Rows of inputs.
        y : ndarray of shape (n,)
            Labels -1 and +1, or regression targets.
        likelihood : Likelihood
            p(y given f), with its parameters.
        kernel : Kernel
            Covariance of the prior.
        weight : ndarray of shape (n,), optional
            A row of weight w stands for w identical rows.
        Z : ndarray of shape (m, d), optional
            Inducing points; None: those of `start`, else by k-means in units of the length scales.
        start : LowRankPosterior, optional
            A posterior of the same rows at nearby hyperparameters, of any rank, to warm start from.
        """
        if Z is None:
            Z = inducing_points(X, kernel, self.n_inducing, self.random_state) if start is None else start.Z
        return self.infer_rows(LocalRows(X, y, weight), likelihood, kernel, Z, start)

    def prior(self, kernel: Kernel, Z: Array) -> WhitenedPrior:
        """The prior at inducing points, factorised."""
        return WhitenedPrior.at(kernel, np.asarray(Z, dtype=np.float64), self.dtype, JITTER)

    def infer_rows(
        self,
        rows: Mappable,
        likelihood: Likelihood,
        kernel: Kernel,
        Z: Array,
        start: LowRankPosterior | None = None,
    ) -> LowRankPosterior:
        """Infer the posterior from rows anywhere; see `infer_inputs`."""
        return self.infer_prior(rows, likelihood, self.prior(kernel, Z), start)

    def infer_prior(
        self, rows: Mappable, likelihood: Likelihood, prior: WhitenedPrior, start: LowRankPosterior | None = None
    ) -> LowRankPosterior:
        """Infer the posterior given a factorised prior, of which `rows` may know the features; see `infer_inputs`."""
        check_likelihood(self, likelihood)

        def evaluate(sites: Array) -> State | None:
            return _evaluate(rows, prior, likelihood, sites)

        best, sweeps, converged = None, 0, False
        for sites in _attempts(rows, prior, likelihood, start):
            state, used = iterate(evaluate, sites.ravel(), self.tol, self.max_sweeps)
            sweeps += used
            if state is not None and (best is None or state.residual < best.residual):
                best = state
            converged = best is not None and best.agrees(self.tol)
            if converged:
                break
        assert best is not None
        if not converged:
            warnings.warn(
                f"low-rank EP did not converge in {sweeps} sweeps (moments disagree by {best.residual:.2g}). "
                "The hyperparameters are extreme: narrow their bounds",
                ConvergenceWarning,
                stacklevel=3,
            )
        d_theta = (
            evidence_gradient(rows, prior, best.q, likelihood, best.sites.reshape(2, -1)) if self.gradients else None
        )
        return _posterior(prior, best, sweeps, converged, d_theta)


def _attempts(
    rows: Mappable, prior: WhitenedPrior, likelihood: Likelihood, start: LowRankPosterior | None
) -> Iterator[Array]:
    """Sites (a, c) to start from, in the order to try them."""
    n = rows.n_rows
    # The likelihood's own sites, if it has some, and the variances D that this rank leaves unexplained.
    tau, nu, D = rows.map_rows(StartStatistic(prior, likelihood), np.zeros((0, n))).rows  # type: ignore[misc]
    if start is not None and start.a.shape == (n,):
        yield start.sites_at(D) if start.Z is not prior.Z else np.stack([start.a, start.c])
    cold = np.stack([tau, nu]) / (1 + tau * D)
    yield cold


def _evaluate(rows: Mappable, prior: WhitenedPrior, likelihood: Likelihood, sites: Array) -> State | None:
    """One sweep: the posterior of u and the rows' moments; None if the posterior or a cavity is improper."""
    state = sites.reshape(2, -1)
    sums = rows.map_rows(SiteStatistic(prior), state).total
    B = sums.precision
    B.flat[:: len(B) + 1] += 1
    try:
        q = WhitenedGaussian.from_natural(B, sums.force)
    except NotPositiveDefiniteError:
        return None
    tilted, values = rows.map_rows(TiltedStatistic(prior, q, likelihood), state)
    if not np.isfinite(tilted.residual):
        return None
    assert values is not None
    log_det = float(np.sum(np.log(np.diag(q.factor))))
    rounding = 64 * float(np.finfo(prior.dtype).eps)
    return State(q, sites, tilted, values, 0.5 * float(sums.force @ q.mean) - log_det, rounding)


def _posterior(
    prior: WhitenedPrior, state: State, sweeps: int, converged: bool, d_theta: Array | None
) -> LowRankPosterior:
    a, c = state.sites.reshape(2, -1)
    variance, cavity_mean, cavity_variance, D = state.rows[2:]
    return LowRankPosterior(
        Z=prior.Z,
        beta=blas.dtrsv(prior.L, state.q.mean, lower=1, trans=1),
        whitened_mean=state.q.mean,
        prior_factor=prior.L,
        precision_factor=state.q.factor,
        log_evidence=state.log_evidence,
        d_params=state.sums.d_params,
        d_theta=d_theta,
        converged=converged,
        n_iter=sweeps,
        a=a,
        c=c,
        variance=variance,
        cavity_mean=cavity_mean,
        cavity_variance=cavity_variance,
        D=D,
        jitter=prior.jitter,
        residual=state.residual,
    )
