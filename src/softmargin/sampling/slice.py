"""Elliptical slice sampling around a Gaussian reference (Murray, Adams & MacKay 2010): nothing to tune.

Each chain draws u ~ N(0, S) and a level below its residual r, and takes the first point of the ellipse
m + (f - m) cos t + u sin t above the level, with the bracket on t shrinking towards the present point. From
the prior it mixes slowly when the data are many; from the EP Gaussian, whose residual is nearly flat, it is good.
"""

from dataclasses import dataclass

import numpy as np

from softmargin._linalg import Array
from softmargin.sampling._trajectory import points
from softmargin.sampling.reference import Reference
from softmargin.sampling.targets import Target

MAX_SHRINK = 40
"""Times that the bracket may shrink, to about 1e-9 of a turn; then the chain stays where it is, which leaves the
distribution as it is too: both ways along the ellipse are cut off alike."""


@dataclass(frozen=True)
class State:
    """Positions of all chains and the residual there."""

    z: Array
    """Shape (chains, n), f = K^1/2 z."""
    f: Array
    """Shape (chains, n)."""
    residual: Array
    """Shape (chains,)."""

    def take(self, index: Array) -> "State":
        """The chains `index`, in that order (resampling)."""
        return State(self.z[index], self.f[index], self.residual[index])


@dataclass(frozen=True)
class Info:
    """How often the bracket had to shrink, shape (chains,)."""

    n_shrink: Array


def init(reference: Reference, target: Target, z: Array) -> State:
    """Start the chains at whitened positions `z` of shape (chains, n)."""
    f = z @ reference.spectrum.root
    return State(z, f, reference.residual(target, f))


def step(
    rng: np.random.Generator, state: State, reference: Reference, target: Target, *, power: float = 1.0
) -> tuple[State, Info]:
    """Move every chain to a new point of its ellipse; ``power`` samples N(m, S) exp(power r)."""
    n_chains = len(state.z)
    noise = rng.standard_normal(state.z.shape)
    x, u = state.f - reference.mean, noise @ reference.spread
    level = power * state.residual + np.log(rng.random(n_chains))
    angle = rng.uniform(0, 2 * np.pi, n_chains)
    low, high = angle - 2 * np.pi, angle.copy()
    f, residual, shrinks = state.f.copy(), state.residual.copy(), np.zeros(n_chains, dtype=int)
    active, trial = np.arange(n_chains), np.empty_like(f)
    for _ in range(MAX_SHRINK):
        t, trial = angle[active], trial[: len(active)]
        points(x, u, np.cos(t), np.sin(t), reference.mean, active, trial)
        found = reference.residual(target, trial)
        inside = power * found > level[active]
        residual[active[inside]], f[active[inside]] = found[inside], trial[inside]
        active = active[~inside]
        if len(active) == 0:
            break
        shrinks[active] += 1
        negative = angle[active] < 0
        low[active] = np.where(negative, angle[active], low[active])
        high[active] = np.where(negative, high[active], angle[active])
        angle[active] = rng.uniform(low[active], high[active])
    # A chain that found nothing stays where it is.
    angle[active] = 0.0
    t = angle[:, None]
    z = reference.z_mean + np.cos(t) * (state.z - reference.z_mean) + np.sin(t) * reference.whiten(noise)
    return State(z, f, residual), Info(shrinks)
