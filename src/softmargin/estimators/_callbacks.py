"""scikit-learn's callbacks (version 1.9 on): one task for the fit and one for each evaluation of the search.

A progress bar, a monitor of scores, or a callback that ends the search early (it returns True at the end of a task) can
be set with ``estimator.set_callbacks(...)``. Older versions have no callbacks, and nothing here does anything.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from softmargin._typing import Attributes, MatrixLike, PartLike, VectorLike
from softmargin.search import StopSearch

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands for the mixin that this version of scikit-learn does not have."""

    def with_callbacks(method: PartLike) -> Any:
        """Return the method as it is."""
        return method


__all__ = ["CallbackSupportMixin", "FitTasks", "with_callbacks"]


@dataclass
class FitTasks:
    """The task tree of one fit. Once a callback has asked to stop, every further search ends at once."""

    estimator: Any
    data: Attributes = field(repr=False)
    context: Any = None
    stopped: bool = False

    @classmethod
    def begin(cls, estimator: Any, X: MatrixLike, y: VectorLike, sample_weight: VectorLike) -> "FitTasks":
        """Open the task of the fit."""
        metadata = None if sample_weight is None else {"sample_weight": sample_weight}
        tasks = cls(estimator, {"X": X, "y": y, "metadata": metadata})
        if hasattr(estimator, "_init_callback_context"):
            # How many evaluations a search needs is not known in advance.
            tasks.context = estimator._init_callback_context(max_subtasks=None)
            tasks.context.call_on_fit_task_begin(estimator=estimator, **tasks.data)
        return tasks

    def evaluated(self, attributes: Callable[[], Attributes] | None = None) -> None:
        """Report one evaluation; `attributes` makes the fitted attributes as if the search had ended here.

        Raises
        ------
        StopSearch
            If a callback has asked to stop.
        """
        if self.context is None:
            return
        task = self.context.subcontext(task_name="evaluation")
        task.call_on_fit_task_begin(estimator=self.estimator, **self.data)
        # A callable among the arguments would be called for its value; this one is, when a callback wants it.
        ask = task.call_on_fit_task_end(estimator=self.estimator, **self.data, reconstruction_attributes=attributes)
        self.stopped = self.stopped or bool(ask)
        if self.stopped:
            raise StopSearch

    def end(self) -> None:
        """Close the task of the fit."""
        if self.context is not None:
            self.context.call_on_fit_task_end(estimator=self.estimator, **self.data, reconstruction_attributes={})
