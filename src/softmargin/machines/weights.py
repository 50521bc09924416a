"""Weights of the machines of a stack: Bayesian stacking on leave-one-out (Yao et al. 2018).

The weights maximise sum_i ln sum_k w_k p_ik + c sum_k ln w_k, with p_ik the leave-one-out probability that machine k
gives to the true class of row i, and c pseudo-counts for each machine, which keep small samples near equal weights.
"""

import numpy as np

from softmargin._linalg import Array
from softmargin.policy import POLICY


def stacking_weights(log_p: Array, weight: Array, pseudo_count: float = POLICY.stack.pseudo_count) -> Array:
    """Maximise the weighted log score of the mixture plus pseudo-counts, by expectation maximisation.

    Parameters
    ----------
    log_p : ndarray of shape (n, n_members)
        Leave-one-out log-probability (density) of the truth.
    weight : ndarray of shape (n,)
        Weight of each row, its number of copies.
    pseudo_count : float
        c, of each machine.

    Returns
    -------
    ndarray of shape (n_members,), positive, sums to 1
        Weights that maximise the mean log of the mixture.

    Examples
    --------
    >>> stacking_weights(np.log([[0.9, 0.5], [0.8, 0.5], [0.7, 0.5]]), np.ones(3), pseudo_count=1.0).round(2)
    array([0.65, 0.35])
    """
    p = np.exp(log_p - log_p.max(axis=1, keepdims=True))
    w = np.full(p.shape[1], 1 / p.shape[1])
    for _ in range(POLICY.stack.max_steps):
        old = w
        w = w * (weight @ (p / (p @ w)[:, None])) + pseudo_count
        w /= w.sum()
        if np.abs(w - old).max() < POLICY.stack.tol:
            break
    return w
