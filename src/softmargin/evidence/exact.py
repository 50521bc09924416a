"""Exact evidence for a handful of rows: the yardstick of the Monte Carlo methods.

Hinge: in the margins a_i = y_i theta_i, covariance Kt = YKY, every subset S of rows below the kink contributes

    exp(-sum_S C_i + c_S' Kt c_S / 2) P[a ~ N(Kt c_S, Kt): a_i < 1 on S, a_i > 1 elsewhere]

(c_S = C_i on S, 0 elsewhere) to Q(Y | X) / kappa^n, and N(X) is the sum of Q(Y | X) over all labelings. Any other
weight of the prior is integrated by scrambled Sobol points, whose independent scramblings give a standard error.
"""

from itertools import product
from typing import Any

import numpy as np
from scipy.special import logsumexp, ndtri
from scipy.stats import multivariate_normal, qmc

from softmargin._linalg import Array
from softmargin.evidence._estimate import EvidenceEstimate, jackknife
from softmargin.sampling import Spectrum, Target

MAX_ROWS = 6


def subset_sum(K: Array, y: Array, likelihood: Any, weight: Array | None = None) -> float:
    """ln Q(Y | X) for the hinge; K of shape (n, n) positive definite, n <= 6."""
    _check_rows(len(y))
    C = likelihood.C * (np.ones(len(y)) if weight is None else weight)
    total_weight = float(len(y) if weight is None else np.sum(weight))
    gram = y[:, None] * K * y
    terms = []
    for subset in product((False, True), repeat=len(y)):
        below = np.array(subset)
        c = np.where(below, C, 0.0)
        mean = gram @ c
        # P[a_i < 1 on S, a_i > 1 elsewhere] as a lower orthant: flip the signs of the others.
        sign = np.where(below, 1.0, -1.0)
        covariance = sign[:, None] * gram * sign
        p = multivariate_normal.cdf(
            sign, mean=sign * mean, cov=covariance, abseps=1e-7, releps=1e-6, maxpts=20_000 * len(y), rng=0
        )
        terms.append(-c.sum() + 0.5 * c @ mean + np.log(max(float(p), 1e-300)))
    return float(logsumexp(terms)) + total_weight * likelihood.log_kappa


def subset_sum_normaliser(K: Array, likelihood: Any, weight: Array | None = None) -> float:
    """ln N(X) for the hinge: the sum of Q(Y | X) over all labelings (unit weights only)."""
    if weight is not None and not np.all(np.asarray(weight) == 1):
        raise ValueError("N(X) is a sum over labelings only for rows of weight one; use integrate_prior")
    labelings = product((-1.0, 1.0), repeat=len(K))
    return float(logsumexp([subset_sum(K, np.array(y), likelihood) for y in labelings]))


def integrate_prior(K: Array, target: Target, n_scrambles: int = 16, log2_points: int = 14) -> EvidenceEstimate:
    """ln of the average of the target's weight over N(0, K), by quasi-Monte Carlo; n <= 6."""
    _check_rows(len(K))
    root = Spectrum.of(K).root
    logs = []
    for scramble in range(n_scrambles):
        uniform = qmc.Sobol(len(K), rng=scramble).random_base2(log2_points)
        theta = ndtri(np.clip(uniform, 1e-15, 1 - 1e-15)) @ root
        logs.append(logsumexp(target.log_weight(theta)) - log2_points * np.log(2))
    return jackknife(np.array(logs)[:, None])


def _check_rows(n: int) -> None:
    if n > MAX_ROWS:
        raise ValueError(f"method 'exact' is for at most {MAX_ROWS} rows; got {n}. Use 'annealing' or 'chaining'")
