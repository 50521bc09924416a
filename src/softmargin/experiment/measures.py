"""What is measured on held-out rows, and the tables that the reliability diagrams are drawn from."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtr
from scipy.stats import beta, norm
from sklearn.metrics import log_loss, mean_absolute_error, root_mean_squared_error

from softmargin import metrics

BINS = 10
LEVEL = 0.95


@dataclass(frozen=True)
class Reliability:
    """Said and seen frequencies of an event in bins of about equal size."""

    said: np.ndarray
    seen: np.ndarray
    lower: np.ndarray
    """Bounds of the 95 % interval (Clopper & Pearson 1934) of what was seen."""
    upper: np.ndarray
    count: np.ndarray


def reliability(probability: np.ndarray, event: np.ndarray, bins: int = BINS) -> Reliability:
    """Compare said probabilities of shape (n,) with events of shape (n,)."""
    order = np.argsort(probability, kind="stable")
    parts = [part for part in np.array_split(order, min(bins, len(order))) if len(part)]
    count = np.array([len(part) for part in parts])
    hits = np.array([event[part].sum() for part in parts], dtype=float)
    tail = (1 - LEVEL) / 2
    lower = np.where(hits > 0, beta.ppf(tail, np.maximum(hits, 1e-9), count - hits + 1), 0.0)
    upper = np.where(hits < count, beta.ppf(1 - tail, hits + 1, np.maximum(count - hits, 1e-9)), 1.0)
    said = np.array([probability[part].mean() for part in parts])
    return Reliability(said, hits / count, lower, upper, count)


def event_of(probability: np.ndarray, truth: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The event whose probability is judged: the second of two classes, else "the prediction is right"."""
    if probability.shape[1] == 2:
        return probability[:, 1], truth == 1
    return probability.max(axis=1), probability.argmax(axis=1) == truth


def score_classes(probability: np.ndarray, truth: np.ndarray) -> dict[str, float]:
    """Measure class probabilities of shape (n, k) against class indices of shape (n,)."""
    labels = np.arange(probability.shape[1])
    return {
        "error": float(np.mean(probability.argmax(axis=1) != truth)),
        "log_loss": float(log_loss(truth, probability, labels=labels)),
        "calibration_error": metrics.expected_calibration_error(truth, probability, labels=labels),
    }


@dataclass(frozen=True)
class Forecast:
    """What a regressor says of new rows; every field of shape (n,)."""

    mean: np.ndarray
    std: np.ndarray
    lower: np.ndarray
    """Bounds of the 95 % interval."""
    upper: np.ndarray
    log_density: np.ndarray
    rank: np.ndarray
    """Probability that the model gave to a value below the true one: uniform if it is calibrated."""


def normal_forecast(mean: np.ndarray, std: Any, y: np.ndarray) -> Forecast:
    """A forecast with Gaussian errors, for models that give none."""
    std = np.broadcast_to(std, mean.shape)
    half = norm.ppf(0.5 + LEVEL / 2) * std
    return Forecast(mean, std, mean - half, mean + half, norm.logpdf(y, mean, std), ndtr((y - mean) / std))


def score_numbers(forecast: Forecast, y: np.ndarray) -> dict[str, float]:
    """Measure a regressor's forecast against the true values of shape (n,)."""
    interval = np.column_stack([forecast.lower, forecast.upper])
    return {
        "rmse": float(root_mean_squared_error(y, forecast.mean)),
        "mean_absolute_error": float(mean_absolute_error(y, forecast.mean)),
        "negative_log_density": float(-np.mean(forecast.log_density)),
        "coverage_95": metrics.coverage(y, interval),
        "interval_width": metrics.mean_width(interval),
    }
