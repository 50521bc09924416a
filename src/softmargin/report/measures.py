"""What is measured on held-out rows, and the tables that the reliability diagrams are drawn from."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtr
from scipy.stats import beta

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

    @property
    def error(self) -> float:
        """Mean distance of said and seen, weighted by the rows: the expected calibration error."""
        return float(self.count @ np.abs(self.said - self.seen) / self.count.sum())


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
    said, event = event_of(probability, truth)
    right = probability[np.arange(len(truth)), truth]
    return {
        "error": float(np.mean(probability.argmax(axis=1) != truth)),
        "log_loss": float(-np.mean(np.log(np.clip(right, 1e-15, None)))),
        "calibration_error": reliability(said, event).error,
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
    z = (y - mean) / std
    log_density = -0.5 * z**2 - np.log(std * np.sqrt(2 * np.pi))
    return Forecast(mean, std, mean - 1.959964 * std, mean + 1.959964 * std, log_density, ndtr(z))


def coverage(rank: np.ndarray, levels: np.ndarray) -> np.ndarray:
    """Fraction of rows whose true value lies within the central interval of each level."""
    return np.array([np.mean(np.abs(rank - 0.5) <= level / 2) for level in levels])


def score_numbers(forecast: Forecast, y: np.ndarray) -> dict[str, float]:
    """Measure a regressor's forecast against the true values of shape (n,)."""
    inside = (y >= forecast.lower) & (y <= forecast.upper)
    return {
        "rmse": float(np.sqrt(np.mean((forecast.mean - y) ** 2))),
        "mean_absolute_error": float(np.mean(np.abs(forecast.mean - y))),
        "negative_log_density": float(-np.mean(forecast.log_density)),
        "coverage_95": float(np.mean(inside)),
        "interval_width": float(np.mean(forecast.upper - forecast.lower)),
    }
