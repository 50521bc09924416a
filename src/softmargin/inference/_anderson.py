"""Anderson acceleration of a fixed-point iteration x <- x + step(x)."""

from dataclasses import dataclass, field

import numpy as np

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
    _points: list[Array] = field(default_factory=list)
    _steps: list[Array] = field(default_factory=list)

    def clear(self) -> None:
        """Forget the history."""
        self._points.clear()
        self._steps.clear()

    def propose(self, point: Array, step: Array, scale: Array) -> Array:
        """Return the next point; `scale` makes the components comparable in the least-squares fit."""
        self._points.append(point)
        self._steps.append(step)
        if len(self._points) > self.memory + 1:
            del self._points[0], self._steps[0]
        if len(self._points) < 2:
            return point + step
        points, steps = np.array(self._points), np.array(self._steps)
        d_points, d_steps = np.diff(points, axis=0), np.diff(steps, axis=0)
        # min over c of |scale (step - d_steps' c)|^2, with a little ridge against collinear history.
        A = d_steps * scale
        gram = A @ A.T
        gram[np.diag_indices_from(gram)] *= 1 + 1e-12
        gram[np.diag_indices_from(gram)] += 1e-300
        c = np.linalg.lstsq(gram, A @ (scale * step), rcond=1e-14)[0]
        return point + step - c @ (d_points + d_steps)
