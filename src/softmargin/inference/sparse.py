"""Sparse variational inference: m inducing points stand for n rows, at a cost of n m^2 a pass over the rows.

The direct WhitenedGaussian lower bound on the evidence,

    F = sum_i E[w_i ln p(y_i | f_i)] - KL(q(v) || N(0, I)),

with the closed-form expected log-probability of each likelihood, whitened inducing values v = L^-1 f(Z), and
natural-gradient steps S^-1 <- I + A, S^-1 mu <- p + A mu, shortened whenever the bound would drop. Everything that
depends on the rows is a sum over them (see `_sparse_sums`), so the rows may be anywhere (see `_rows`).
With Z = X the bound is that of `Variational`; fewer inducing points only lower it.
"""

import warnings
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.linalg import blas, cho_solve, solve_triangular
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import Kernel

from softmargin._linalg import Array, NotPositiveDefiniteError, cholesky
from softmargin.inference._inducing import inducing_points
from softmargin.inference._protocol import InferenceDefaults, check_likelihood
from softmargin.inference._sparse_sums import (
    RowStatistic,
    RowSums,
    StartStatistic,
    WhitenedGaussian,
    WhitenedPrior,
    multiply_rows,
    solve_rows,
)
from softmargin.inference.posterior import sample_gaussian
from softmargin.kernels import contract, contract_inputs
from softmargin.likelihoods import Likelihood
from softmargin.rows import LocalRows, Summable

LONGEST_STEP = 0.7
"""Share of the way to the natural gradient's target. The precision of a hinge grows as the variance shrinks, so whole
steps overshoot and swing; this one cuts the gap by a factor of 10 a pass on every likelihood."""
NEAR = 10.0
"""Nats per inducing point below which whole steps, Newton's, are tried: with many rows they cut the gap by 100."""
WORTHWHILE = 0.05
"""Whole steps go on as long as each cuts the gap to this share."""


