"""The softmax that turns leave-one-out outputs into probabilities: p = softmax(b M B + c).

While the kernel is learnt, B = I and c = 0. Then B = I + Delta and c maximise the concave

    sum_i w_i ln softmax(b M B + c)_{i, y_i} - lambda |Delta|^2 / 2 - lambda_c |c|^2 / 2.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import log_softmax

from softmargin._linalg import Array

Labels = NDArray[np.intp]


class LinkValue(NamedTuple):
    """The log-likelihood of outputs under softmax(b M), with its derivatives."""

    value: float
    d_outputs: Array
    """dF/dM, shape (n, K)."""
    d_log_slope: float
    """dF/dln b."""


def link_value(M: Array, slope: float, labels: Labels, weight: Array) -> LinkValue:
    """Evaluate F = sum_i w_i ln softmax(b M)_{i, y_i}.

    Examples
    --------
    >>> M, labels = np.array([[0.5, -0.5], [0.0, 0.0]]), np.array([0, 1])
    >>> round(link_value(M, 2.0, labels, np.ones(2)).value, 4)
    -0.8201
    """
    logits = slope * M
    log_p = log_softmax(logits, axis=1)
    residual = _residual(log_p, labels, weight)
    value = float(weight @ log_p[np.arange(len(labels)), labels])
    return LinkValue(value, slope * residual, float(np.vdot(logits, residual)))


def _residual(log_p: Array, labels: Labels, weight: Array) -> Array:
    """dF/dlogits = w (one-hot - p), shape (n, K)."""
    residual = -np.exp(log_p)
    residual[np.arange(len(labels)), labels] += 1.0
    return residual * weight[:, None]


def fit_softmax(
    logits: Array, labels: Labels, weight: Array, *, matrix_penalty: float = 10.0, offset_penalty: float = 1.0
) -> tuple[Array, Array]:
    """Learn the softmax matrix B and the offset c.

    Parameters
    ----------
    logits : ndarray of shape (n, K)
        b M.
    labels : ndarray of shape (n,)
    weight : ndarray of shape (n,)
    matrix_penalty, offset_penalty : float

    Returns
    -------
    B : ndarray of shape (K, K)
    c : ndarray of shape (K,)
    """
    K = logits.shape[1]
    identity, rows = np.eye(K), np.arange(len(labels))

    def loss(u: Array) -> tuple[float, Array]:
        delta, c = u[:-K].reshape(K, K), u[-K:]
        log_p = log_softmax(logits + logits @ delta + c, axis=1)
        residual = _residual(log_p, labels, weight)
        penalty = 0.5 * matrix_penalty * float(np.vdot(delta, delta)) + 0.5 * offset_penalty * float(c @ c)
        d_delta = matrix_penalty * delta - logits.T @ residual
        d_c = offset_penalty * c - residual.sum(axis=0)
        return penalty - float(weight @ log_p[rows, labels]), np.concatenate([d_delta.ravel(), d_c])

    options = {"maxiter": 200, "ftol": 1e-9, "gtol": 1e-6 * max(1.0, float(weight.sum()))}
    u = minimize(loss, np.zeros(K * K + K), jac=True, method="L-BFGS-B", options=options).x
    return identity + u[:-K].reshape(K, K), u[-K:]
