"""Newton's method for the most probable latent values of a smooth likelihood.

Where the likelihood is not log-concave (Student's t) the whole Newton step is taken if it goes up; else the negative
precisions are set to zero, which makes the step an ascent direction, and it is shortened until the value rises.
"""

import numpy as np
from scipy.linalg import cho_solve

from softmargin._linalg import Array
from softmargin.inference.sites.gaussian import site_cholesky
from softmargin.likelihoods import Likelihood

PATIENCE = 20
"""Steps that gain nothing, neither in the objective nor in its distance from the optimum, after which rounding is all
that is left."""
WORST_CONDITION = 1e12
"""Condition number up to which a step that is solved for is right in its first digits."""


def newton_map(
    K: Array,
    y: Array,
    likelihood: Likelihood,
    weight: Array | None,
    start: Array | None,
    tol: float,
    max_iter: int,
) -> tuple[Array, Array, int, bool]:
    """Maximise sum ln p(y | f) - f'K^-1 f / 2 and return (beta, f = K beta, iterations, converged).

    For a log-concave likelihood the objective is 1-strongly concave in the norm of K^-1, so with the residual
    r = slope(f) - beta its distance from the optimum is at most r'K r / 2: that, relative to the primal, is compared
    with tol. One further step is taken then, which squares the error.
    """
    beta = np.zeros(len(y)) if start is None else start.copy()
    f = K @ beta
    value = _value(y, likelihood, weight, beta, f)
    close, best, waited = False, (np.inf, value), 0
    for n_iter in range(1, max_iter + 1):
        slope, curvature = likelihood.derivatives(y, f, weight)
        tau = np.maximum(-curvature, 0)
        direction: Array | None = None if curvature.max() <= 0 else _signed_direction(K, slope - beta, -curvature)
        if direction is None or _gain(y, likelihood, weight, beta, f, value, K, direction) <= 0:
            direction = _direction(K, slope, beta, f, tau)
        K_direction = K @ direction
        length = 1.0
        while length > 1e-10:
            trial = _value(y, likelihood, weight, beta + length * direction, f + length * K_direction)
            if trial >= value - 1e-12 * abs(value):
                break
            length *= 0.5
        beta, f, value = beta + length * direction, f + length * K_direction, trial
        if close:
            return beta, K @ beta, n_iter, True
        residual = likelihood.derivatives(y, f, weight).slope - beta
        gap = float(0.5 * residual @ K @ residual)
        close = gap <= tol * abs(value)
        waited = 0 if gap < 0.5 * best[0] or value > best[1] + 1e-9 * abs(value) else waited + 1
        best = min(gap, best[0]), max(value, best[1])
        if waited > PATIENCE:
            break
    return beta, K @ beta, n_iter, close


def _value(y: Array, likelihood: Likelihood, weight: Array | None, beta: Array, f: Array) -> float:
    return float(likelihood.log_prob(y, f, weight).sum() - 0.5 * beta @ f)


def _direction(K: Array, slope: Array, beta: Array, f: Array, tau: Array) -> Array:
    """Newton's step in beta with precisions that are not negative: (I + T K)^-1 (slope - beta).

    (I + T K)^-1 x = x - T^1/2 B^-1 T^1/2 K x with B = I + T^1/2 K T^1/2. The new beta itself, x = T f + slope, is a
    difference of large numbers and would stall where noise is small; but where the solution has no digits, only that
    does not drift away.
    """
    refines = tau.max(initial=0.0) * np.trace(K) < WORST_CONDITION
    x, root = (slope - beta) if refines else tau * f + slope, np.sqrt(tau)
    moved = x - root * cho_solve((site_cholesky(K, tau), True), root * (K @ x), check_finite=False)
    return np.asarray(moved if refines else moved - beta, dtype=np.float64)


def _signed_direction(K: Array, residual: Array, tau: Array) -> Array | None:
    """Newton's step in beta with precisions of both signs: (I + T K) d = residual; None if that is singular."""
    try:
        return np.asarray(np.linalg.solve(np.eye(len(tau)) + tau[:, None] * K, residual), dtype=np.float64)
    except np.linalg.LinAlgError:
        return None


def _gain(
    y: Array,
    likelihood: Likelihood,
    weight: Array | None,
    beta: Array,
    f: Array,
    value: float,
    K: Array,
    direction: Array,
) -> float:
    """How much the whole step gains; what is lost to rounding counts as a gain."""
    return _value(y, likelihood, weight, beta + direction, f + K @ direction) - value + 1e-12 * abs(value)
