"""The samplers as exchangeable parts: settings of their own, one interface, and the registry of their names."""

from dataclasses import dataclass
from math import ceil
from typing import Any, ClassVar, Protocol

import numpy as np

from softmargin._linalg import Array
from softmargin._parts import Part
from softmargin.sampling import paper, rotation
from softmargin.sampling import slice as elliptical
from softmargin.sampling.reference import Reference
from softmargin.sampling.targets import Target

MAX_LEAPFROG = 10_000


class Sampler(Protocol):
    """A small frozen dataclass of its own settings. States and infos are those of the sampler's own file."""

    name: ClassVar[str]
    first_step: ClassVar[float]
    """The step size with which the adaptation of the warm-up begins."""
    largest_step: ClassVar[float]

    @property
    def step_size(self) -> float | None:
        """The step size, or None if the warm-up adapts it."""
        ...

    def init(self, reference: Reference, target: Target, z: Array) -> Any:
        """Start the chains at whitened positions `z` of shape (chains, n)."""
        ...

    def step(
        self, rng: np.random.Generator, state: Any, reference: Reference, target: Target, size: float
    ) -> tuple[Any, Any]:
        """Move every chain with this step size and return (state, info)."""
        ...

    def whitened(self, state: Any, reference: Reference) -> Array:
        """Return the whitened positions z of a state, f = K^1/2 z, shape (chains, n)."""
        ...


@dataclass(frozen=True, repr=False)
class Rotation(Part):
    """Hamiltonian Monte Carlo with the Gaussian part solved exactly: the fast default.

    Parameters
    ----------
    step_size : float or None
        Largest angle between two kicks; None: adapted in the warm-up to an acceptance of 80 %.
    trajectory : float
        Angle of a trajectory; pi/2 turns velocity into position.
    jitter : float
        Relative random variation of the trajectory.

    References
    ----------
    Gold & Sollich (2003), Model selection for support vector machine classification, eqs. 21 to 23, with the Gaussian
    part of the equations of motion solved exactly.
    """

    step_size: float | None = None
    trajectory: float = float(np.pi / 2)
    jitter: float = 0.2

    name: ClassVar[str] = "rotation"
    first_step: ClassVar[float] = 0.5
    largest_step: ClassVar[float] = float(np.pi / 2)

    def init(self, reference: Reference, target: Target, z: Array) -> rotation.State:
        """See `Sampler.init`."""
        return rotation.init(reference, target, z)

    def step(
        self, rng: np.random.Generator, state: rotation.State, reference: Reference, target: Target, size: float
    ) -> tuple[rotation.State, rotation.Info]:
        """See `Sampler.step`."""
        return rotation.step(rng, state, reference, target, size, trajectory=self.trajectory, jitter=self.jitter)

    def whitened(self, state: rotation.State, reference: Reference) -> Array:
        """See `Sampler.whitened`."""
        return state.z


@dataclass(frozen=True, repr=False)
class Slice(Part):
    """Elliptical slice sampling around the reference: nothing to set.

    References
    ----------
    Murray, Adams & MacKay (2010), Elliptical slice sampling; the density is that of Sollich (2002), Bayesian methods
    for support vector machines, eq. 35.
    """

    name: ClassVar[str] = "slice"
    first_step: ClassVar[float] = 1.0
    largest_step: ClassVar[float] = 1.0
    step_size: ClassVar[float | None] = 1.0

    def init(self, reference: Reference, target: Target, z: Array) -> elliptical.State:
        """See `Sampler.init`."""
        return elliptical.init(reference, target, z)

    def step(
        self, rng: np.random.Generator, state: elliptical.State, reference: Reference, target: Target, size: float
    ) -> tuple[elliptical.State, elliptical.Info]:
        """See `Sampler.step`; there is no step size."""
        return elliptical.step(rng, state, reference, target)

    def whitened(self, state: elliptical.State, reference: Reference) -> Array:
        """See `Sampler.whitened`."""
        return state.z


