"""What an estimator asks of a fit, as one record of parts: no names, no estimator."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from sklearn.gaussian_process.kernels import Kernel

from softmargin.criteria import Criterion
from softmargin.inference import Inference
from softmargin.search import Evaluation, Search
from softmargin.tuning.hyperprior import HyperPrior
from softmargin.tuning.model import LatentModel

Callback = Callable[[Evaluation, Callable[[], LatentModel]], None]
"""Called after every evaluation, with a function that makes the model as if the search had ended there."""


@dataclass(frozen=True)
class Tuning:
    """How the hyperparameters of one latent function are learnt and its posterior is inferred."""

    inference: Inference
    criterion: Criterion | None
    """None: the default policy."""
    search: Search | None
    """None: no search; the given hyperparameters stay."""
    hyperprior: HyperPrior | None
    n_restarts: int = 0
    n_jobs: int | None = None
    seed: int = 0
    validation_fraction: float | None = None
    callback: Callback | None = None
    hint: Kernel | None = None
    """A kernel of another machine, whose length scales are worth a climb where the search sees few of the rows."""
    brief: bool = False
    """Whether the search starts near its end and the machine only predicts: a regression in doubt is not searched again
    from other starts, and no support vector machine is solved."""

    @property
    def is_default(self) -> bool:
        """Whether the default policy chooses among its own models by EP's leave-one-out."""
        return self.criterion is None and self.search is not None and self.inference.gives_cavities

    def without_callback(self) -> "Tuning":
        """The same for another process, where no callback is heard."""
        return replace(self, callback=None)


def part_of(value: Any, registry: dict[str, type], **settings: Any) -> Any:
    """Return a part: a new one of the class registered under a name, with these settings, or the object given."""
    return registry[value](**settings) if isinstance(value, str) else value
