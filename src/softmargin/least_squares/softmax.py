"""The softmax that turns leave-one-out outputs into probabilities: p = softmax(b M B + c).

While the kernel is learnt, B = I and c = 0. Then B = I + Delta and c maximise the concave

    sum_i w_i ln softmax(b M B + c)_{i, y_i} - lambda |Delta|^2 / 2 - lambda_c |c|^2 / 2.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve
from scipy.optimize import minimize
from scipy.special import log_softmax

from softmargin._linalg import Array, shifted_cholesky
from softmargin.policy import SoftmaxPolicy

Labels = NDArray[np.intp]
Loss = Callable[[Array], tuple[float, Array]]

UNSEEN = 1e-3
"""Nats that a relative tolerance may leave: rows of large weight must not hide what the others say."""
LARGEST_HESSIAN = 1e9
"""Products in a Hessian up to which Newton's method goes on from there."""


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


def _hessian(u: Array, logits: Array, weight: Array) -> Array:
    """Of -sum_i w_i ln softmax(b M B + c)_{i, y_i} in u = (Delta, c), shape (K^2 + K,) twice."""
    K = logits.shape[1]
    p = np.exp(log_softmax(logits + logits @ u[:-K].reshape(K, K) + u[-K:], axis=1))
    X = np.column_stack([logits, np.ones(len(p))])
    # sum_i w_i (diag(p) - p p')_kl x_i x_i', first by classes, then in the order of u.
    blocks = np.empty((K + 1, K, K + 1, K))
    for k in range(K):
        for m in range(K):
            curvature = weight * p[:, k] * (float(k == m) - p[:, m])
            blocks[:, k, :, m] = (X * curvature[:, None]).T @ X
    return blocks.reshape(K * K + K, K * K + K)


def _newton(loss: Loss, hessian: Callable[[Array], Array], u: Array, max_iter: int = 50) -> Array:
    """Go on to the minimum of a convex function by steps that are shortened until it falls."""
    value, gradient = loss(u)
    for _ in range(max_iter):
        step = -cho_solve((shifted_cholesky(hessian(u)), True), gradient)
        gain = -0.5 * float(gradient @ step)
        length = 1.0
        while length > 1e-6:
            trial, slope = loss(u + length * step)
            if trial < value - 1e-4 * length * gain:
                break
            length *= 0.5
        else:
            break  # Rounding is all that is left.
        u, value, gradient = u + length * step, trial, slope
        if gain < 1e-3 * UNSEEN:
            break
    return u


@dataclass(frozen=True)
class SoftmaxFit(SoftmaxPolicy):
    """How the softmax matrix and offset are learnt; see `SoftmaxPolicy` for its parameters."""

    @classmethod
    def of(cls, policy: SoftmaxPolicy) -> "SoftmaxFit":
        """With the constants of a policy."""
        return cls(**vars(policy))

    def fit(
        self, logits: Array, labels: Labels, weight: Array, start: tuple[Array, Array] | None = None
    ) -> tuple[Array, Array]:
        """Learn B of shape (K, K) and c of shape (K,).

        Parameters
        ----------
        logits : ndarray of shape (n, K)
            b M.
        labels : ndarray of shape (n,)
            Class of each row, 0 to n_classes - 1.
        weight : ndarray of shape (n,)
            Weight of each row, its number of copies.
        start : (B, c), optional
            Where the search starts; None: B is the identity, c is zero.
        """
        step = -(-len(labels) // self.max_rows)
        logits, labels, weight = logits[::step], labels[::step], weight[::step]
        K = logits.shape[1]
        penalty, rows = max(self.matrix_penalty, self.penalty_per_class * K), np.arange(len(labels))

        def loss(u: Array) -> tuple[float, Array]:
            delta, c = u[:-K].reshape(K, K), u[-K:]
            log_p = log_softmax(logits + logits @ delta + c, axis=1)
            residual = _residual(log_p, labels, weight)
            paid = 0.5 * penalty * float(np.vdot(delta, delta)) + 0.5 * self.offset_penalty * float(c @ c)
            d_delta = penalty * delta - logits.T @ residual
            d_c = self.offset_penalty * c - residual.sum(axis=0)
            return paid - float(weight @ log_p[rows, labels]), np.concatenate([d_delta.ravel(), d_c])

        B, c = (np.eye(K), np.zeros(K)) if start is None else start
        options = {"maxiter": 200, "ftol": 1e-9, "gtol": 1e-6 * max(1.0, float(weight.sum()))}
        first = np.concatenate([(B - np.eye(K)).ravel(), c])
        found = minimize(loss, first, jac=True, method="L-BFGS-B", options=options)
        u = found.x
        if options["ftol"] * found.fun > UNSEEN and len(labels) * K**4 <= LARGEST_HESSIAN:
            penalties = np.repeat([penalty, self.offset_penalty], [K * K, K])
            u = _newton(loss, lambda u: _hessian(u, logits, weight) + np.diag(penalties), u)
        return np.eye(K) + u[:-K].reshape(K, K), u[-K:]

    def cross_fit(
        self,
        logits: Array,
        labels: Labels,
        weight: Array,
        start: tuple[Array, Array] | None = None,
        folds: int = 5,
        *,
        whole: bool = True,
    ) -> Array:
        """ln p of every row, shape (n, K), by a softmax learnt without the row's fold.

        The folds follow each class's own outputs, so that neither the order of the rows nor that of the columns
        matters. The K^2 + K numbers of the softmax flatter their own rows: with 26 classes and 1500 rows by .1 in log
        loss. Unless rows are left out whole, the copies of a row are dealt to neighbouring folds, and its probability
        is the average over them.
        """
        rank = np.empty(len(labels), dtype=np.intp)
        rank[np.lexsort((logits[np.arange(len(labels)), labels], labels))] = np.arange(len(labels))
        span = np.ones(len(labels)) if whole else np.clip(np.round(weight), 1, folds)
        log_p = np.full_like(logits, -np.inf)
        for k in range(folds):
            # The part of each row's copies that lies in this fold.
            share = np.where((k - rank) % folds < span, 1.0 / span, 0.0)
            kept, out = share < 1, share > 0
            B, c = self.fit(logits[kept], labels[kept], (weight * (1 - share))[kept], start)
            part = np.log(share[out, None]) + log_softmax(logits[out] @ B + c, axis=1)
            log_p[out] = np.logaddexp(log_p[out], part)
        return log_p