@dataclass(frozen=True)
class SparsePosterior:
    """Latent posterior through m inducing points; predictions cost m^2 a row, whatever n was.

    The latent mean at x is ``k(x, Z) @ beta`` and its variance ``k(x, x) - |L^-1 k|^2 + |M^-1 L^-1 k|^2`` with
    k = k(Z, x), Kzz = L L' and M M' the posterior precision of the whitened inducing values.
    """

    Z: Array
    """Inducing points, shape (m, d)."""
    beta: Array
    """Weights of the latent mean, shape (m,)."""
    whitened_mean: Array
    """mu, shape (m,)."""
    prior_factor: Array = field(repr=False)
    """L, shape (m, m)."""
    precision_factor: Array = field(repr=False)
    """M, shape (m, m)."""
    log_evidence: float
    """The lower bound on ln evidence in nats, all rows together, normalising constants included."""
    d_params: Array
    """d log_evidence / d likelihood parameter, shape (n_params,)."""
    d_theta: Array | None = None
    """d log_evidence / d kernel.theta, shape (n_theta,); None if not asked for."""
    d_Z: Array | None = None
    """d log_evidence / dZ, shape (m, d); None if not asked for."""
    converged: bool = True
    n_iter: int = 0
    """Passes over the rows."""
    method: str = "sparse"

    @property
    def has_variance(self) -> bool:
        """Whether predictions have a variance: yes."""
        return True

    @property
    def is_gaussian(self) -> bool:
        """Whether f at a new row has a normal distribution: yes."""
        return True

    def latent_mean(self, K_star: Array) -> Array:
        """Mean of f at new rows; ``K_star = k(X_new, Z)`` has shape (n_new, m)."""
        return K_star @ self.beta

    def latent_variance(self, K_star: Array, k_diag: Array) -> Array:
        """Variance of f at new rows; ``k_diag = k(x, x)`` has shape (n_new,)."""
        F = solve_rows(self.prior_factor, K_star)
        spread = solve_rows(self.precision_factor, F)
        residual = np.maximum(k_diag - np.einsum("ij,ij->i", F, F), 0)
        # Rounding must not turn a tiny variance negative.
        return np.maximum(residual + np.einsum("ij,ij->i", spread, spread), 1e-12 * k_diag)

    def variance_slope(self, K_star: Array) -> Array:
        """Derivative of the variance of f at new rows with respect to K_star, the shape of K_star."""
        L, M = self.prior_factor, self.precision_factor
        F = solve_rows(L, K_star)
        inner = blas.dtrsm(1.0, M, solve_rows(M, F).T, lower=1, trans_a=1) - F.T
        return 2.0 * blas.dtrsm(1.0, L, inner, lower=1, trans_a=1).T

    def latent_covariance(self, K_star: Array, K_new: Array) -> Array:
        """Joint covariance of f at new rows; ``K_new = k(X_new, X_new)``."""
        F = solve_rows(self.prior_factor, K_star)
        spread = solve_rows(self.precision_factor, F)
        return K_new - F @ F.T + spread @ spread.T

    def sample(self, K_star: Array, K_new: Array, n_samples: int, rng: np.random.RandomState) -> Array:
        """Draw f at new rows jointly, shape (n_new, n_samples)."""
        return sample_gaussian(self.latent_mean(K_star), self.latent_covariance(K_star, K_new), n_samples, rng)

    def with_kernel(self, kernel: Kernel) -> "SparsePosterior | None":
        """What the rows have said of the function values at Z, with the prior of another kernel.

        None where that is not positive definite to rounding.
        """
        prior = WhitenedPrior.at(kernel, self.Z)
        # u = L v for both kernels: v_old = T v_new.
        T = solve_triangular(self.prior_factor, prior.L, lower=True)
        M, identity = self.precision_factor, np.eye(len(self.Z))
        A = T.T @ (M @ M.T - identity) @ T
        try:
            factor = cholesky(identity + 0.5 * (A + A.T))
        except NotPositiveDefiniteError:
            return None
        mean = cho_solve((factor, True), T.T @ (M @ (M.T @ self.whitened_mean)))
        beta = solve_triangular(prior.L, mean, lower=True, trans="T")
        return replace(self, beta=beta, whitened_mean=mean, prior_factor=prior.L, precision_factor=factor)

    def cavities(self, share: Array | None = None) -> None:
        """Return None: the rows are not kept, and none can be left out."""
        return None

    def log_odds(self, likelihood: Likelihood, K_star: Array, k_diag: Array) -> Array:
        """ln P(+1 | x)/P(-1 | x) of a classifier at new rows, averaged over the posterior, shape (n_new,)."""
        mean, variance, link = self.latent_mean(K_star), self.latent_variance(K_star, k_diag), likelihood.normalised()
        one = np.ones(len(mean))
        return link.tilted_moments(one, mean, variance).log_z - link.tilted_moments(-one, mean, variance).log_z

    def log_predictive(self, likelihood: Likelihood, y: Array, K_star: Array, k_diag: Array) -> Array:
        """ln of the probability (density) of y at new rows, averaged over the posterior (Sollich 2002, eq. 33)."""
        variance = self.latent_variance(K_star, k_diag)
        return likelihood.normalised().tilted_moments(y, self.latent_mean(K_star), variance).log_z


class _State(NamedTuple):
    q: WhitenedGaussian
    sums: RowSums
    bound: float

    def target(self) -> tuple[Array, Array]:
        """S^-1 = I + A and S^-1 mu = p + A mu: where the natural gradient points."""
        A = self.sums.precision
        return np.eye(len(A)) + A, self.sums.force + A @ self.q.mean

    def gap(self) -> float:
        """How far the target is from q, as a second-order Kullback-Leibler divergence in nats."""
        M, inverse = self.q.factor, self.q.inverse
        shift = inverse @ (self.sums.force - self.q.mean)
        precision = self.target()[0] - M @ M.T
        scaled = multiply_rows(inverse, multiply_rows(inverse, precision).T)
        return 0.5 * float(np.vdot(shift, shift)) + 0.25 * float(np.vdot(scaled, scaled))


