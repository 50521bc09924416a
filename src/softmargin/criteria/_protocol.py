"""What a criterion is: posterior and data in; value and exact gradient out."""

from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, Self

from softmargin._linalg import Array
from softmargin._parts import Part
from softmargin.inference import Inference, Posterior
from softmargin.likelihoods import LIKELIHOODS, Likelihood


@dataclass(frozen=True)
class Problem:
    """The data of one evaluation: everything an inference was given."""

    K: Array = field(repr=False)
    """Gram matrix, shape (n, n)."""
    y: Array
    """Labels -1 and +1, or regression targets, shape (n,)."""
    likelihood: Likelihood
    weight: Array | None = None
    """A row of weight w stands for w identical rows; shape (n,)."""


@dataclass(frozen=True)
class CriterionValue:
    """A criterion's value in its own units, and its gradient where it has one."""

    value: float
    d_gram: Array | None = field(default=None, repr=False)
    """Symmetric W of shape (n, n): d value = sum_ij W_ij dK_ij."""
    d_params: Array | None = None
    """d value / d likelihood parameter, shape (n_params,)."""
    is_reliable: bool = True
    """Whether what it computes itself, beside the posterior, has converged."""


class Criterion(Protocol):
    """A small frozen dataclass of its own settings; called with a posterior and the problem it belongs to."""

    name: ClassVar[str]
    greater_is_better: ClassVar[bool]
    smooth: ClassVar[bool]
    """Whether a gradient is returned (so that L-BFGS can use it)."""
    resolution: ClassVar[float]
    """Its own noise, in its own units: a search need not chase smaller gains."""
    uses_evidence: ClassVar[bool]
    """Whether it reads the posterior's evidence and its gradient; if not, an inference can save them."""
    is_predictive: ClassVar[bool]
    """Whether it scores predictions, and so belongs to the posterior's own likelihood where that is normalised."""
    for_regression: ClassVar[bool]
    """Whether it is defined for regression."""
    through_inducing_points: ClassVar[bool]
    """Whether a fit through inducing points can follow it."""
    inference: ClassVar[Any]
    """The class of inference whose posterior it needs; None: any."""

    def inference_for(self, inference: Inference) -> Inference:
        """Return the inference to evaluate it with, given the model's."""
        ...

    def without_gradients(self) -> "Criterion":
        """Return the same criterion without its gradient, where leaving it out saves time."""
        ...

    def likelihood(self, likelihood: Likelihood) -> Likelihood:
        """Return the likelihood to infer with, given the model's (most criteria: the same)."""
        ...

    def __call__(self, posterior: Posterior, problem: Problem) -> CriterionValue:
        """Evaluate at a posterior."""
        ...


class CriterionDefaults(Part):
    """What most criteria share; a subclass overrides what differs."""

    greater_is_better: ClassVar[bool] = True
    smooth: ClassVar[bool] = True
    resolution: ClassVar[float] = 0.0
    uses_evidence: ClassVar[bool] = False
    is_predictive: ClassVar[bool] = False
    for_regression: ClassVar[bool] = False
    through_inducing_points: ClassVar[bool] = False
    inference: ClassVar[Any] = None

    def likelihood(self, likelihood: Likelihood) -> Likelihood:
        """Return the model's own likelihood."""
        return likelihood

    @classmethod
    def losses(cls) -> list[str]:
        """Return the names of the registered likelihoods that it is defined for."""
        return list(LIKELIHOODS)

    def inference_for(self, inference: Inference) -> Inference:
        """Return the model's inference if it is of the kind needed, else that kind with its default settings."""
        needed = self.inference
        if needed is None or isinstance(inference, needed):
            return inference
        made: Inference = needed()
        return made

    def without_gradients(self) -> Self:
        """Return itself: its gradient costs little, or it has none."""
        return self
