"""Run a sampler: warm-up with step-size adaptation, then draws with everything frozen.

Every sampler sees the same `Problem` and leaves the same `Draws`, whatever its own variables are.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from softmargin._linalg import Array
from softmargin.policy import POLICY
from softmargin.sampling import adaptation
from softmargin.sampling.reference import Reference, Spectrum
from softmargin.sampling.samplers import Sampler, get_sampler
from softmargin.sampling.targets import Target


@dataclass(frozen=True)
class Settings:
    """How long and with what to sample.

    Parameters
    ----------
    sampler : str or Sampler
        "rotation", "slice" or "paper", or an object with settings of its own: `Rotation`, `Slice`, `Leapfrog`.
    n_chains : int
        Independent chains, moved together as rows of one matrix.
    n_warmup, n_draws : int
        Steps of every chain before and while recording.
    thin : int
        Steps for each recorded draw.
    """

    sampler: str | Sampler = "rotation"
    n_chains: int = 64
    n_warmup: int = 100
    n_draws: int = 100
    thin: int = 1

    def __post_init__(self) -> None:
        get_sampler(self.sampler)
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
        Source of the random draws.
    reference : Reference
        Its Gaussian guides "rotation" and "slice"; "paper" uses only its Gram matrix.
    target : Target
        Unnormalised log density.
    settings : Settings, optional
        Numbers of chains and draws, and the sampler.
    start : ndarray of shape (n_chains, n), optional
        Whitened positions to go on from; default: draws from the reference.
    step_size : float, optional
        First step size; with ``n_warmup=0`` the one that is used.
    """
    settings = settings or Settings()
    sampler = get_sampler(settings.sampler)
    state = sampler.init(reference, target, reference.sample(rng, settings.n_chains)[0] if start is None else start)
    size = adaptation.start(step_size or sampler.step_size or sampler.first_step)
    for _ in range(settings.n_warmup):
        state, info = sampler.step(rng, state, reference, target, size.current)
        if sampler.step_size is None:
            size = adaptation.update(size, _acceptance(info), POLICY.sampling.acceptance, sampler.largest_step)
    records = []
    for _ in range(settings.n_draws):
        rates = []
        for _ in range(settings.thin):
            state, info = sampler.step(rng, state, reference, target, size.final)
            rates.append(_acceptance(info))
        error = getattr(info, "energy_error", np.zeros(settings.n_chains))
        records.append((sampler.whitened(state, reference), state.f, float(np.mean(rates)), error))
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
        # A copy without what the sampler has cached: draws are kept and saved.
        spectrum=replace(spectrum),
    )


def _acceptance(info: Any) -> float:
    return float(np.mean(info.acceptance)) if hasattr(info, "acceptance") else 1.0
