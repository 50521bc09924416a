"""From pairs to classes: pairwise coupling (Wu, Lin & Weng 2004, their second method) and one temperature."""

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax

from softmargin._linalg import Array

TEMPERATURE_SD = 0.5
"""Prior standard deviation of the log temperature: without it separable data drive it to infinity."""


def couple(r: Array) -> Array:
    """Combine pairwise probabilities into class probabilities.

    Minimises sum over pairs of (r_ts p_s - r_st p_t)^2 with sum p = 1, where r_st = P(s | s or t).

    Parameters
    ----------
    r : ndarray of shape (n, n_classes, n_classes)
        r[:, s, t] = P(s | s or t); the diagonal is ignored.

    Returns
    -------
    ndarray of shape (n, n_classes)
    """
    n, k, _ = r.shape
    off = r * (1 - np.eye(k))
    # Q_tt = sum_s r_st^2, Q_ts = -r_st r_ts; solve [Q 1; 1' 0] [p; b] = [0; 1].
    Q = -off * off.transpose(0, 2, 1)
    Q[:, np.arange(k), np.arange(k)] = np.sum(off**2, axis=1)
    system = np.ones((n, k + 1, k + 1))
    # A little ridge keeps the system regular when several classes are impossible.
    system[:, :k, :k] = Q + 1e-12 * np.eye(k)
    system[:, k, k] = 0
    right = np.zeros((n, k + 1, 1))
    right[:, k] = 1
    p = np.clip(np.linalg.solve(system, right)[:, :k, 0], 1e-15, None)
    return p / p.sum(axis=1, keepdims=True)


def pairwise_table(log_odds: Array, pairs: list[tuple[int, int]], n_classes: int) -> Array:
    """r[:, s, t] = P(s | s or t) from the log-odds of class b against a of every pair (a, b).

    Parameters
    ----------
    log_odds : ndarray of shape (n, n_pairs)
    """
    r = np.full((len(log_odds), n_classes, n_classes), 0.5)
    p = 1 / (1 + np.exp(-np.clip(log_odds, -500, 500)))
    for k, (a, b) in enumerate(pairs):
        r[:, b, a] = p[:, k]
        r[:, a, b] = 1 / (1 + np.exp(np.clip(log_odds[:, k], -500, 500)))
    return r


def temper(p: Array, beta: float) -> Array:
    """log of p^beta, normalised over classes; shape (n, n_classes)."""
    return log_softmax(beta * np.log(p), axis=1)


def fit_temperature(p: Array, index: Array, weight: Array | None = None) -> float:
    """The beta that maximises the penalised log-probability of the true classes under p^beta.

    Parameters
    ----------
    p : ndarray of shape (n, n_classes)
        Leave-one-out class probabilities.
    index : ndarray of shape (n,)
        True class of each row.
    """
    w = np.ones(len(p)) if weight is None else weight
    log_p = np.log(p)

    def loss(log_beta: float) -> float:
        chosen = log_softmax(np.exp(log_beta) * log_p, axis=1)[np.arange(len(p)), index]
        return float(-(w @ chosen) + 0.5 * (log_beta / TEMPERATURE_SD) ** 2)

    return float(np.exp(minimize_scalar(loss, bounds=(-3, 3), method="bounded").x))
