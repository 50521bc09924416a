"""Tempered sequential Monte Carlo: ln Z = ln <w> over the prior, with a standard error, and samples at the end.

Particles start in the reference Gaussian N(m, S) and are led to N(m, S) exp(r) through N(m, S) exp(b r), b from 0 to 1:
Z = Z_ref <exp(r)>. Every level adds the average of exp(db r) to ln Z, resamples, and moves the particles by the
rotation or the slice sampler. From the EP Gaussian r is nearly flat and a few levels do; the normalisers N(X) and Nhat
(Sollich 2002, eqs. 28-29), whose distributions have many modes, start from the prior. Islands that share only the
choice of levels are independent estimates, unbiased for Z: their spread is the standard error.
"""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import logsumexp
from sklearn.exceptions import ConvergenceWarning

from softmargin._linalg import Array
from softmargin._parts import Part
from softmargin.policy import POLICY
from softmargin.sampling import rotation
from softmargin.sampling import slice as elliptical
from softmargin.sampling.reference import Reference
from softmargin.sampling.targets import Target

MOST_LEVELS, LAST_STEP = 200, 0.2
"""Levels after which the rest of the way is gone in steps of this size: weights of 1e12 would ask for thousands."""
MOST_TRIALS = 8_000
"""Evaluations of the weight, each for all particles, after which the same is done. Hinges of up to 400 rows take at
most 3,700; slices that shrink forty times at every step find nothing."""
MOST_SHRINKS = 25, 28
"""Trials for each slice step, at the first level and later, after which the same is done. Hinges of up to 300 rows take
about 10 and at most 19, with C and amplitudes of 1,000 at most 24; at weights of 1e12 it is 28 at first and all forty
soon."""
LEAST_STEP = 3e-6
"""Smallest step from level to level. Where even that loses most particles, as at weights of 1e12, the same is done.
Hinges of 300 and 1,000 rows with C = 1,000 begin with 2e-5 and 7e-6."""


@dataclass
class _Rotations:
    """Trajectories of the rotation sampler; the step size follows the acceptance from level to level."""

    reference: Reference
    target: Target
    n_moves: int
    step_size: float = 0.5
    acceptance: float = 1.0
    n_trials: int = 0
    stuck: bool = False

    def start(self, z: Array) -> rotation.State:
        """The state of particles at `z`."""
        return rotation.init(self.reference, self.target, z)

    def __call__(self, rng: np.random.Generator, state: rotation.State, b: float) -> rotation.State:
        for _ in range(self.n_moves):
            state, info = rotation.step(rng, state, self.reference, self.target, self.step_size, power=b)
            self.acceptance, self.n_trials = float(np.mean(info.acceptance)), self.n_trials + info.n_kicks
            # Robbins-Monro with a constant gain: the target changes from level to level.
            size = self.step_size * np.exp(self.acceptance - POLICY.sampling.acceptance)
            self.step_size = float(np.clip(size, 1e-3, np.pi / 2))
        return state


@dataclass
class _Slices:
    """Elliptical slices: nothing to tune, and a weight that is nearly flat but for kinks needs no gradient."""

    reference: Reference
    target: Target
    n_moves: int
    acceptance: float = 1.0
    n_trials: int = 0
    stuck: bool = False
    """Whether slices had to shrink so often, at the first level or later, that particles hardly move."""

    def start(self, z: Array) -> elliptical.State:
        """The state of particles at `z`."""
        return elliptical.init(self.reference, self.target, z)

    def __call__(self, rng: np.random.Generator, state: elliptical.State, b: float) -> elliptical.State:
        before = self.n_trials
        for _ in range(self.n_moves):
            state, info = elliptical.step(rng, state, self.reference, self.target, power=b)
            self.n_trials += 1 + int(info.n_shrink.max())
        allowed = MOST_SHRINKS[before > 0] * self.n_moves
        self.stuck = self.stuck or self.n_trials - before > allowed
        return state


MOVES: dict[str, Any] = {"rotation": _Rotations, "slice": _Slices}


@dataclass(frozen=True, repr=False)
class Schedule(Part):
    """How carefully to anneal.

    Parameters
    ----------
    n_islands : int
        Independent populations (at least 2, for the standard error).
    n_particles : int
        Particles of each island.
    ess : float
        Effective fraction of particles that a level may keep, in (0, 1): larger means more levels.
    n_moves : int
        Trajectories or slice steps at every level.
    levels : tuple of float, optional
        Fixed values of b, ending with 1, instead of adaptive ones (common random numbers).
    sampler : {"rotation", "slice"}
        What moves the particles. A slice step goes less far than a trajectory, but costs one matrix product instead
        of dozens: for the normalisers of a few hundred rows and a large amplitude, whose weight is nearly flat but
        for its kinks, four times as many slice steps are as good and several times cheaper.
    """

    n_islands: int = 16
    n_particles: int = 32
    ess: float = 0.7
    n_moves: int = 3
    levels: tuple[float, ...] | None = None
    sampler: str = "rotation"

    def __post_init__(self) -> None:
        if self.n_islands < 2:
            raise ValueError(f"n_islands must be at least 2 to give a standard error; got {self.n_islands}")
        if not 0 < self.ess < 1:
            raise ValueError(f"ess must lie between 0 and 1; got {self.ess}")
        if self.sampler not in MOVES:
            raise ValueError(f"unknown sampler {self.sampler!r}; choose one of {tuple(MOVES)}")
        if self.levels is not None and (self.levels[-1] != 1 or np.any(np.diff((0.0, *self.levels)) <= 0)):
            raise ValueError(f"levels must increase and end with 1; got {self.levels}")


