"""Memory that blocks of rows share."""

from typing import Any

import numpy as np


class Workspace:
    """Memory that one block of rows leaves to the next: fresh pages for every block cost a tenth of a pass."""

    def __init__(self) -> None:
        self._arrays: dict[str, Any] = {}

    def array(self, name: str, shape: tuple[int, ...], dtype: Any) -> Any:
        """An array of this shape, its contents arbitrary, in memory kept under a name."""
        old = self._arrays.get(name)
        if old is None or old.dtype != dtype or old.shape[1:] != shape[1:] or len(old) < shape[0]:
            old = self._arrays[name] = np.empty(shape, dtype=dtype)
        return old[: shape[0]]
