"""The mean-field iteration of Gao, Gunn & Harris (section 4), kept for reproduction; `EP` finds the same fixed point.

Inner steps move the weights of the latent mean, w <- w + eta (F/G - w), at cavity means K w - sigma^2 w (eqs. 3.7 and
3.10); every M of them an outer step updates the cavity variances (eq. 3.11),

    Sigma_i = -sigma_i^2 - 1/(dw_i/dm_i),    sigma_i^2 = 1/[(Sigma + K)^-1]_ii - Sigma_i.

The derivative dw_i/dm_i is the exact one: with the printed eq. 3.12 the first outer step already fails. In EP's words
1/Sigma is the site precision tau and sigma^2 the cavity variance. The paper starts from random weights; we start from
zero, or from a given posterior, as the fixed point does not depend on it.
"""

import warnings
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from softmargin._linalg import Array
from softmargin.inference._protocol import InferenceDefaults, check_likelihood
from softmargin.inference.ep import evaluate, gaussian_posterior
from softmargin.inference.posterior import Posterior
from softmargin.inference.variational import Variational
from softmargin.likelihoods import Likelihood, TiltedMoments

ORDERS = ("sequential", "parallel")
PATIENCE = 40
"""Outer steps without a clear gain after which the iteration is said to cycle."""


@dataclass(frozen=True, repr=False)
class MeanField(InferenceDefaults):
    """Mean-field iteration with a learning rate.

    Parameters
    ----------
    eta : float
        Learning rate of the weights, the paper's 0.05.
    n_inner : int
        Inner steps for each outer step (M).
    order : {"sequential", "parallel"}
        Whether each weight's update is seen by the next one. The paper does not say; with its eta = 0.05 the sequential
        iteration converges where the parallel one, which is quicker per step, cycles.
    adaptive : bool
        Whether the rate follows the data, which the paper proposes without saying how: here it is halved after a sweep
        whose steps F/G - w have become larger, down to eta/20, and grows by a tenth after any other, up to one.
    jitter : float
        Added to the diagonal of K, the paper's third remedy for an iteration that does not converge. It changes the
        model: so much white noise is part of the latent function.
    tol : float
        Largest allowed disagreement of tilted and posterior moments at the end, as in `EP`.
    max_outer : int
        Cap on the outer steps.

    See Also
    --------
    EP : With the correlations of the latent values.

    References
    ----------
    Gao, Gunn & Harris (2003), Mean field method for the support vector machine regression, section 4, eqs. 3.7, 3.10
    and 3.11, and the exact derivative in the place of eq. 3.12.

    Examples
    --------
    >>> import numpy as np
    >>> from softmargin.likelihoods import EpsilonInsensitive
    >>> K, t = np.array([[1.0, 0.5], [0.5, 1.0]]), np.array([0.3, -0.2])
    >>> MeanField().infer(K, t, EpsilonInsensitive(C=5.0, epsilon=0.1)).mean.round(3)
    array([ 0.263, -0.168])
    """

    eta: float = 0.05
    n_inner: int = 30
    order: str = "sequential"
    adaptive: bool = False
    jitter: float = 0.0
    tol: float = 1e-6
    max_outer: int = 2000

    name: ClassVar[str] = "mean_field"
    requires: ClassVar[tuple[str, ...]] = ("tilted_moments",)

    def __post_init__(self) -> None:
        if self.order not in ORDERS:
            raise ValueError(f"unknown order {self.order!r}; choose one of {ORDERS}")
        if self.eta <= 0 or self.jitter < 0:
            raise ValueError(f"eta must be positive and jitter not negative; got eta={self.eta}, jitter={self.jitter}")

    def infer(
        self,
        K: Array,
        y: Array,
        likelihood: Likelihood,
        weight: Array | None = None,
        start: Posterior | None = None,
    ) -> Posterior:
        """Infer the posterior over the latent values; see `Inference.infer`.

        A run that cycles ends with a ConvergenceWarning and the variational posterior.
        """
        check_likelihood(self, likelihood)
        K = K + self.jitter * np.eye(len(y)) if self.jitter else K
        rate = _Rate(self.eta, self.adaptive, self.eta / 20)
        w, v = np.zeros_like(y), np.diag(K).copy()
        if start is not None and start.cavity_variance is not None:
            w, v = start.beta, start.cavity_variance
        best, waited = np.inf, 0
        for outer in range(1, self.max_outer + 1):
            # Rates too large for weights of 1e12 overflow soon: the sites are then not finite.
            with np.errstate(over="ignore", invalid="ignore"):
                w = self._inner(K, y, likelihood, weight, w, v, rate)
                sites = _sites(K @ w - v * w, v, likelihood.tilted_moments(y, K @ w - v * w, v, weight))
                state = evaluate(K, y, likelihood, weight, sites) if np.all(np.isfinite(sites)) else None
            if state is None:
                break
            if state.residual <= self.tol:
                posterior = gaussian_posterior(state, outer * self.n_inner)
                return replace(posterior, method=self.name)
            waited = 0 if state.residual < 0.99 * best else waited + 1
            best = min(best, state.residual)
            if waited > PATIENCE:
                break
            v = state.gaussian.cavity_variance
        return self._give_up(K, y, likelihood, weight, outer, best)

    def _inner(
        self, K: Array, y: Array, likelihood: Likelihood, weight: Array | None, w: Array, v: Array, rate: "_Rate"
    ) -> Array:
        """M steps of the weights at fixed cavity variances."""
        sweep = _parallel if self.order == "parallel" else _sequential
        for _ in range(self.n_inner):
            w, size = sweep(K, y, likelihood, weight, w, v, rate.eta)
            rate.adapt(size)
        return w

    def _give_up(
        self, K: Array, y: Array, likelihood: Likelihood, weight: Array | None, outer: int, best: float
    ) -> Posterior:
        warnings.warn(
            f"the mean-field iteration with eta={self.eta:g} did not converge: after {outer} outer steps of "
            f"{self.n_inner} the moments still disagree by {best:.1e} at best (it cycles). The variational posterior "
            "is used instead. Lower eta, set adaptive=True or order='sequential', or choose inference='ep', which has "
            "the same fixed point.",
            ConvergenceWarning,
            stacklevel=3,
        )
        fallback = Variational().infer(K, y, likelihood, weight)
        return replace(fallback, n_iter=outer * self.n_inner)


