"""Run a sampler: warm-up with step-size adaptation, then draws with everything frozen.

Every sampler sees the same `Problem` and leaves the same `Draws`, whatever its own variables are.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from softmargin._linalg import Array
from softmargin.sampling import adaptation, paper, rotation
from softmargin.sampling import slice as ess
from softmargin.sampling.reference import Reference, Spectrum
from softmargin.sampling.targets import Target

SAMPLERS = ("rotation", "slice", "paper")
WANTED_ACCEPTANCE = 0.8


@dataclass(frozen=True)
class Settings:
    """How long and with what to sample.

    Parameters
    ----------
    sampler : {"rotation", "slice", "paper"}
    n_chains : int
        Independent chains, moved together as rows of one matrix.
    n_warmup, n_draws : int
        Steps of every chain before and while recording.
    thin : int
        Steps for each recorded draw.
    """

    sampler: str = "rotation"
    n_chains: int = 64
    n_warmup: int = 100
    n_draws: int = 100
    thin: int = 1

    def __post_init__(self) -> None:
        if self.sampler not in SAMPLERS:
            raise ValueError(f"unknown sampler {self.sampler!r}; choose one of {SAMPLERS}")
        for name in ("n_chains", "n_draws", "thin"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1; got {getattr(self, name)}")


@dataclass(frozen=True)
class Draws:
    """Recorded samples; axis 0 is the draw, axis 1 the chain."""

    z: Array
    """Whitened positions, f = K^1/2 z, shape (n_draws, n_chains, n)."""
    f: Array
    """Shape (n_draws, n_chains, n)."""
    slope: Array
    """Gradient of ln w, shape (n_draws, n_chains, n)."""
    log_weight: Array
    """ln w(f), shape (n_draws, n_chains)."""
    d_params: Array
    """d ln w / d likelihood parameter, shape (n_params, n_draws, n_chains)."""
    acceptance: float
    """Mean acceptance probability while recording (1 for slice sampling)."""
    energy_error: Array
    """Of each recorded step, shape (n_draws, n_chains); zero for slice sampling."""
    step_size: float
    spectrum: Spectrum

    @property
    def d_log_amplitude(self) -> Array:
        """g'f / 2, whose average is d ln Z / d ln(amplitude of K), shape (n_draws, n_chains)."""
        return 0.5 * np.einsum("...i,...i->...", self.slope, self.f)

    @property
    def energy(self) -> Array:
        """z'z / 2 - ln w, shape (n_draws, n_chains)."""
        return 0.5 * np.einsum("...i,...i->...", self.z, self.z) - self.log_weight


@dataclass(frozen=True)
class _Kernel:
    """One sampler behind one interface: state -> whitened position and f, step(state, size) -> state, info."""

    state: Any
    step: Callable[[Any, float], tuple[Any, Any]]
    whiten: Callable[[Any], Array]
    first_step: float
    largest_step: float


def sample(
    rng: np.random.Generator,
    reference: Reference,
    target: Target,
    settings: Settings | None = None,
    start: Array | None = None,
    step_size: float | None = None,
) -> Draws:
    """Sample the distribution proportional to prior x weight.

    Parameters
    ----------
    rng : Generator
    reference : Reference
        Its Gaussian guides "rotation" and "slice"; "paper" uses only its Gram matrix.
    target : Target
    settings : Settings, optional
    start : ndarray of shape (n_chains, n), optional
        Whitened positions to go on from; default: draws from the reference.
    step_size : float, optional
        First step size; with ``n_warmup=0`` the one that is used.
    """
    settings = settings or Settings()
    z = reference.sample(rng, settings.n_chains)[0] if start is None else start
    kernel = _kernel(rng, reference, target, settings.sampler, z)
    size = adaptation.start(step_size or kernel.first_step)
    state = kernel.state
    for _ in range(settings.n_warmup):
        state, info = kernel.step(state, size.current)
        size = adaptation.update(size, _acceptance(info), WANTED_ACCEPTANCE, kernel.largest_step)
    records = []
    for _ in range(settings.n_draws):
        rates = []
        for _ in range(settings.thin):
            state, info = kernel.step(state, size.final)
            rates.append(_acceptance(info))
        error = getattr(info, "energy_error", np.zeros(settings.n_chains))
        records.append((kernel.whiten(state), state.f, float(np.mean(rates)), error))
    return _collect(records, target, reference.spectrum, size.final)


def _collect(records: list[tuple[Any, ...]], target: Target, spectrum: Spectrum, step_size: float) -> Draws:
    f = np.stack([record[1] for record in records])
    d_params = np.stack([target.d_params(t) for t in f], axis=1)
    return Draws(
        z=np.stack([record[0] for record in records]),
        f=f,
        slope=np.stack([target.slope(t) for t in f]),
        log_weight=np.stack([target.log_weight(t) for t in f]),
        d_params=d_params,
        acceptance=float(np.mean([record[2] for record in records])),
        energy_error=np.stack([record[3] for record in records]),
        step_size=step_size,
        spectrum=spectrum,
    )


def _acceptance(info: Any) -> float:
    return float(np.mean(info.acceptance)) if hasattr(info, "acceptance") else 1.0


def _kernel(rng: np.random.Generator, reference: Reference, target: Target, name: str, z: Array) -> _Kernel:
    if name == "rotation":
        return _Kernel(
            rotation.init(reference, target, z),
            lambda state, size: rotation.step(rng, state, reference, target, size),
            lambda state: state.z,
            first_step=0.5,
            largest_step=np.pi / 2,
        )
    if name == "slice":
        return _Kernel(
            ess.init(reference, target, z),
            lambda state, size: ess.step(rng, state, reference, target),
            lambda state: state.z,
            first_step=1.0,
            largest_step=1.0,
        )
    spectrum = reference.spectrum
    K = spectrum.root @ spectrum.root
    U, inverse_root = spectrum.vectors, spectrum.inverse_root_values
    return _Kernel(
        paper.init(K, ((z @ U) * inverse_root) @ U.T),
        lambda state, size: paper.step(rng, state, K, target, size),
        # z = K^1/2 f~.
        lambda state: state.dual @ spectrum.root,
        first_step=0.1,
        largest_step=1.9,
    )