@dataclass(frozen=True)
class Annealed:
    """The estimate of ln Z and the particles that remain, equally weighted, at b = 1."""

    log_z: float
    standard_error: float
    z: Array
    """Whitened particles, shape (n_islands * n_particles, n)."""
    f: Array
    levels: tuple[float, ...]
    acceptance: float
    """Mean acceptance probability at the last level."""
    is_reliable: bool = True
    """Whether every level was as near to the one before as the schedule asks."""


def anneal(
    rng: np.random.Generator,
    reference: Reference,
    target: Target,
    schedule: Schedule | None = None,
) -> Annealed:
    """Estimate ln of the prior average of the target's weight."""
    schedule = schedule or Schedule()
    shape = (schedule.n_islands, schedule.n_particles)
    moves = MOVES[schedule.sampler](reference, target, schedule.n_moves)
    state = moves.start(reference.sample(rng, shape[0] * shape[1])[0])
    log_z, b = np.zeros(shape[0]), 0.0
    levels: list[float] = []
    hurried = False
    while b < 1:
        residual = state.residual.reshape(shape)
        new = _next_level(residual, b, schedule.ess) if schedule.levels is None else schedule.levels[len(levels)]
        lost = len(levels) >= MOST_LEVELS or moves.n_trials > MOST_TRIALS or moves.stuck
        lost = lost or new <= b + LEAST_STEP
        if hurried or (schedule.levels is None and lost):
            # Moves that find nothing need not be tried again and again.
            new, hurried, moves.n_moves = min(max(new, b + LAST_STEP), 1.0), True, 1
        log_w = (new - b) * residual
        log_z += logsumexp(log_w, axis=1) - np.log(shape[1])
        state = state.take(_resample(rng, log_w))
        b = new
        levels.append(b)
        state = moves(rng, state, b)
    if hurried:
        warnings.warn(
            f"annealing needs more than {MOST_LEVELS} levels or {MOST_TRIALS} evaluations, levels less than "
            f"{LEAST_STEP:g} apart, or particles that hardly move: the evidence is unreliable. "
            "The weights, C or the kernel's amplitude are extreme: lower them, or give Schedule(levels=...)",
            ConvergenceWarning,
            stacklevel=2,
        )
    value, error = _combine(log_z)
    return Annealed(reference.log_z + value, error, state.z, state.f, tuple(levels), moves.acceptance, not hurried)


def _next_level(residual: Array, b: float, wanted: float) -> float:
    """The largest b' <= 1 at which the weights exp((b' - b) r) keep the wanted effective fraction."""
    below = residual.ravel() - residual.max()

    def excess(new: float) -> float:
        w = np.exp((new - b) * below)
        return float(np.sum(w) ** 2 / np.sum(w * w) / w.size - wanted)

    if excess(1.0) >= 0:
        return 1.0
    new = float(brentq(excess, b, 1.0, xtol=1e-10))
    return max(new, b + LEAST_STEP)


def _resample(rng: np.random.Generator, log_w: Array) -> Array:
    """Systematic resampling within each island: indices into the flattened particles."""
    n_islands, n_particles = log_w.shape
    share = np.exp(log_w - logsumexp(log_w, axis=1, keepdims=True))
    points = (np.arange(n_particles) + rng.random((n_islands, 1))) / n_particles
    edges = np.cumsum(share, axis=1)
    edges[:, -1] = 1.0
    chosen = [np.searchsorted(edge, point, side="right") for edge, point in zip(edges, points, strict=True)]
    return (np.minimum(chosen, n_particles - 1) + n_particles * np.arange(n_islands)[:, None]).ravel()


def _combine(log_z: Array) -> tuple[float, float]:
    """ln of the islands' mean Z, and its jackknife standard error."""
    n = len(log_z)
    total = float(logsumexp(log_z)) - np.log(n)
    others = np.array([logsumexp(np.delete(log_z, i)) for i in range(n)]) - np.log(n - 1)
    return float(total), float(np.sqrt((n - 1) / n * np.sum((others - others.mean()) ** 2)))