@dataclass(frozen=True, repr=False)
class Leapfrog(Part):
    """The Hybrid Monte Carlo of Gold & Sollich 2003, section 4.2, with the settings that the paper leaves open.

    Parameters
    ----------
    n_leapfrog : int
        Steps of a trajectory, unless `trajectory` is given.
    step_size : float or None
        Of the discretised equations of motion; None: adapted in the warm-up to an acceptance of 80 %.
    trajectory : float or None
        Length of a trajectory in the time of eqs. 22 and 23, whatever the step size; None: `n_leapfrog` steps.
    inverse_C : bool
        Whether to divide the length of a trajectory by C, in steps that are no longer: the remedy of section 5.3.1 "for
        large C" for gradients that vanish because no sample has a row within its margin. Where C is below one nothing
        of the kind happens, and the length stays.
    jitter : float
        Relative random variation of the step size, against periodic orbits.

    References
    ----------
    Gold & Sollich (2003), Model selection for support vector machine classification, sections 4.2 and 5.3.1, eqs. 21 to
    23.

    Examples
    --------
    >>> from softmargin import BayesianSVC
    >>> from softmargin.inference import HMC
    >>> sampler = Leapfrog(step_size=0.05, trajectory=0.5, inverse_C=True)
    >>> paper = HMC(sampler=sampler, initial="svm", n_chains=1, n_warmup=20_000, n_draws=20_000)
    >>> BayesianSVC(inference=paper).get_params()["inference__sampler__inverse_C"]
    True
    """

    n_leapfrog: int = 10
    step_size: float | None = None
    trajectory: float | None = None
    inverse_C: bool = False
    jitter: float = 0.2

    name: ClassVar[str] = "paper"
    first_step: ClassVar[float] = 0.1
    largest_step: ClassVar[float] = 1.9

    def __post_init__(self) -> None:
        for name in ("n_leapfrog", "step_size", "trajectory"):
            value = getattr(self, name)
            if value is not None and value <= 0:
                raise ValueError(f"{name} must be positive; got {value}")

    def init(self, reference: Reference, target: Target, z: Array) -> paper.State:
        """See `Sampler.init`."""
        spectrum = reference.spectrum
        dual = ((z @ spectrum.vectors) * spectrum.inverse_root_values) @ spectrum.vectors.T
        return paper.init(spectrum.gram, dual)

    def step(
        self, rng: np.random.Generator, state: paper.State, reference: Reference, target: Target, size: float
    ) -> tuple[paper.State, paper.Info]:
        """See `Sampler.step`."""
        steps, size = self.plan(target, size)
        gram = reference.spectrum.gram
        return paper.step(rng, state, gram, target, size, n_leapfrog=steps, jitter=self.jitter)

    def plan(self, target: Target, size: float) -> tuple[int, float]:
        """Return the number of leapfrog steps of a trajectory, and their size."""
        steps = float(self.n_leapfrog) if self.trajectory is None else self.trajectory / size
        if not self.inverse_C:
            return min(max(round(steps), 1), MAX_LEAPFROG), size
        steps /= max(float(getattr(getattr(target, "likelihood", None), "C", 1.0)), 1.0)
        # Whole steps of the very length: few are left of a trajectory at a large C.
        whole = min(max(ceil(steps - 1e-9), 1), MAX_LEAPFROG)
        return whole, size * min(steps / whole, 1.0)

    def whitened(self, state: paper.State, reference: Reference) -> Array:
        """See `Sampler.whitened`: z = K^1/2 f~ with f~ = K^-1 f."""
        return state.dual @ reference.spectrum.root


SAMPLERS: dict[str, Any] = {cls.name: cls for cls in (Rotation, Slice, Leapfrog)}
"""The registry: name -> class. A class added here is found by ``HMC(sampler=...)``."""


def get_sampler(sampler: Any) -> Sampler:
    """Return the sampler of a registered name, or the given object itself."""
    if not isinstance(sampler, str):
        if not (hasattr(sampler, "init") and hasattr(sampler, "step")) or isinstance(sampler, type):
            raise ValueError(f"sampler must be a name or an object with init and step; got {sampler!r}")
        given: Sampler = sampler
        return given
    if sampler not in SAMPLERS:
        raise ValueError(f"unknown sampler {sampler!r}; choose one of {tuple(SAMPLERS)}")
    named: Sampler = SAMPLERS[sampler]()
    return named
