"""Newton's method for the most probable latent values of a smooth, log-concave likelihood (logistic regression)."""

import numpy as np
from scipy.linalg import cho_solve

from softmargin._linalg import Array
from softmargin.inference.sites.gaussian import site_cholesky
from softmargin.likelihoods import Likelihood


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

    The objective is 1-strongly concave in the norm of K^-1, so with the residual r = slope(f) - beta its distance
    from the optimum is at most r'K r / 2: that, relative to the primal, is compared with tol. One further step is
    taken then, which squares the error.
    """
    beta = np.zeros(len(y)) if start is None else start.copy()
    f = K @ beta
    value = _value(y, likelihood, weight, beta, f)
    close = False
    for n_iter in range(1, max_iter + 1):
        slope, curvature = likelihood.derivatives(y, f, weight)
        tau = np.maximum(-curvature, 0)
        # beta_new = b - T^1/2 B^-1 T^1/2 K b with b = T f + slope, B = I + T^1/2 K T^1/2
        b, root = tau * f + slope, np.sqrt(tau)
        L = site_cholesky(K, tau)
        inner = cho_solve((L, True), root * (K @ b), check_finite=False)
        direction = b - root * inner - beta
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
        close = 0.5 * residual @ K @ residual <= tol * abs(value)
    return beta, K @ beta, max_iter, close


def _value(y: Array, likelihood: Likelihood, weight: Array | None, beta: Array, f: Array) -> float:
    return float(likelihood.log_prob(y, f, weight).sum() - 0.5 * beta @ f)
