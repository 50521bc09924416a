"""Exact evidence for a handful of rows: the yardstick of the Monte Carlo methods.

Hinge: in the margins a_i = y_i f_i, covariance G = YKY, Q(Y | X) / kappa^n is the average of
exp(-sum_i C_i max(1 - a_i, 0)) over a ~ N(0, G): nested quadrature, one row after the other (`_hinge_quadrature`), to
1e-6 in the logarithm or an error. N(X) is the sum of Q(Y | X) over all labelings. Any other weight of the prior is
integrated by scrambled Sobol points, whose independent scramblings give a standard error.
"""

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp, ndtri, roots_legendre
from scipy.stats import qmc

from softmargin._linalg import Array
from softmargin.evidence._estimate import EvidenceEstimate, jackknife
from softmargin.evidence._hinge_quadrature import nested
from softmargin.sampling import Spectrum, Target

MAX_ROWS = 6
TOLERANCE = 1e-6
"""Largest error of the hinge's ln Q(Y | X)."""
ORDERS = (3, 6, 9, 13, 18)
"""Nodes of each panel; an order is believed if the one before agrees with it to a tenth of the tolerance."""
DEPTH = 27.0
"""Branches of the quadrature whose density is so many nats below the evidence are left out."""
MAX_EVALUATIONS = 1e8
"""Of the integrand for one order: some tens of seconds."""


def hinge_evidence(K: Array, y: Array, likelihood: Any, weight: Array | None = None) -> float:
    """Return ln Q(Y | X) for the hinge to 1e-6; K of shape (n, n) positive semi-definite, n <= 6.

    Raises
    ------
    ValueError
        If there are more rows, or if the quadrature does not reach 1e-6.
    """
    _check_rows(len(y))
    w = np.ones(len(y)) if weight is None else np.asarray(weight, dtype=float)
    used = w > 0
    constant = float(np.sum(w)) * likelihood.log_kappa
    if not np.any(used):
        return constant
    C = likelihood.C * w[used]
    gram = (y[:, None] * K * y)[np.ix_(used, used)]
    if not np.all(np.isfinite(gram)) or np.any(np.diag(gram) < 0):
        raise ValueError("method 'exact' needs a finite, positive semi-definite K")
    order, L = _pivoted_cholesky(gram)
    return _quadrature(L, C[order]) + constant


def _quadrature(L: Array, C: Array) -> float:
    """ln of the average of exp(-sum_i C_i max(1 - a_i, 0)) over a = Lt; L as `_pivoted_cholesky` returns it."""
    # sd[k, j] = sd(a_j | t_1..t_k): what the columns from k on leave.
    sd = np.sqrt(np.cumsum((L**2)[:, ::-1], axis=1)[:, ::-1].T)
    scale, rank = sd[0], int(np.sum(np.diag(L) > 0))
    # Jensen: ln <w> >= <ln w>, and <max(1 - a, 0)> <= 1 + <max(-a, 0)> = 1 + s (2 pi)^-1/2.
    value = -float(C @ (1 + scale / np.sqrt(2 * np.pi)))
    known: list[float] = []
    for n_nodes, n_next in pairwise((*ORDERS, ORDERS[-1])):
        nodes, weights = roots_legendre(n_nodes)
        # Beyond the reach lies less than exp(-DEPTH) of the average, as no factor exceeds one.
        reach = np.sqrt(2 * (DEPTH + 1 - value))
        # No use to finish an order if the next one is out of reach.
        most = MAX_EVALUATIONS * (n_nodes / n_next) ** (len(C) - 1)
        value, count = nested(L, sd, C, rank, nodes, np.log(weights), reach, value - DEPTH, most)
        if count <= most and known and abs(value - known[-1]) < 0.1 * TOLERANCE:
            return float(value)
        known.append(value)
        if count > most:
            raise ValueError(
                f"method 'exact' needs more than {MAX_EVALUATIONS:.0e} evaluations for these {len(C)} rows, which are "
                "too many or too much alike; use 'annealing' or 'chaining', or fewer rows"
            )
    raise ValueError(
        f"method 'exact' reached an error of {abs(known[-1] - known[-2]):.1g} nats only, not {TOLERANCE:.0e}, with C "
        f"up to {C.max():.3g} and prior standard deviations up to {scale.max():.3g}; use 'annealing' or 'chaining'"
    )


def _pivoted_cholesky(G: Array) -> tuple[NDArray[np.intp], Array]:
    """Return an order of the rows and L with G[order][:, order] = LL', pivots falling, zero ones last."""
    n = len(G)
    order, L, rest = np.arange(n), np.zeros((n, n)), np.array(G, dtype=float)
    noise = 4 * n * np.finfo(float).eps * float(np.max(np.diag(G)))
    for k in range(n):
        best = k + int(np.argmax(np.diag(rest)[k:]))
        if rest[best, best] <= noise:
            if rest[k:, k:].size and np.min(np.diag(rest)[k:]) < -1e3 * noise:
                raise ValueError("method 'exact' needs a positive semi-definite K; it has a negative eigenvalue")
            break
        swap = [best, k]
        order[[k, best]], L[[k, best]] = order[swap], L[swap]
        rest[[k, best]] = rest[swap]
        rest[:, [k, best]] = rest[:, swap]
        L[k, k] = np.sqrt(rest[k, k])
        L[k + 1 :, k] = rest[k + 1 :, k] / L[k, k]
        rest[k + 1 :, k + 1 :] -= np.outer(L[k + 1 :, k], L[k + 1 :, k])
    return order, L


def integrate_prior(K: Array, target: Target, n_scrambles: int = 16, log2_points: int = 14) -> EvidenceEstimate:
    """ln of the average of the target's weight over N(0, K), by quasi-Monte Carlo; n <= 6."""
    _check_rows(len(K))
    root = Spectrum.of(K).root
    logs = []
    for scramble in range(n_scrambles):
        uniform = qmc.Sobol(len(K), seed=scramble).random_base2(log2_points)
        f = ndtri(np.clip(uniform, 1e-15, 1 - 1e-15)) @ root
        logs.append(logsumexp(target.log_weight(f)) - log2_points * np.log(2))
    return jackknife(np.array(logs)[:, None])


def _check_rows(n: int) -> None:
    if n > MAX_ROWS:
        raise ValueError(f"method 'exact' is for at most {MAX_ROWS} rows; got {n}. Use 'annealing' or 'chaining'")
