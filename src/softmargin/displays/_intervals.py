"""Regression: predictions with intervals, and whether the intervals hold what they promise."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.stats import binom

from softmargin._linalg import Array
from softmargin.displays._base import BLUE, GREY, ORANGE, Drawn, latent_model, name_of
from softmargin.metrics import coverage

LEVELS = np.linspace(0.05, 0.99, 48)


@dataclass
class IntervalDisplay(Drawn):
    """Predicted mean and interval: along the input if there is one, else against the rows in order of prediction.

    See Also
    --------
    CoverageDisplay : Whether the intervals hold what they promise.

    References
    ----------
    Gao, Gunn & Harris (2003), Mean field method for the support vector machine regression, eq. 5.2.

    Examples
    --------
    >>> import numpy as np
    >>> from softmargin.displays import IntervalDisplay
    >>> mean = np.array([1.0, 2.0])
    >>> display = IntervalDisplay.from_predictions(mean, mean - 1, mean + 1, y=np.array([1.5, 3.5]))
    >>> display.inside.tolist()
    [True, False]
    """

    x: Array | None = field(repr=False)
    """The only input, shape (n,); None if there are several."""
    mean: Array = field(repr=False)
    lower: Array = field(repr=False)
    upper: Array = field(repr=False)
    y: Array | None = field(default=None, repr=False)
    confidence_level: float = 0.95
    name: str = "rows, in order of prediction"

    @property
    def inside(self) -> np.ndarray:
        """Which true values lie within their interval, shape (n,)."""
        return (self.y >= self.lower) & (self.y <= self.upper)  # type: ignore[operator]

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any = None, *, confidence_level: float = 0.95, ax: Any = None
    ) -> "IntervalDisplay":
        """Predict the rows of X with a fitted BayesianSVR and draw them; y as points."""
        latent_model(estimator, 0)
        if not hasattr(estimator, "predict_interval"):
            raise ValueError("intervals belong to regressors; for a classifier use LatentDisplay")
        interval = estimator.predict_interval(X, confidence_level=confidence_level)
        values = np.asarray(X, dtype=float)
        one = values.shape[1] == 1
        name = name_of(estimator, 0) if one else cls.name
        return cls(
            values[:, 0] if one else None, estimator.predict(X), interval[:, 0], interval[:, 1],
            None if y is None else np.asarray(y, dtype=float), confidence_level, name,
        ).plot(ax=ax)  # fmt: skip

    @classmethod
    def from_predictions(
        cls,
        mean: Array,
        lower: Array,
        upper: Array,
        *,
        y: Any = None,
        x: Any = None,
        confidence_level: float = 0.95,
        ax: Any = None,
    ) -> "IntervalDisplay":
        """Draw given predictions, all of shape (n,)."""
        return cls(x, mean, lower, upper, y, confidence_level).plot(ax=ax)

    def plot(self, ax: Any = None) -> "IntervalDisplay":
        """Draw the band, the mean and the true values (those outside marked)."""
        ax = self._axes(ax)
        order = np.argsort(self.mean if self.x is None else self.x, kind="stable")
        x = np.arange(len(order)) if self.x is None else self.x[order]
        band = f"{100 * self.confidence_level:g} % interval"
        ax.fill_between(x, self.lower[order], self.upper[order], color=BLUE, alpha=0.25, linewidth=0, label=band)
        ax.plot(x, self.mean[order], color=BLUE, linewidth=1.5, label="mean")
        if self.y is not None:
            y, inside = self.y[order], self.inside[order]
            ax.plot(x[inside], y[inside], ".", color=GREY, markersize=4, label="inside")
            ax.plot(x[~inside], y[~inside], ".", color=ORANGE, markersize=6, label="outside")
        ax.set(xlabel=self.name, ylabel="y")
        ax.legend(fontsize="small", frameon=False)
        return self


@dataclass
class CoverageDisplay(Drawn):
    """Share of true values inside the central intervals, against the probability that the intervals promise.

    See Also
    --------
    IntervalDisplay : The intervals themselves.
    softmargin.metrics.coverage : One point of the curve.

    Examples
    --------
    >>> import numpy as np
    >>> from softmargin.displays import CoverageDisplay
    >>> display = CoverageDisplay.from_predictions(np.linspace(0.01, 0.99, 50))
    >>> bool(np.abs(display.coverage - display.level).max() < 0.03)
    True
    """

    level: Array = field(repr=False)
    """Shape (n_levels,)."""
    coverage: Array = field(repr=False)
    """Shape (n_levels,)."""
    n_rows: int

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any, *, ax: Any = None) -> "CoverageDisplay":
        """Judge a fitted BayesianSVR on held-out rows and draw the curve."""
        latent_model(estimator, 0)
        if not hasattr(estimator, "predict_interval"):
            raise ValueError("coverage belongs to regressors; for a classifier draw a reliability diagram")
        seen = [coverage(y, estimator.predict_interval(X, confidence_level=float(level))) for level in LEVELS]
        return cls(LEVELS, np.array(seen), len(y)).plot(ax=ax)

    @classmethod
    def from_predictions(cls, rank: Array, *, ax: Any = None, **kwargs: Any) -> "CoverageDisplay":
        """Draw the curve of given ranks: the predicted probability of a value below the true one, shape (n,)."""
        rank = np.asarray(rank)
        seen = np.array([np.mean(np.abs(rank - 0.5) <= level / 2) for level in LEVELS])
        return cls(LEVELS, seen, len(rank)).plot(ax=ax, **kwargs)

    def plot(self, ax: Any = None, *, name: str = "softmargin", color: str = BLUE) -> "CoverageDisplay":
        """Draw the curve, and the band in which a perfect model stays at each level 95 % of the time."""
        ax = self._axes(ax)
        if not ax.lines:
            low, high = (binom.ppf(q, self.n_rows, self.level) / self.n_rows for q in (0.025, 0.975))
            ax.fill_between(self.level, low, high, color=GREY, alpha=0.2, linewidth=0, label="a perfect model, 95 %")
            ax.plot([0, 1], [0, 1], color=GREY, linewidth=1)
        ax.plot(self.level, self.coverage, color=color, label=name)
        ax.set(xlabel="promised probability", ylabel="share of true values inside", xlim=(0, 1), ylim=(0, 1))
        ax.legend(fontsize="small", frameon=False, loc="upper left")
        return self
