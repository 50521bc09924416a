"""What a search is: an objective in, the best point and where the search ended out."""

from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

from softmargin._linalg import Array


class Evaluation(NamedTuple):
    """The objective at one point, to be maximised."""

    z: Array
    value: float
    """Criterion (signed so that more is better) plus log hyperprior."""
    gradient: Array | None
    """Shape (n_z,); None where the criterion has none."""
    criterion: float
    """The criterion in its own units and sign."""
    posterior: Any
    """The posterior that the criterion was evaluated at; the searches themselves never look at it."""


class SearchResult(NamedTuple):
    """Where a search ended."""

    point: Array
    """The best point in the coordinates of the search, shape (n,)."""
    best: Evaluation
    n_iter: int
    converged: bool
    stopped: bool = False
    """Whether a callback ended it."""
    samples: tuple[Array, ...] = ()
    """Points to average the predictions over, each of shape (n,); empty: the best point alone."""


class Objective(Protocol):
    """A function that a search maximises; any callable of this form.

    It may have `units` (see `ScaledObjective`), `names` (of the coordinates), and `memory()` with `restore(memory)` for
    checkpoints.
    """

    def __call__(self, z: Array, /) -> Evaluation:
        """Evaluate at z of shape (n,)."""
        ...


class ScaledObjective(Objective, Protocol):
    """An objective that knows how large a typical step of each coordinate is."""

    @property
    def units(self) -> Array | None:
        """Those steps, shape (n,); None: all are of size one."""
        ...


class Search(Protocol):
    """A small dataclass of its own settings (iteration cap, tolerance)."""

    name: ClassVar[str]
    needs_gradient: ClassVar[bool]
    averages_noise: ClassVar[bool]
    """Whether it averages a sampled gradient over its steps, which then needs new random numbers at every step."""

    gives_samples: ClassVar[bool]
    """Whether it samples the points in proportion to exp(objective) instead of ending at the best one."""

    @property
    def tol(self) -> float:
        """The smallest gain, in the units of the objective, that is worth another step."""
        ...

    def maximise(
        self, objective: Objective, start: Array, bounds: Array, random_state: np.random.RandomState | None = None
    ) -> SearchResult:
        """Search from `start` of shape (n,) within `bounds` of shape (n, 2)."""
        ...
