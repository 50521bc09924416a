"""Scores of probabilistic predictions: intervals, quantiles, samples, densities and class probabilities.

Interval score and CRPS follow Gneiting & Raftery (2007), "Strictly proper scoring rules, prediction, and estimation",
eqs. 43 and 20-21; smaller is better for both, and both are in the units of y.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr
from sklearn.utils.validation import check_array, check_consistent_length

from softmargin._linalg import Array

__all__ = [
    "coverage",
    "crps_normal",
    "crps_quantiles",
    "crps_samples",
    "expected_calibration_error",
    "interval_score",
    "mean_log_predictive_density",
    "mean_width",
]


def coverage(y_true: ArrayLike, y_interval: ArrayLike, *, sample_weight: ArrayLike | None = None) -> float:
    """Share of the targets that fall inside their intervals, ends included.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Targets as observed.
    y_interval : array-like of shape (n_samples, 2)
        Lower and upper ends, as of `BayesianSVR.predict_interval`.
    sample_weight : array-like of shape (n_samples,), optional
        Weight of each row; None: all equal.

    Returns
    -------
    float
        To be compared with the confidence level; its standard error is about sqrt(level (1 - level)/n_samples).

    Examples
    --------
    >>> coverage([0.0, 1.0, 5.0, 2.0], [[-1, 1], [0, 2], [0, 4], [1, 3]])
    0.75
    """
    y, interval = _targets_and_intervals(y_true, y_interval)
    return _average((interval[:, 0] <= y) & (y <= interval[:, 1]), sample_weight)


def mean_width(y_interval: ArrayLike, *, sample_weight: ArrayLike | None = None) -> float:
    """Average width of intervals.

    Parameters
    ----------
    y_interval : array-like of shape (n_samples, 2)
        Lower and upper ends.
    sample_weight : array-like of shape (n_samples,), optional
        Weight of each row; None: all equal.

    Returns
    -------
    float
        In the units of y.

    Examples
    --------
    >>> mean_width([[0.0, 1.0], [0.0, 3.0]])
    2.0
    """
    interval = check_array(y_interval, dtype=np.float64, input_name="y_interval")
    return _average(interval[:, 1] - interval[:, 0], sample_weight)


def interval_score(
    y_true: ArrayLike,
    y_interval: ArrayLike,
    *,
    confidence_level: float = 0.95,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Average width of the intervals plus a fine for every target outside; smaller is better.

    The fine is 2/(1 - confidence_level) times the distance to the interval, so that the true quantiles score best.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Targets as observed.
    y_interval : array-like of shape (n_samples, 2)
        Lower and upper ends.
    confidence_level : float, default=0.95
        The level that the intervals were made for.
    sample_weight : array-like of shape (n_samples,), optional
        Weight of each row; None: all equal.

    Returns
    -------
    float
        In the units of y.

    Examples
    --------
    >>> interval_score([0.0, 3.0], [[-1, 1], [0, 2]], confidence_level=0.5)
    4.0
    """
    if not 0 < confidence_level < 1:
        raise ValueError(f"confidence_level={confidence_level!r} must lie between 0 and 1, e.g. 0.95")
    y, interval = _targets_and_intervals(y_true, y_interval)
    outside = np.maximum(interval[:, 0] - y, 0) + np.maximum(y - interval[:, 1], 0)
    return _average(interval[:, 1] - interval[:, 0] + 2 / (1 - confidence_level) * outside, sample_weight)


