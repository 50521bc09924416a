"""Weights of the machines of a stack: Bayesian stacking on leave-one-out (Yao et al. 2018).

The weights maximise sum_i ln sum_k w_k p_ik + c sum_k ln w_k, with p_ik the leave-one-out probability that machine k
gives to the true class of row i, and c pseudo-counts for each machine, which keep small samples near equal weights.
"""

import numpy as np

from softmargin._linalg import Array
from softmargin.policy import POLICY


def classifier_pseudo_count(n: float) -> float:
    """Pseudo-counts of each machine of a classifier's stack for n rows.

    Examples
    --------
    >>> [round(classifier_pseudo_count(n), 6) for n in (100, 850, 8500)]
    [10.0, 10.0, 0.1]
    """
    return POLICY.stack.pseudo_count * min(1.0, POLICY.stack.pseudo_rows / max(n, 1.0)) ** 2


def stacking_weights(log_p: Array, weight: Array, pseudo_count: float = POLICY.stack.pseudo_count) -> Array:
    """Maximise the weighted log score of the mixture plus pseudo-counts, by Newton's method.

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

    def score(w: Array) -> float:
        return float(weight @ np.log(p @ w) + pseudo_count * np.log(w).sum())

    for _ in range(POLICY.stack.max_steps):
        step = _newton_step(p, weight, pseudo_count, w)
        if np.abs(step).max() < POLICY.stack.tol:
            break
        # Not beyond the boundary, where the logarithms end.
        length = min(1.0, 0.99 * float(np.min(np.where(step < 0, -w / np.minimum(step, -1e-300), np.inf))))
        here = score(w)
        while score(w + length * step) < here and length > 1e-9:
            length *= 0.5
        w = w + length * step
        w /= w.sum()
    return w


def _newton_step(p: Array, weight: Array, pseudo_count: float, w: Array) -> Array:
    """Towards the maximum of the quadratic approximation among weights that sum to one, shape (n_members,)."""
    ratio = p / (p @ w)[:, None]
    gradient = weight @ ratio + pseudo_count / w
    curvature = (ratio * weight[:, None]).T @ ratio + np.diag(pseudo_count / w**2)
    # Machines that agree leave a direction without curvature; a little of it shortens the step there.
    curvature.flat[:: len(w) + 1] += 1e-10 * float(np.trace(curvature))
    towards, level = np.linalg.solve(curvature, np.stack([gradient, np.ones_like(w)], axis=1)).T
    return np.asarray(towards - level * (towards.sum() / level.sum()))