@dataclass
class _Rate:
    """The learning rate, and what it adapts to."""

    eta: float
    adaptive: bool
    smallest: float
    last: float = np.inf
    largest: float = 0.0

    def adapt(self, size: float) -> None:
        """Take into account the size of a sweep's steps before they were multiplied by the rate."""
        # Steps of the size of rounding say nothing of the rate.
        if self.adaptive and size > 1e-10 * self.largest:
            self.largest = max(size, self.largest)
            self.eta = max(0.5 * self.eta, self.smallest) if size > self.last else min(1.1 * self.eta, 1.0)
            self.last = size


def _parallel(
    K: Array, y: Array, likelihood: Likelihood, weight: Array | None, w: Array, v: Array, eta: float
) -> tuple[Array, float]:
    """w <- w + eta (F/G - w) for all rows at once; also the norm of F/G - w."""
    step = likelihood.tilted_moments(y, K @ w - v * w, v, weight).d_mean - w
    return w + eta * step, float(np.linalg.norm(step))


def _sequential(
    K: Array, y: Array, likelihood: Likelihood, weight: Array | None, w: Array, v: Array, eta: float
) -> tuple[Array, float]:
    """The same one row after the other."""
    f, w, size = K @ w, w.copy(), 0.0
    for i in range(len(y)):
        one = slice(i, i + 1)
        weight_i = None if weight is None else weight[one]
        step = likelihood.tilted_moments(y[one], f[one] - v[one] * w[one], v[one], weight_i).d_mean[0] - w[i]
        size = float(np.hypot(size, step))
        w[i] += eta * step
        f += K[:, i] * (eta * step)
    return w, size


def _sites(m: Array, v: Array, tilted: TiltedMoments) -> Array:
    """tau = 1/Sigma = -h/(1 + v h), nu = (g - m h)/(1 + v h), shape (2n,)."""
    shrink = 1 + v * tilted.d2_mean
    # Zero where a likelihood is narrower than its cavity by more than 1e16; `evaluate` refuses such sites.
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.concatenate([-tilted.d2_mean / shrink, (tilted.d_mean - m * tilted.d2_mean) / shrink])
