"""A random sample of rows that are too many to hold, and the same rows with their targets encoded."""

import logging
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from softmargin._linalg import Array
from softmargin.policy import POLICY, LeastSquaresPolicy
from softmargin.rows import DaskRows, Encoding, LocalRows, TrainingRows, merge_rows
from softmargin.tuning import Sample

logger = logging.getLogger("softmargin")

Source = LocalRows | DaskRows


@dataclass(frozen=True)
class RawSample:
    """Sampled rows with raw targets."""

    X: Any = field(repr=False)
    y: Any = field(repr=False)
    weight: Array = field(repr=False)
    share: float
    """Sampled rows over all rows."""

    def some(self, n: int) -> "RawSample":
        """At most n of these rows, evenly spaced, in double precision."""
        index = np.unique(np.linspace(0, len(self.y) - 1, min(n, len(self.y))).round().astype(int))
        X = self.X[index].astype(np.float64)
        return RawSample(X, np.asarray(self.y)[index], self.weight[index], self.share * len(index) / len(self.y))

    def encoded(self, encoding: Encoding) -> Sample:
        """The sample with encoded targets."""
        keep, y, weight = encoding(self.y, self.weight)
        return Sample(self.X if keep is None else self.X[keep], y, weight, self.share)


def compact(source: Source) -> Source:
    """Fetch and merge rows that fit a sample, so that the model does not depend on where or in which order they are.

    Inducing points are drawn among distinct rows, in an order of their own: a weight is exactly so many copies.
    """
    if source.n_rows > POLICY.size.sample:
        return source
    X, y, weight = source.take(np.arange(source.n_rows))
    labels, index = np.unique(y, return_inverse=True)
    merged = merge_rows(X, index.astype(np.float64), weight)
    return LocalRows(merged.X, labels[merged.y.astype(int)], merged.weight)


def draw(source: Source, seed: int, classes: np.ndarray | None = None, most: int | None = None) -> RawSample:
    """Take a random sample of at most so many rows, with some of every class; all of them if they are fewer."""
    n, size = source.n_rows, POLICY.size
    most = size.sample if most is None else most
    index = np.arange(n)
    if n > most:
        index = np.sort(np.random.RandomState(seed).choice(n, most, replace=False))
    X, y, weight = source.take(index)
    rare = np.empty(0) if classes is None else classes[_counts(y, classes) < size.enough_of_a_class]
    if len(index) < n and len(rare):
        more = np.concatenate([source.find(label, size.enough_of_a_class) for label in rare])
        index = np.union1d(index, more)
        X, y, weight = source.take(index)
    return RawSample(X, y, weight, len(index) / n)


def enough_rows(source: Source, policy: LeastSquaresPolicy, seed: int, classes: np.ndarray) -> Source:
    """What least-squares machines see: all rows, or of very many a random sample, which is held in memory."""
    n_features = source.take(np.arange(1))[0].shape[1]
    most = max(min(policy.most_rows, policy.most_entries // n_features), POLICY.size.sample)
    if source.n_rows <= most:
        return source
    sample = draw(source, seed, classes, most)
    return LocalRows(sample.X, sample.y, sample.weight)


def merged(sample: RawSample) -> tuple[TrainingRows, RawSample]:
    """The distinct rows of a sample with the numbers of their classes as targets, and the sample in the same order."""
    labels, index = np.unique(sample.y, return_inverse=True)
    rows = merge_rows(sample.X.astype(np.float64, copy=False), index.astype(np.float64), sample.weight)
    return rows, RawSample(rows.X, labels[rows.y.astype(int)], rows.weight, sample.share)


def left_out_rows(n: int, seed: int) -> np.ndarray:
    """Numbers of the rows of a sample whose leave-one-out predictions are computed, sorted."""
    return np.sort(np.random.RandomState(seed).permutation(n)[: POLICY.size.left_out])


def _counts(y: Any, classes: np.ndarray) -> np.ndarray:
    return np.bincount(np.searchsorted(classes, y), minlength=len(classes))


def n_inducing_for(n_rows: int, asked: int | None) -> int:
    """Number of inducing points."""
    size = POLICY.size
    return min(n_rows, asked if asked is not None else min(size.inducing, max(n_rows // 3, size.fewest_inducing)))
