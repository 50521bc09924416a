"""What the data look like to the fitted machine: relevance of the inputs, margins of the rows."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from softmargin._linalg import Array
from softmargin.displays._base import BLUE, GREY, ORANGE, Drawn, label, latent_model


@dataclass
class RelevanceDisplay(Drawn):
    """Relevance of each input: its inverse length scale in units of its spread, the largest scaled to 1.

    See Also
    --------
    MarginDisplay : Where the training rows lie.
    softmargin.BayesianSVC : Its ``importance_`` measures what an input changes, not how quickly.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from softmargin import BayesianSVC
    >>> from softmargin.displays import RelevanceDisplay
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> display = RelevanceDisplay.from_estimator(BayesianSVC(max_iter=5).fit(X[50::2], y[50::2]))
    >>> len(display.names)
    4
    """

    relevance: Array = field(repr=False)
    """Shape (n_features,)."""
    names: list[str] = field(repr=False)

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, names: Sequence[str] | None = None, max_inputs: int = 20, ax: Any = None
    ) -> "RelevanceDisplay":
        """Draw the relevances of a fitted estimator, the largest `max_inputs` of them."""
        latent_model(estimator, 0)
        relevance = getattr(estimator, "relevance_", None)
        if relevance is None:
            raise ValueError("the kernel has no length scales, so there is no relevance; use kernel=None or 'rbf'")
        if names is None:
            names = getattr(estimator, "feature_names_in_", [f"input {i}" for i in range(len(relevance))])
        return cls(np.asarray(relevance), [str(n) for n in names]).plot(ax=ax, max_inputs=max_inputs)

    def plot(self, ax: Any = None, *, max_inputs: int = 20) -> "RelevanceDisplay":
        """Draw horizontal bars, the most relevant on top."""
        ax = self._axes(ax)
        order = np.argsort(-self.relevance, kind="stable")[:max_inputs][::-1]
        rows = np.arange(len(order))
        ax.barh(rows, self.relevance[order], color=BLUE, height=0.7)
        ax.set_yticks(rows, [label(self.names[i]) for i in order])
        for row, i in zip(rows, order):
            ax.text(self.relevance[i] + 0.012, row, f"{self.relevance[i]:.2f}", va="center", fontsize="small")
        ax.set(xlim=(0, 1.12), xlabel="relevance")
        ax.spines[["top", "right"]].set_visible(False)
        return self


@dataclass
class MarginDisplay(Drawn):
    """Histogram of the margins y f(x) of the training rows, at the SVM itself.

    Rows with a margin below 1 pay for their slack; below 0 they are on the wrong side.

    See Also
    --------
    LatentDisplay : The function whose values they are.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from softmargin import BayesianSVC
    >>> from softmargin.displays import MarginDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> model = BayesianSVC(max_iter=5).fit(X[50::4], y[50::4])
    >>> display = MarginDisplay.from_estimator(model)
    >>> display.margins.shape
    (25,)
    """

    margins: Array = field(repr=False)
    """Shape (n,)."""
    support: np.ndarray = field(repr=False)
    """Which of them are support vectors, shape (n,)."""

    @classmethod
    def from_estimator(cls, estimator: Any, *, pair: int = 0, ax: Any = None) -> "MarginDisplay":
        """Draw the margins of a fitted BayesianSVC."""
        model = latent_model(estimator, pair)
        if not hasattr(estimator, "classes_"):
            raise ValueError("margins belong to classifiers; for a regressor use IntervalDisplay or CoverageDisplay")
        if model.svm is None:
            raise ValueError("margins belong to the SVM itself, which a fit through inducing points does not solve")
        margins = model.rows.y * model.svm.mean
        return cls(margins, model.svm.beta != 0).plot(ax=ax)

    def plot(self, ax: Any = None, *, bins: int = 30) -> "MarginDisplay":
        """Draw the histogram: support vectors apart from the rows that do not matter."""
        ax = self._axes(ax)
        low, high = np.quantile(self.margins, [0.0, 1.0])
        # An edge at 1 keeps the rows on the margin apart from those beyond it.
        width = (high - low or 1.0) / bins
        edges = 1.0 + width * np.arange(np.floor((low - 1) / width), np.ceil((high - 1) / width) + 1)
        parts = [self.margins[self.support], self.margins[~self.support]]
        ax.hist(parts, bins=edges, stacked=True, color=[ORANGE, BLUE], label=["support vectors", "other rows"])
        ax.axvline(0, color=GREY, linewidth=1)
        ax.axvline(1, color=GREY, linewidth=1, linestyle="--")
        ax.set(xlabel="margin  y f(x)", ylabel="training rows")
        ax.legend(fontsize="small", frameon=False)
        ax.spines[["top", "right"]].set_visible(False)
        return self
