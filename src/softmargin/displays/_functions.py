"""Latent functions: what the prior expects and what the posterior knows."""

import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from softmargin._linalg import Array
from softmargin.displays._base import BLUE, GREEN, GREY, ORANGE, Drawn, latent_model, name_of, number_of, slice_through
from softmargin.kernels import gram


@dataclass
class LatentDisplay(Drawn):
    """The latent function theta(x) along one input, or over two with the decision regions and the gap ``|theta| < 1``.

    See Also
    --------
    PriorSampleDisplay : What was expected before the data.
    IntervalDisplay : Predictions of a regression with their intervals.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from softmargin import BayesianSVC
    >>> from softmargin.displays import LatentDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> model = BayesianSVC(max_iter=5).fit(X[50:, 2:], y[50:])
    >>> display = LatentDisplay.from_estimator(model, X[50:, 2:], y[50:], features=(0, 1), resolution=20)
    >>> display.mean.shape
    (20, 20)
    """

    axes: list[Array] = field(repr=False)
    """One or two grids of shape (resolution,)."""
    mean: Array = field(repr=False)
    """Posterior mean, shape (resolution,) or (resolution, resolution), first axis first."""
    variance: Array = field(repr=False)
    names: tuple[str, ...]
    classes: np.ndarray | None = None
    points: Array | None = field(default=None, repr=False)
    """Training rows along the shown inputs, shape (n, 1 or 2)."""
    y: np.ndarray | None = field(default=None, repr=False)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        features: tuple[int | str, ...] = (0,),
        resolution: int = 100,
        pair: int = 0,
        ax: Any = None,
    ) -> "LatentDisplay":
        """Evaluate the latent posterior on a grid around X and draw it.

        Parameters
        ----------
        estimator : fitted BayesianSVC or BayesianSVR
        X : array-like of shape (n_samples, n_features)
            Gives the range; inputs that are not shown stay at their medians.
        y : array-like of shape (n_samples,), optional
            Drawn as points.
        features : tuple of one or two int or str
            Numbers of columns, or their names if the estimator was fitted with names.
        """
        if len(features) not in (1, 2):
            raise ValueError(f"features={features} must name one or two inputs")
        latent_model(estimator, pair)
        X = np.asarray(X, dtype=float)
        numbers = tuple(number_of(estimator, f) for f in features)
        axes, points = slice_through(X, numbers, resolution)
        with warnings.catch_warnings():
            # The grid has the columns of X, without their names.
            warnings.filterwarnings("ignore", message="X does not have valid feature names")
            mean, variance = estimator.latent_mean_and_variance(points)
        if mean.ndim == 2:
            mean, variance = mean[:, pair], variance[:, pair]
        shape = (resolution,) * len(features)
        names = tuple(name_of(estimator, f) for f in numbers)
        classes = getattr(estimator, "classes_", None)
        if classes is not None and len(classes) > 2:
            classes = None
        shown = None if y is None else X[:, list(numbers)]
        return cls(
            axes,
            mean.reshape(shape),
            variance.reshape(shape),
            names,
            classes,
            shown,
            None if y is None else np.asarray(y),
        ).plot(ax=ax)

    def plot(self, ax: Any = None) -> "LatentDisplay":
        """Draw a curve with its band, or regions with the gap."""
        ax = self._axes(ax)
        (self._plot_line if len(self.axes) == 1 else self._plot_plane)(ax)
        return self

    def _plot_line(self, ax: Any) -> None:
        (x,), std = self.axes, np.sqrt(self.variance)
        ax.fill_between(
            x, self.mean - 2 * std, self.mean + 2 * std, color=BLUE, alpha=0.25, linewidth=0, label="± 2 sd"
        )
        ax.plot(x, self.mean, color=BLUE, label="posterior mean")
        if self.classes is not None:
            ax.axhspan(-1, 1, color=GREY, alpha=0.15, linewidth=0, label="gap |θ| < 1")
            if self.points is not None:
                sign = np.where(self.y == self.classes[1], 1.0, -1.0)
                ax.plot(self.points[:, 0], sign, "|", color=ORANGE, markersize=8, label="data (class as ±1)")
        elif self.points is not None:
            ax.plot(self.points[:, 0], self.y, ".", color=ORANGE, label="data")
        ax.set(xlabel=self.names[0], ylabel="latent θ(x)")
        ax.legend(fontsize="small", frameon=False)

    def _plot_plane(self, ax: Any) -> None:
        a, b = self.axes
        limit = max(1.5, float(np.abs(self.mean).max()))
        ax.contourf(
            a, b, self.mean.T, levels=[-limit, -1, 0, 1, limit], colors=[BLUE, BLUE, ORANGE, ORANGE], alpha=0.22
        )
        ax.contourf(a, b, np.abs(self.mean.T), levels=[0, 1], colors=[GREY], alpha=0.25)
        ax.contour(a, b, self.mean.T, levels=[-1, 0, 1], colors=[BLUE, GREY, ORANGE], linestyles=["--", "-", "--"])
        if self.points is not None and self.y is not None:
            for k, value in enumerate(np.unique(self.y)):
                rows = self.y == value
                ax.plot(*self.points[rows].T, "o^sD"[k % 4], color=[BLUE, ORANGE, GREEN, GREY][k % 4],
                        markersize=4, markeredgecolor="white", markeredgewidth=0.4, label=str(value)[:28])  # fmt: skip
            ax.legend(fontsize="small", title=None)
        ax.set(xlabel=self.names[0], ylabel=self.names[1])