def crps_normal(
    y_true: ArrayLike, y_mean: ArrayLike, y_std: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> float:
    """Score normal predictions by the continuous ranked probability score, in closed form; smaller is better.

    Parameters
    ----------
    y_true, y_mean, y_std : array-like of shape (n_samples,)
        Targets as observed, predicted means and predicted standard deviations.
    sample_weight : array-like of shape (n_samples,), optional
        Weight of each row; None: all equal.

    Returns
    -------
    float
        In the units of y.

    Examples
    --------
    >>> round(crps_normal([0.0], [0.0], [1.0]), 4)
    0.2337
    """
    y, mean, std = (np.asarray(a, dtype=np.float64) for a in (y_true, y_mean, y_std))
    check_consistent_length(y, mean, std)
    z = (y - mean) / std
    # sd [z (2 Phi(z) - 1) + 2 phi(z) - 1/sqrt(pi)]
    density = np.exp(-0.5 * z**2) / np.sqrt(2 * np.pi)
    return _average(std * (z * (2 * ndtr(z) - 1) + 2 * density - 1 / np.sqrt(np.pi)), sample_weight)


def crps_samples(y_true: ArrayLike, y_samples: ArrayLike, *, sample_weight: ArrayLike | None = None) -> float:
    """Score samples by the continuous ranked probability score, without bias; smaller is better.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Targets as observed.
    y_samples : array-like of shape (n_samples, n_draws)
        At least two draws for each row, as of `BayesianSVR.sample_y`.
    sample_weight : array-like of shape (n_samples,), optional
        Weight of each row; None: all equal.

    Returns
    -------
    float
        In the units of y.

    Examples
    --------
    >>> crps_samples([0.0], [[-1.0, 1.0]])
    0.0
    """
    y = check_array(y_true, ensure_2d=False, dtype=np.float64, input_name="y_true")
    draws = np.sort(check_array(y_samples, dtype=np.float64, ensure_min_features=2, input_name="y_samples"), axis=1)
    check_consistent_length(y, draws)
    m = draws.shape[1]
    # E|Y - y| - E|Y - Y'|/2, and sum_{j<k} (x_k - x_j) = sum_k (2k - m + 1) x_k for sorted x, k = 0, 1, ...
    spread = draws @ (2 * np.arange(m) - m + 1) / (m * (m - 1))
    return _average(np.abs(draws - y[:, None]).mean(axis=1) - spread, sample_weight)


def crps_quantiles(
    y_true: ArrayLike, y_quantiles: ArrayLike, q: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> float:
    """Score quantiles by the continuous ranked probability score; smaller is better.

    CRPS is twice the quantile (pinball) loss averaged over the levels between 0 and 1. Each level stands for its half
    of the gaps to its neighbours, so with m evenly spaced levels (k - 1/2)/m the error falls as m grows.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Targets as observed.
    y_quantiles : array-like of shape (n_samples, n_q)
        Predicted quantiles, one column for each level.
    q : array-like of shape (n_q,)
        Increasing levels between 0 and 1.
    sample_weight : array-like of shape (n_samples,), optional
        Weight of each row; None: all equal.

    Returns
    -------
    float
        In the units of y.

    Examples
    --------
    >>> round(crps_quantiles([0.0, 1.0], [[-1.0, 0.0, 1.0], [0.0, 1.0, 2.0]], [1 / 6, 1 / 2, 5 / 6]), 4)
    0.2222
    """
    y = check_array(y_true, ensure_2d=False, dtype=np.float64, input_name="y_true")
    quantiles = check_array(y_quantiles, dtype=np.float64, input_name="y_quantiles")
    check_consistent_length(y, quantiles)
    levels = np.asarray(q, dtype=np.float64)
    if levels.shape != quantiles.shape[1:] or np.any(np.diff(levels) <= 0) or levels[0] <= 0 or levels[-1] >= 1:
        raise ValueError(f"q={q!r} must hold {quantiles.shape[1]} increasing levels strictly between 0 and 1")
    edges = np.concatenate([[0.0], 0.5 * (levels[1:] + levels[:-1]), [1.0]])
    error = y[:, None] - quantiles
    loss = np.maximum(levels * error, (levels - 1) * error)
    return _average(2 * loss @ np.diff(edges), sample_weight)


def mean_log_predictive_density(estimator: Any, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> float:
    """Average log density of the targets under a fitted regressor, in the units of y; larger is better.

    It has the signature of a scorer: ``cross_val_score(model, X, y, scoring=mean_log_predictive_density)``.

    Parameters
    ----------
    estimator : fitted regressor
        With `log_predictive_density(X, y)`, or with `predict(X, return_std=True)`, which is read as normal.
    X : array-like of shape (n_samples, n_features)
        Rows that were not fitted.
    y : array-like of shape (n_samples,)
        Their targets.
    sample_weight : array-like of shape (n_samples,), optional
        Weight of each row; None: all equal.

    Returns
    -------
    float
        In nats.
    """
    if hasattr(estimator, "log_predictive_density"):
        return _average(estimator.log_predictive_density(X, y), sample_weight)
    mean, std = estimator.predict(X, return_std=True)
    z = (np.asarray(y, dtype=np.float64) - mean) / std
    return _average(-0.5 * z**2 - np.log(std) - 0.5 * np.log(2 * np.pi), sample_weight)


def expected_calibration_error(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    labels: ArrayLike | None = None,
    n_bins: int = 15,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Average gap between confidence and accuracy of the predicted class, over bins of equal width; smaller is better.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Class labels.
    y_proba : array-like of shape (n_samples,) or (n_samples, n_classes)
        Probability of the second class, or of every class.
    labels : array-like of shape (n_classes,), optional
        The classes in the order of the columns; default: the sorted labels of y_true.
    n_bins : int, default=15
        Bins of the largest probability.
    sample_weight : array-like of shape (n_samples,), optional
        Weight of each row; None: all equal.

    Returns
    -------
    float
        Between 0 and 1.

    Examples
    --------
    >>> expected_calibration_error([0, 1, 1, 1], [0.25, 0.75, 0.75, 0.75])
    0.25
    """
    proba = check_array(y_proba, ensure_2d=False, dtype=np.float64, input_name="y_proba")
    y = np.asarray(y_true)
    check_consistent_length(y, proba)
    if proba.ndim == 1:
        proba = np.column_stack([1 - proba, proba])
    classes = np.unique(y) if labels is None else np.asarray(labels)
    if len(classes) != proba.shape[1]:
        raise ValueError(
            f"y_proba has {proba.shape[1]} columns but there are {len(classes)} classes; give `labels` in their order"
        )
    weight = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    confidence = proba.max(axis=1)
    right = classes[proba.argmax(axis=1)] == y
    bins = np.minimum((confidence * n_bins).astype(int), n_bins - 1)
    gap = np.bincount(bins, weights=weight * (right - confidence), minlength=n_bins)
    return float(np.abs(gap).sum() / weight.sum())


def _targets_and_intervals(y_true: ArrayLike, y_interval: ArrayLike) -> tuple[Array, Array]:
    y = check_array(y_true, ensure_2d=False, dtype=np.float64, input_name="y_true")
    interval = check_array(y_interval, dtype=np.float64, input_name="y_interval")
    check_consistent_length(y, interval)
    if interval.shape[1] != 2 or np.any(interval[:, 0] > interval[:, 1]):
        raise ValueError(
            f"y_interval of shape {interval.shape} must have two columns, lower and upper ends, with lower <= upper"
        )
    return y, interval


def _average(values: Any, sample_weight: ArrayLike | None) -> float:
    weight = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    return float(np.average(np.asarray(values, dtype=np.float64), weights=weight))
