"""Anderson acceleration of a fixed-point iteration x <- x + step(x)."""

from dataclasses import dataclass, field

import numpy as np
from scipy.linalg import lapack

from softmargin._linalg import Array


@dataclass
class Anderson:
    """Propose the next point from the history of points and steps (type II, least squares on step differences).

    Parameters
    ----------
    memory : int
        Number of past differences kept.
    """

    memory: int = 8
    _last: tuple[Array, Array] | None = field(default=None, repr=False)
    """The last point and its step."""
    _differences: Array | None = field(default=None, repr=False)
    """Past differences of points and of steps, shape (2, memory, n)."""
    _seen: int = 0
    """How many differences there have been."""

    def clear(self) -> None:
        """Forget the history."""
        self._last, self._seen = None, 0

    def propose(self, point: Array, step: Array, scale: Array, share: float = 1.0) -> Array:
        """Return the next point, a share of a step from the best mixture of past points.

        `scale` makes the components comparable in the least-squares fit.
        """
        last, self._last = self._last, (point, step)
        if last is None:
            return point + share * step
        if self._differences is None:
            self._differences = np.empty((2, self.memory, len(point)))
        self._differences[:, self._seen % self.memory] = point - last[0], step - last[1]
        self._seen += 1
        d_points, d_steps = self._differences[:, : min(self._seen, self.memory)]
        # min over c of |scale (step - d_steps' c)|^2, with a little ridge against collinear history.
        A = d_steps * scale
        gram = A @ A.T
        gram.flat[:: len(gram) + 1] *= 1 + 1e-12
        _, c, info = lapack.dposv(gram, A @ (scale * step))
        if info != 0:
            c = np.linalg.lstsq(gram, A @ (scale * step), rcond=1e-14)[0]
        return point + share * (step - c @ d_steps) - c @ d_points
