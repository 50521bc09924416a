"""Pictures of a comparison of criteria: histograms of test errors, and traces of the hyperparameters."""

from typing import Any

import numpy as np

from softmargin.comparison._criteria import CriteriaComparison


class CriteriaComparisonDisplay:
    """Histograms of the test error by criterion (Gold & Sollich 2003, figures 2 to 4) and traces (figures 1, 5, 6).

    Parameters
    ----------
    comparison : CriteriaComparison
        What `compare_criteria` returned.

    Attributes
    ----------
    axes_ : ndarray of matplotlib Axes
    figure_ : matplotlib Figure
    """

    def __init__(self, comparison: CriteriaComparison) -> None:
        self.comparison = comparison

    @classmethod
    def from_comparison(cls, comparison: CriteriaComparison, **kwargs: Any) -> "CriteriaComparisonDisplay":
        """Plot the histograms of a comparison."""
        return cls(comparison).plot(**kwargs)

    def plot(self, axes: Any = None, *, bin_width: float = 0.02) -> "CriteriaComparisonDisplay":
        """Draw one histogram of test errors (in %) for each criterion, on a common axis."""
        labels = self.comparison.labels
        axes = self._axes(axes, len(labels), sharex=True, sharey=True)
        top = max(trial.test_error for trial in self.comparison.trials)
        bins = 100 * np.arange(0, top + 2 * bin_width, bin_width)
        for ax, label in zip(axes, labels):
            errors = 100 * self.comparison.errors(label)
            ax.hist(errors, bins=bins)
            ax.set(title=f"{label}: {errors.mean():.1f} ± {errors.std():.1f} %", ylabel="trials")
        axes[-1].set_xlabel("test error (%)")
        return self

    def plot_traces(self, label: str, number: int = 0, axes: Any = None) -> "CriteriaComparisonDisplay":
        """Draw how the criterion and each hyperparameter moved in one trial; rejected steps are left out."""
        trial = next(t for t in self.comparison.trials if t.label == label and t.number == number)
        objective = np.array([row["objective"] for row in trial.path])
        kept = np.flatnonzero(objective >= np.maximum.accumulate(objective))
        skip = {"stage", "start", "objective", "criterion", "inference", "n_iter"}
        names = ["criterion", *(name for name in trial.path[0] if name not in skip)]
        axes = self._axes(axes, len(names), sharex=True)
        for ax, name in zip(axes, names):
            ax.step(kept, [trial.path[k][name] for k in kept], where="post")
            ax.set(ylabel=name, yscale="linear" if name in ("criterion", "C") else "log")
        axes[-1].set_xlabel("evaluation")
        return self

    def _axes(self, axes: Any, n: int, **kwargs: Any) -> Any:
        from matplotlib import pyplot

        if axes is None:
            _, axes = pyplot.subplots(n, 1, figsize=(6, 1.6 * n + 0.6), squeeze=False, layout="constrained", **kwargs)
        self.axes_ = np.ravel(axes)
        self.figure_ = self.axes_[0].figure
        return self.axes_