@dataclass(frozen=True, repr=False)
class Sparse(InferenceDefaults):
    """Variational inference with inducing points.

    Parameters
    ----------
    n_inducing : int
        Number of inducing points, when they are not given.
    tol : float
        The distance from the stationary point, as a Kullback-Leibler divergence in nats, that ends the iteration.
    max_iter : int
        Cap on the number of passes over the rows; a ConvergenceWarning says so when it is reached.
    dtype : {"float64", "float32"}
        Precision of the row blocks. Sums over blocks are in float64 always.
    gradient : bool
        Whether to end with a pass for the gradients with respect to kernel.theta.
    gradient_inputs : bool
        Whether that pass includes the inducing points.
    random_state : int, RandomState or None
        For k-means.

    See Also
    --------
    EP : With the Gram matrix of all rows.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from softmargin.likelihoods import Hinge
    >>> X = np.linspace(0, 6, 200)[:, None]
    >>> posterior = Sparse(n_inducing=10).infer_inputs(X, np.sign(np.sin(X[:, 0]) + 1e-9), Hinge(2.0), 9 * RBF(1.5))
    >>> posterior.Z.shape, posterior.converged
    ((10, 1), True)
    """

    n_inducing: int = 512
    tol: float = 1e-6
    max_iter: int = 200
    dtype: str = "float64"
    gradient: bool = False
    gradient_inputs: bool = False
    random_state: Any = 0

    name: ClassVar[str] = "sparse"
    needs_gram: ClassVar[bool] = False
    requires: ClassVar[tuple[str, ...]] = ("expected_log_prob", "initial_sites")

    def infer_inputs(
        self,
        X: Any,
        y: Array,
        likelihood: Likelihood,
        kernel: Kernel,
        weight: Array | None = None,
        Z: Array | None = None,
        start: SparsePosterior | None = None,
    ) -> SparsePosterior:
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
        start : SparsePosterior, optional
            A posterior with as many inducing points at nearby hyperparameters, to warm start from.
        """
        if Z is None:
            Z = inducing_points(X, kernel, self.n_inducing, self.random_state) if start is None else start.Z
        return self.infer_rows(LocalRows(X, y, weight), likelihood, kernel, Z, start)

    def infer_rows(
        self, rows: Summable, likelihood: Likelihood, kernel: Kernel, Z: Array, start: SparsePosterior | None = None
    ) -> SparsePosterior:
        """Infer the posterior from rows anywhere; see `infer_inputs`."""
        check_likelihood(self, likelihood)
        prior = WhitenedPrior.at(kernel, np.asarray(Z, dtype=np.float64), self.dtype)
        q = WhitenedGaussian.prior(len(Z))
        if start is None and likelihood.initial_sites(np.zeros(1)) is not None:
            q = WhitenedGaussian.from_sums(rows.total(StartStatistic(prior, likelihood)))
        if start is not None and len(start.Z) == len(Z):
            q = WhitenedGaussian(start.whitened_mean, start.precision_factor)
        state, n_iter, converged = self._iterate(rows, RowStatistic(prior, q, likelihood))
        if not converged:
            warnings.warn(
                f"the sparse bound was still rising after {n_iter} passes (gap {state.gap():.2g} nats); "
                "raise max_iter or tol",
                ConvergenceWarning,
                stacklevel=3,
            )
        d_theta = d_Z = None
        if self.gradient:
            statistic = RowStatistic(prior, state.q, likelihood, True, self.gradient_inputs)
            sums = rows.total(statistic)
            d_theta, d_Z = _with_prior_part(prior, state.q, sums)
        return SparsePosterior(
            Z=prior.Z,
            beta=blas.dtrsm(1.0, prior.L, state.q.mean[:, None], lower=1, trans_a=1)[:, 0],
            whitened_mean=state.q.mean,
            prior_factor=prior.L,
            precision_factor=state.q.factor,
            log_evidence=state.bound,
            d_params=state.sums.d_params,
            d_theta=d_theta,
            d_Z=d_Z,
            converged=converged,
            n_iter=n_iter + self.gradient,
        )

    def _iterate(self, rows: Summable, statistic: RowStatistic) -> tuple[_State, int, bool]:
        def evaluate(q: WhitenedGaussian) -> _State:
            sums = rows.total(RowStatistic(statistic.prior, q, statistic.likelihood))
            return _State(q, sums, sums.value - q.divergence())

        def attempt(state: _State, length: float) -> _State | None:
            """Go a share of the way; None where rounding leaves no proper Gaussian there."""
            try:
                return evaluate(_step(state, length))
            except NotPositiveDefiniteError:
                return None

        state, longest, near = evaluate(statistic.q), LONGEST_STEP, NEAR * len(statistic.q.mean)
        length = longest
        # Rounding in the blocks moves every row's part of the bound: a smaller drop is no drop.
        noise = 1e-12 if self.dtype == "float64" else 1e-6
        for n_iter in range(1, self.max_iter + 1):
            gap = state.gap()
            if gap <= self.tol:
                return state if self.gradient else _moved(state, length), n_iter, True
            if gap < near:
                length, longest, near = 1.0, 1.0, 0.0
            trial = attempt(state, length)
            slack = noise * (abs(state.bound) + rows.n_rows)
            if trial is not None and trial.bound >= state.bound - slack:
                left = trial.gap() / gap
                if left >= 1 and trial.bound <= state.bound + slack and gap < 1:
                    # All that is left is rounding.
                    return state, n_iter + 1, True
                if left > WORTHWHILE:
                    longest = LONGEST_STEP
                length = min(longest, 2 * length) if left < 1 else 0.7 * length
                state = trial
            else:
                longest = LONGEST_STEP
                length = min(longest, 0.5 * length)
            if length < 1e-6:
                break
        return state, n_iter, state.gap() <= max(1e-3, self.tol)


def _step(state: _State, length: float) -> WhitenedGaussian:
    """Move the natural parameters of q towards their target by a share of the way."""
    precision, shift = state.target()
    M = state.q.factor
    old = M @ M.T
    moved = old @ state.q.mean * (1 - length) + length * shift
    return WhitenedGaussian.from_natural(old + length * (precision - old), moved)


def _moved(state: _State, length: float) -> _State:
    """One more step, which the sums that ended the iteration already tell and which needs no pass.

    The bound stays that of the point that was evaluated, and so would gradients.
    """
    try:
        return state._replace(q=_step(state, length))
    except NotPositiveDefiniteError:
        return state


def _with_prior_part(prior: WhitenedPrior, q: WhitenedGaussian, sums: RowSums) -> tuple[Array, Array | None]:
    """Add what the Gram matrix of the inducing points contributes to the gradient.

    Reverse-mode Cholesky: with Q = sum_i (dF/df_i) f_i' = mu p' + (I - S) A, dF/dKzz = -L^-T sym(tril Q) L^-1 where
    sym mirrors the lower triangle and halves everything.
    """
    assert sums.d_theta is not None
    m = len(q.mean)
    Q = np.outer(q.mean, sums.force) + sums.precision - q.inverse.T @ (q.inverse @ sums.precision)
    lower = np.tril(Q, -1)
    W = -0.5 * (lower + lower.T + np.diag(np.diag(Q)))
    W = blas.dtrsm(1.0, prior.L, W, lower=1, trans_a=1)
    W = blas.dtrsm(1.0, prior.L, W.T, lower=1, trans_a=1)
    d_Z = None if sums.d_Z is None else sums.d_Z + 2 * contract_inputs(prior.kernel, prior.Z, prior.Z, W)
    # The jitter is a share of the mean of the diagonal.
    W = W + prior.jitter * np.trace(W) / m * np.eye(m)
    return sums.d_theta + contract(prior.kernel, prior.Z, W), d_Z