@dataclass
class PriorSampleDisplay(Drawn):
    """Functions drawn from the prior with the learnt kernel, along one input.

    See Also
    --------
    LatentDisplay : What is known after the data.

    References
    ----------
    Sollich (2002), Bayesian methods for support vector machines, figure 2.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from softmargin import BayesianSVC
    >>> from softmargin.displays import PriorSampleDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> model = BayesianSVC(max_iter=5).fit(X[50::4], y[50::4])
    >>> display = PriorSampleDisplay.from_estimator(model, X[50::4], n_samples=3, resolution=20)
    >>> display.samples.shape
    (20, 3)
    """

    x: Array = field(repr=False)
    """Shape (resolution,)."""
    samples: Array = field(repr=False)
    """Shape (resolution, n_samples)."""
    name: str
    is_classifier: bool = False

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        *,
        feature: int = 0,
        n_samples: int = 5,
        resolution: int = 150,
        random_state: Any = 0,
        pair: int = 0,
        ax: Any = None,
    ) -> "PriorSampleDisplay":
        """Draw functions along one input around X, the other inputs at their medians."""
        model = latent_model(estimator, pair)
        (x,), points = slice_through(X, (feature,), resolution)
        # A regressor's nugget is noise, not part of the function; its target is scaled inside.
        smooth = getattr(estimator, "_smooth", model)
        center, scale = getattr(estimator, "y_center_", 0.0), getattr(estimator, "y_scale_", 1.0)
        values, vectors = np.linalg.eigh(gram(smooth.kernel, points))
        root = vectors * np.sqrt(np.maximum(values, 0))
        draws = center + scale * root @ check_random_state(random_state).standard_normal((resolution, n_samples))
        return cls(x, draws, name_of(estimator, feature), hasattr(estimator, "classes_")).plot(ax=ax)

    def plot(self, ax: Any = None) -> "PriorSampleDisplay":
        """Draw one line for each function."""
        ax = self._axes(ax)
        for k, sample in enumerate(self.samples.T):
            ax.plot(self.x, sample, color=[BLUE, ORANGE, GREEN, GREY][k % 4], alpha=0.9)
        if self.is_classifier:
            ax.axhspan(-1, 1, color=GREY, alpha=0.15, linewidth=0)
        ax.set(xlabel=self.name, ylabel="latent θ(x), drawn from the prior")
        return self
