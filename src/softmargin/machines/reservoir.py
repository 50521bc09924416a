"""A bounded random sample of a stream of rows, from which hyperparameters are learnt again as the stream grows."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy import sparse

from softmargin._linalg import Array
from softmargin.machines.sampled_rows import RawSample, Source, compact
from softmargin.policy import POLICY
from softmargin.rows import LocalRows


@dataclass(frozen=True)
class Reservoir:
    """Every row of a stream draws a number; those with the smallest are kept, and the smallest of every class.

    Each row has the same chance, whenever it came, and keeps its weight. While all rows fit, all are kept.
    """

    X: Any = field(repr=False)
    y: Any = field(repr=False)
    """As given."""
    weight: Array = field(repr=False)
    key: Array = field(repr=False)
    """The number that each kept row has drawn, shape (n,)."""
    seed: int
    n_rows: int
    """Rows of the stream."""
    total: float
    """Their weight."""
    tuned: float
    """Their weight when the hyperparameters were learnt last."""
    n_batches: int = 1

    @classmethod
    def of(cls, source: Source, seed: int, *, classes: bool) -> "Reservoir":
        """The first batch, from which the hyperparameters were learnt."""
        empty = cls(None, None, np.empty(0), np.empty(0), seed, 0, 0.0, 0.0, 0)
        return empty.add(source, classes=classes).just_tuned()

    def add(self, source: Source, *, classes: bool) -> "Reservoir":
        """After another batch; `classes`: whether the targets are classes, of which each keeps some rows."""
        source = compact(source)
        key = np.random.RandomState((self.seed + self.n_batches) % 2**32).uniform(size=source.n_rows)
        _, y, weight = source.take(np.arange(source.n_rows))
        new = np.flatnonzero(_kept(key, np.asarray(y), classes=classes))
        X, y, w = source.take(new)
        y, w, key = np.asarray(y), np.asarray(w), key[new]
        if self.n_batches:
            X, y = _stacked(self.X, X), np.concatenate([self.y, y])
            w, key = np.concatenate([self.weight, w]), np.concatenate([self.key, key])
        kept = _kept(key, y, classes=classes)
        return replace(
            self,
            X=X[kept],
            y=y[kept],
            weight=w[kept],
            key=key[kept],
            n_rows=self.n_rows + source.n_rows,
            total=self.total + float(weight.sum()),
            n_batches=self.n_batches + 1,
        )

    @property
    def is_due(self) -> bool:
        """Whether the stream has grown so much that hyperparameters are learnt again."""
        return self.total >= POLICY.size.stream_growth * self.tuned

    @property
    def is_complete(self) -> bool:
        """Whether all rows of the stream are kept."""
        return len(self.y) == self.n_rows

    @property
    def rows(self) -> LocalRows:
        """The kept rows."""
        return LocalRows(self.X, self.y, self.weight)

    @property
    def sample(self) -> RawSample:
        """The same as a sample of the stream."""
        return RawSample(self.X, self.y, self.weight, len(self.y) / self.n_rows)

    def just_tuned(self) -> "Reservoir":
        """With hyperparameters that all rows so far have been asked for."""
        return replace(self, tuned=self.total)


def _kept(key: Array, y: np.ndarray, *, classes: bool) -> np.ndarray:
    """Which rows stay, shape (n,)."""
    size = POLICY.size
    kept = _smallest(key, size.reservoir)
    for label in np.unique(y) if classes and not np.all(kept) else ():
        own = y == label
        kept[own] |= _smallest(key[own], size.enough_of_a_class)
    return kept


def _smallest(key: Array, most: int) -> np.ndarray:
    kept = np.ones(len(key), dtype=bool)
    if len(key) > most:
        kept[np.argsort(key, kind="stable")[most:]] = False
    return kept


def _stacked(a: Any, b: Any) -> Any:
    return sparse.vstack([a, b], format="csr") if sparse.issparse(a) else np.concatenate([a, b])
