"""How blocks of raw targets become labels -1 and +1, or scaled regression targets, wherever the blocks are."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from softmargin._linalg import Array
from softmargin.rows.source import Encoded, Encoding


@dataclass(frozen=True)
class PairEncoding:
    """One class against another, or against the rest."""

    classes: np.ndarray
    """All classes, sorted."""
    pair: tuple[int, int]
    """(a, b): class a is -1 and class b is +1; (-1, b): every other class is -1."""

    def __call__(self, y: Any, weight: Array) -> Encoded:
        """Encode a block of labels."""
        index = np.searchsorted(self.classes, np.asarray(y))
        a, b = self.pair
        keep = None if a < 0 or len(self.classes) == 2 else (index == a) | (index == b)
        if keep is not None:
            index, weight = index[keep], weight[keep]
        return Encoded(keep, np.where(index == b, 1.0, -1.0), weight)


@dataclass(frozen=True)
class ClassEncoding:
    """The number of each label's class."""

    classes: np.ndarray
    """All classes, sorted."""

    def __call__(self, y: Any, weight: Array) -> Encoded:
        """Encode a block of labels."""
        return Encoded(None, np.searchsorted(self.classes, np.asarray(y)).astype(np.float64), weight)


@dataclass(frozen=True)
class ScaledEncoding:
    """(y - center) / scale, without the rows where it exceeds a limit."""

    center: float
    scale: float
    limit: float = np.inf

    def __call__(self, y: Any, weight: Array) -> Encoded:
        """Encode a block of targets."""
        target = (np.asarray(y, dtype=np.float64) - self.center) / self.scale
        if np.isinf(self.limit):
            return Encoded(None, target, weight)
        keep = np.abs(target) <= self.limit
        return Encoded(keep, target[keep], weight[keep])


@dataclass(frozen=True)
class ThinnedEncoding:
    """Keep about one row in `every`, with its weight multiplied by that: the same rows at every pass."""

    encoding: Encoding
    every: int
    seed: int

    def __call__(self, y: Any, weight: Array) -> Encoded:
        """Encode a block of targets and drop most of its rows."""
        encoded = self.encoding(y, weight)
        chosen = np.random.RandomState(self.seed).uniform(size=len(y)) * self.every < 1
        keep = np.ones(len(y), dtype=bool) if encoded.keep is None else encoded.keep
        within = chosen[keep]
        return Encoded(keep & chosen, encoded.target[within], self.every * encoded.weight[within])
