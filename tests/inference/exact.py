"""Evidence of a handful of rows without approximation: two evaluators that share nothing but the definition."""

from inspect import signature
from itertools import product

import numpy as np
from scipy.special import logsumexp
from scipy.stats import multivariate_normal

from softmargin.inference import Posterior


def random_problem(seed: int, n: int, d: int = 2):
    """A Gram matrix with correlations of every size, labels and weights."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    distance = np.sum((X[:, None] - X) ** 2, axis=2)
    K = np.exp(rng.uniform(-1, 3)) * np.exp(-0.5 * distance / np.exp(rng.uniform(-1, 3))) + np.exp(rng.uniform(-3, 1))
    return K, np.where(rng.random(n) < 0.5, 1.0, -1.0), rng.uniform(0.5, 3.0, n)


def log_evidence_by_subsets(K, y, C):
    """ln Q(Y|X)/kappa^n of the hinge as a sum over which rows lie on the slope, of Gaussian orthant probabilities.

    A row contributes exp(-C (1 - a)) where its margin a < 1, and 1 elsewhere; an exponential shifts a Gaussian.
    """
    K = K * np.outer(y, y)
    # SciPy before 1.16 draws the same points in every call.
    seeded = {"rng": np.random.default_rng(0)} if "rng" in signature(multivariate_normal.cdf).parameters else {}
    terms = []
    for on_slope in product([0.0, 1.0], repeat=len(y)):
        s = np.array(on_slope)
        sign = np.where(s > 0, 1.0, -1.0)
        inside = multivariate_normal.cdf(
            sign,
            sign * C * (K @ s),
            K * np.outer(sign, sign),
            abseps=1e-9,
            releps=1e-4,
            maxpts=200_000,
            **seeded,
        )
        terms.append(-C * s.sum() + 0.5 * C**2 * s @ K @ s + np.log(max(inside, 1e-300)))
    return float(logsumexp(terms))


def log_evidence_by_grid(K, y, likelihood, weight, reference: Posterior, points: int = 41):
    """ln of the integral of N(f; 0, K) prod p(y_i|f_i)^w_i, by a tensor trapezoid centred and scaled by `reference`.

    The reference only places the grid: six and a half of its standard deviations either side.
    """
    n = len(y)
    L = np.linalg.cholesky(reference.latent_covariance(K, K))
    axis = np.linspace(-6.5, 6.5, points)
    U = np.stack([u.ravel() for u in np.meshgrid(*[axis] * n, indexing="ij")])
    F = reference.mean[:, None] + L @ U
    log_prior = -0.5 * np.sum(F * np.linalg.solve(K, F), axis=0) - 0.5 * np.linalg.slogdet(2 * np.pi * K)[1]
    log_p = sum(
        likelihood.log_prob(np.full(F.shape[1], y[i]), F[i], None if weight is None else np.full(F.shape[1], weight[i]))
        for i in range(n)
    )
    return float(logsumexp(log_prior + log_p) + n * np.log(axis[1] - axis[0]) + np.sum(np.log(np.diag(L))))
