"""What an estimator asks of a fit, as one record of parts: no names, no estimator."""

from dataclasses import dataclass, replace

from sklearn.gaussian_process.kernels import Kernel

from softmargin.criteria import Criterion
from softmargin.inference import Inference
from softmargin.search import LBFGS, Report, Search
from softmargin.tuning.hyperprior import HyperPrior


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
    report: Report | None = None
    """Called after every evaluation with a function that makes the `LatentModel` as if the search had ended there."""
    hint: Kernel | None = None
    """A kernel of another machine, from whose length scales the search starts, or climbs too where it sees few of the
    rows."""
    rougher: Inference | None = None
    """The inference at the points of a search, where fewer digits are enough; None: the same."""
    brief: bool = False
    """Whether the search starts near its end and the machine only predicts: it looks for no other structure, a
    regression in doubt is not searched again from other starts, and no support vector machine is solved."""

    @property
    def is_default(self) -> bool:
        """Whether the default policy chooses among its own models by EP's leave-one-out."""
        return self.criterion is None and self.search is not None and self.inference.gives_cavities

    def relaxed(self, factor: float) -> "Tuning":
        """The same with so many times the tolerance of a climb."""
        if not isinstance(self.search, LBFGS):
            return self
        return replace(self, search=replace(self.search, tol=factor * self.search.tol))

    def without_report(self) -> "Tuning":
        """The same for another process, whose evaluations are not reported."""
        return replace(self, report=None)
