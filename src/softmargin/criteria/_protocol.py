"""What a criterion is: posterior and data in; value and exact gradient out."""

from dataclasses import dataclass, field
from typing import ClassVar, Protocol

from softmargin._linalg import Array
from softmargin.inference import Posterior
from softmargin.likelihoods import Likelihood


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


class Criterion(Protocol):
    """A small dataclass of its own settings; called with a posterior and the problem it belongs to."""

    name: ClassVar[str]
    greater_is_better: ClassVar[bool]
    smooth: ClassVar[bool]
    """Whether a gradient is returned (so that L-BFGS can use it)."""
    inference: ClassVar[str | None]
    """The inference whose posterior it needs; None: any."""

    def likelihood(self, likelihood: Likelihood) -> Likelihood:
        """Return the likelihood to infer with, given the model's (most criteria: the same)."""
        ...

    def __call__(self, posterior: Posterior, problem: Problem) -> CriterionValue:
        """Evaluate at a posterior."""
        ...
