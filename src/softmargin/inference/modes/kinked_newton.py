"""Newton's method for a likelihood that is curved on both sides of a kink at the margin (the normalised hinge).

ln p = s - J max(1 - y f, 0), with J the jump of the slope at y f = 1 (`Kink`) and s smooth there. Each step takes s to
second order around the present f and the kink as it is: a support vector machine with the box [0, J] whose prior is the
Gaussian of that expansion,

    covariance K~ = (K^-1 + W)^-1, mean m = K~ b, b = s' + W f;    f_new = m + K~ g with 0 <= y g <= J

and beta_new = b - W f_new + g. At y f = -1 the slope of the normalised hinge rises: a convex kink lies above its
tangents, so that a step that goes up on the expansion goes up in truth. There may be several maxima: this finds the
one uphill from the start, by default f = 0.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from softmargin._linalg import Array
from softmargin.inference.sites.gaussian import site_cholesky
from softmargin.likelihoods import Kink, Likelihood
from softmargin.svm import BoxProblem, solve_dual

NEAR = 1e-6
"""Distance from the margin below which a row can be at the kink; its weight decides."""


def kinked_newton_map(
    K: Array,
    y: Array,
    likelihood: Likelihood,
    kink: Kink,
    weight: Array | None,
    start: Array | None,
    tol: float,
    max_iter: int,
) -> tuple[Array, Array, int, bool]:
    """Maximise sum ln p(y | f) - f'K^-1 f / 2 and return (beta, f = K beta, iterations, converged).

    As in `newton_map`, with r the distance of beta from the slopes that are possible at f, r'K r / 2 relative to the
    value is compared with tol, and one further step is taken then.
    """
    beta = np.zeros(len(y)) if start is None else start.copy()
    f, close = K @ beta, False

    def value(beta: Array, f: Array) -> float:
        return float(likelihood.log_prob(y, f, weight).sum() - 0.5 * beta @ f)

    here = value(beta, f)
    for n_iter in range(1, max_iter + 1):
        direction = _step(K, y, likelihood, kink, weight, f) - beta
        along, length = K @ direction, 1.0
        while length > 1e-10:
            trial = value(beta + length * direction, f + length * along)
            if trial >= here - 1e-12 * abs(here):
                break
            length *= 0.5
        beta, f, here = beta + length * direction, f + length * along, trial
        if close:
            return beta, K @ beta, n_iter, True
        residual = _residual(y, likelihood, kink, weight, beta, f)
        close = bool(0.5 * residual @ K @ residual <= tol * abs(here))
    return beta, K @ beta, max_iter, close


def at_kink(y: Array, kink: Kink, beta: Array, f: Array) -> NDArray[np.bool_]:
    """Mask of the rows on the margin whose weight lies between the slopes of its two sides, shape (n,)."""
    alpha = y * beta
    inside = (alpha > kink.slope * (1 + 1e-12)) & (alpha < (kink.slope + kink.jump) * (1 - 1e-12))
    return np.asarray(inside & (np.abs(y * f - 1) < NEAR), dtype=np.bool_)


def _step(K: Array, y: Array, likelihood: Likelihood, kink: Kink, weight: Array | None, f: Array) -> Array:
    """Return beta at the maximum of the expansion around f."""
    slope, curvature = likelihood.derivatives(y, f, weight)
    W = np.maximum(-curvature, 0)
    b = slope - y * kink.jump * (y * f <= 1) + W * f
    root, L = np.sqrt(W), site_cholesky(K, W)
    V = solve_triangular(L, root[:, None] * K, lower=True, check_finite=False)
    covariance = K - V.T @ V
    mean = covariance @ b
    box = y * kink.jump
    zero = np.zeros_like(y)
    problem = BoxProblem(y - mean, np.minimum(box, 0), np.maximum(box, 0), zero)
    g = solve_dual(covariance, problem, None, 1e-10, 1000).beta
    return b - W * (mean + covariance @ g) + g


def _residual(y: Array, likelihood: Likelihood, kink: Kink, weight: Array | None, beta: Array, f: Array) -> Array:
    """Distance of beta from the slopes that are possible at f: an interval for rows on the margin."""
    slope = likelihood.derivatives(y, f, weight).slope
    low, high = y * kink.slope, y * (kink.slope + kink.jump)
    on_margin = np.abs(y * f - 1) < NEAR
    inside = np.clip(beta, np.minimum(low, high), np.maximum(low, high))
    return np.where(on_margin, inside, slope) - beta
