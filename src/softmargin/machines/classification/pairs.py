"""A classification as binary problems, and from their log-odds to class probabilities.

One problem for two classes, one for each pair of classes, or one for each class against the rest; pairs are coupled by
the second method of Wu, Lin & Weng (2004), and one temperature is fitted to leave-one-out probabilities.
"""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import expit, log_softmax

from softmargin._linalg import Array
from softmargin.policy import POLICY
from softmargin.rows import TrainingRows

Pair = tuple[int, int]
"""Indices (a, b) of the classes called -1 and +1; a is -1 where it stands for all the rest."""


def pairs_of(n_classes: int, multi_class: str) -> list[Pair]:
    """The binary problems of `multi_class`."""
    if n_classes == 2 or multi_class == "ovo":
        return list(combinations(range(n_classes), 2))
    return [(-1, b) for b in range(n_classes)]


def seen_by(pair: Pair, index: np.ndarray) -> np.ndarray:
    """Which rows of the given classes take part in a binary problem, shape (n,)."""
    a, b = pair
    return (index == a) | (index == b) | (a < 0)


def rows_of(rows: TrainingRows, pair: Pair, *, precomputed: bool) -> TrainingRows:
    """The rows of a binary problem, with targets -1 and +1."""
    mask = seen_by(pair, rows.y)
    return rows.subset(mask, np.where(rows.y[mask] == pair[1], 1.0, -1.0), precomputed=precomputed)


@dataclass(frozen=True)
class Combination:
    """How the log-odds of binary problems become class probabilities."""

    pairs: list[Pair]
    n_classes: int
    inverse_temperature: float = 1.0

    def probabilities(self, log_odds: Array) -> Array:
        """Class probabilities before tempering, shape (n, n_classes).

        Parameters
        ----------
        log_odds : ndarray of shape (n, n_pairs)
            ln of the odds of b against a for each pair (a, b).
        """
        if self.pairs[0][0] < 0:
            p = np.clip(expit(log_odds), 1e-15, None)
            return p / p.sum(axis=1, keepdims=True)
        return couple(pairwise_table(log_odds, self.pairs, self.n_classes))

    def log_proba(self, log_odds: Array) -> Array:
        """ln of the class probabilities, shape (n, n_classes)."""
        if self.n_classes == 2:
            return -np.logaddexp(0, np.stack([log_odds[:, 0], -log_odds[:, 0]], axis=1))
        return temper(self.probabilities(log_odds), self.inverse_temperature)


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
        Each row sums to one.
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
        ln of the odds of b against a for each pair (a, b).
    """
    r = np.full((len(log_odds), n_classes, n_classes), 0.5)
    p = 1 / (1 + np.exp(-np.clip(log_odds, -500, 500)))
    for k, (a, b) in enumerate(pairs):
        r[:, b, a] = p[:, k]
        r[:, a, b] = 1 / (1 + np.exp(np.clip(log_odds[:, k], -500, 500)))
    return r


def temper(p: Array, inverse_temperature: float) -> Array:
    """log of p to the power of the inverse temperature, normalised over classes; shape (n, n_classes)."""
    tempered: Array = log_softmax(inverse_temperature * np.log(p), axis=1)
    return tempered


def fit_temperature(p: Array, index: np.ndarray, weight: Array) -> float:
    """The inverse temperature that maximises the penalised log-probability of the true classes.

    Parameters
    ----------
    p : ndarray of shape (n, n_classes)
        Leave-one-out class probabilities.
    index : ndarray of shape (n,)
        True class of each row.
    weight : ndarray of shape (n,)
        Weight of each row, its number of copies.
    """
    log_p = np.log(p)

    def loss(log_inverse: float) -> float:
        chosen = log_softmax(np.exp(log_inverse) * log_p, axis=1)[np.arange(len(p)), index]
        return float(-(weight @ chosen) + 0.5 * (log_inverse / POLICY.search.temperature_sd) ** 2)

    return float(np.exp(minimize_scalar(loss, bounds=(-3, 3), method="bounded").x))
