"""Merged training rows with class labels."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.sparse import issparse

from softmargin._linalg import Array
from softmargin.least_squares.softmax import Labels
from softmargin.rows import LocalRows


def one_hot(labels: Labels, n_classes: int) -> Array:
    """One-hot targets less 1/K, shape (n, K)."""
    Y = np.full((len(labels), n_classes), -1.0 / n_classes)
    Y[np.arange(len(labels)), labels] += 1.0
    return Y


@dataclass(frozen=True)
class LabelledRows:
    """Merged training rows: inputs (or a Gram matrix), labels 0..K-1 and copies."""

    X: Any = field(repr=False)
    labels: Labels = field(repr=False)
    weight: Array = field(repr=False)
    n_classes: int
    precomputed: bool = False
    whole: bool = False
    """Whether leave-one-out leaves all copies of a row out at once, or one of them."""

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def Y(self) -> Array:
        """One-hot targets less 1/K, shape (n, K)."""
        return one_hot(self.labels, self.n_classes)

    def take(self, index: Any) -> "LabelledRows":
        """Some of the rows (and the columns of a Gram matrix)."""
        X = self.X[index][:, index] if self.precomputed else self.X[index]
        return replace(self, X=X, labels=self.labels[index], weight=self.weight[index])

    def distinct(self) -> tuple[Any, Any]:
        """Distinct inputs of shape (u, d), and the number of each row's input, shape (n,).

        Merged rows of equal inputs are neighbours. Of a Gram matrix every row is its own input.
        """
        if self.precomputed:
            return self.X, np.arange(len(self))
        gap = self.X[1:] - self.X[:-1]
        new = np.append(True, np.diff(gap.indptr) > 0 if issparse(gap) else np.any(gap, axis=1))
        return self.X[np.flatnonzero(new)], np.cumsum(new) - 1

    def local(self) -> LocalRows:
        """The rows as a source of sums over blocks."""
        return LocalRows(self.X, self.labels.astype(np.float64), self.weight, cache_bytes=0)

    def sample(self, size: int, rng: np.random.RandomState) -> "LabelledRows":
        """At most `size` rows: every class in proportion, but two rows of each before a third of any."""
        if len(self) <= size:
            return self
        position = np.empty(len(self))
        for k in range(self.n_classes):
            members = rng.permutation(np.flatnonzero(self.labels == k))
            # Two rows of every class come first; the others are spread evenly over [0, 1].
            position[members] = (np.arange(len(members)) - 1) / max(len(members), 1)
        return self.take(np.sort(np.argsort(position, kind="stable")[:size]))
