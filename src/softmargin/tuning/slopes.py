"""Derivatives of a fitted latent function and of its log-odds with respect to the inputs, in closed form.

With m(x) = k(x, Z) beta and v(x) = k(x, x) - k(x, Z) G k(Z, x), any function u(m, v) has the gradient

    du/dx = sum_j [u_m beta_j - 2 u_v (G k(Z, x))_j] dk(x, z_j)/dx + u_v dk(x, x)/dx,

one contraction of the kernel's own derivative for every row.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from softmargin._linalg import Array
from softmargin.inference import SampledPosterior
from softmargin.kernels import contract_inputs, diag, gram
from softmargin.tuning.model import LatentModel, Probability

BLOCK_ROWS = 256

Outer = Callable[[Array, Array], tuple[Array, Array | None]]
"""From mean and variance of f, shape (n,) each, to the derivatives of u in them; None: u does not depend on v."""


def latent_slopes(model: LatentModel, X: Any, outer: Outer, beta: Array | None = None) -> Array:
    """Derivatives of u(mean, variance) of f with respect to the inputs, shape (n, d).

    Parameters
    ----------
    model : LatentModel
        Fitted latent function.
    X : array or CSR matrix of shape (n, d)
        Rows of inputs.
    outer : callable
        Gives u_m and u_v.
    beta : ndarray of shape (m,), optional
        Weights of the mean in the place of the posterior's own; variances are then not looked at.

    Raises
    ------
    NoInputDerivativeError
        If a kernel has no derivative that is known.
    """
    basis = model.rows.X if model.basis is None else model.basis
    weights: Array = model.posterior.beta if beta is None else beta  # type: ignore[attr-defined]
    found = np.empty(X.shape)
    for first in range(0, X.shape[0], BLOCK_ROWS):
        s = slice(first, min(first + BLOCK_ROWS, X.shape[0]))
        part = X[s]
        K = gram(model.kernel, part, basis)
        variance = (
            np.zeros(len(K)) if beta is not None else model.posterior.latent_variance(K, diag(model.kernel, part))
        )
        u_m, u_v = outer(K @ weights, variance)
        W = u_m[:, None] * weights
        if u_v is not None:
            W += u_v[:, None] * model.posterior.variance_slope(K)
        found[s] = contract_inputs(model.kernel, basis, part, W.T)
        if u_v is not None and not model.kernel.is_stationary():
            # k is symmetric: dk(x, x)/dx is twice the derivative in one argument.
            found[s] += 2.0 * contract_inputs(model.kernel, part, part, np.diag(u_v))
    return found


def mean_slopes(model: LatentModel, X: Any) -> Array:
    """Derivatives of the posterior mean of f, shape (n, d)."""
    return latent_slopes(model, X, lambda m, v: (np.ones_like(m), None), model.posterior.beta)  # type: ignore[attr-defined]


def log_odds_slopes(model: LatentModel, X: Any, probability: Probability) -> Array | None:
    """Derivatives of the log-odds of `LatentModel.log_odds`, shape (n, d); None for a sampled posterior's average."""
    link = model.likelihood.normalised()
    if probability == "average" and model.posterior.has_variance:
        if isinstance(model.posterior, SampledPosterior):
            return None

        def averaged(m: Array, v: Array) -> tuple[Array, Array]:
            up, down = (link.tilted_moments(sign * np.ones_like(m), m, v) for sign in (1.0, -1.0))
            # d ln Z/dv = (d2_mean + d_mean^2)/2.
            by_v = 0.5 * (up.d2_mean + up.d_mean**2 - down.d2_mean - down.d_mean**2)
            return up.d_mean - down.d_mean, by_v

        return latent_slopes(model, X, averaged)

    def at_mean(m: Array, v: Array) -> tuple[Array, None]:
        one = np.ones_like(m)
        return link.derivatives(one, m).slope - link.derivatives(-one, m).slope, None

    chosen: Any = model.svm if probability == "map" and model.svm is not None else model.posterior
    return latent_slopes(model, X, at_mean, chosen.beta)
