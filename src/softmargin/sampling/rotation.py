"""Hamiltonian Monte Carlo with the Gaussian part solved exactly: the fast default.

The target N(f; m, S) exp(r(f)) is given the velocity u ~ N(0, S). Without r the motion is the rotation of
(f - m, u), which is exact at any step; only the force g = grad r is a discretised kick u -> u + e S g. All
chains are rows of one matrix, so that a kick is one matrix product. The energy error is accumulated from the
kicks alone, e g.u + e^2 g'Sg / 2 each, which needs no inverse of S.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from softmargin._linalg import Array
from softmargin.sampling._trajectory import kick, rotate
from softmargin.sampling.reference import Reference
from softmargin.sampling.targets import Target

MAX_KICKS = 200


@dataclass(frozen=True)
class State:
    """What carries on: positions of all chains, and the residual and force there."""

    z: Array
    """Whitened position, f = K^1/2 z, shape (chains, n)."""
    f: Array
    """Shape (chains, n)."""
    residual: Array
    """r(f), shape (chains,)."""
    force: Array
    """g(f), shape (chains, n)."""
    push: Array
    """S g, shape (chains, n)."""

    def take(self, index: Array) -> "State":
        """The chains `index`, in that order (resampling)."""
        return State(self.z[index], self.f[index], self.residual[index], self.force[index], self.push[index])


@dataclass(frozen=True)
class Info:
    """What is diagnostic: shapes (chains,)."""

    acceptance: Array
    """Probability min(1, exp(-energy_error)) of each proposal."""
    accepted: NDArray[np.bool_]
    energy_error: Array
    n_kicks: int


def init(reference: Reference, target: Target, z: Array) -> State:
    """Start the chains at whitened positions `z` of shape (chains, n)."""
    f = z @ reference.spectrum.root
    force = reference.force(target, f)
    return State(z, f, reference.residual(target, f), force, force @ reference.covariance)


def step(
    rng: np.random.Generator,
    state: State,
    reference: Reference,
    target: Target,
    step_size: float,
    *,
    trajectory: float = np.pi / 2,
    jitter: float = 0.2,
    power: float = 1.0,
) -> tuple[State, Info]:
    """Move every chain along one trajectory with a fresh velocity and accept or reject.

    Parameters
    ----------
    rng : Generator
    state : State
    reference : Reference
    target : Target
    step_size : float
        Largest angle between two kicks.
    trajectory, jitter : float
        Total angle (pi/2 turns velocity into position) and its relative random variation.
    power : float
        Sample N(m, S) exp(power r) instead (annealing).
    """
    noise = rng.standard_normal(state.z.shape)
    angle = trajectory * (1 + jitter * (2 * rng.random() - 1))
    n_kicks = int(min(max(np.ceil(angle / step_size), 1), MAX_KICKS))
    uniform = rng.random(len(state.z))

    # A diverged trajectory overflows; it is rejected (nan).
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        proposal, energy_error = _integrate(state, noise, reference, target, angle, n_kicks, power)
    energy_error = np.where(np.isnan(energy_error), np.inf, energy_error)
    acceptance = np.exp(-np.maximum(energy_error, 0.0))
    accepted = uniform < acceptance
    row = accepted[:, None]
    state = State(
        z=np.where(row, proposal.z, state.z),
        f=np.where(row, proposal.f, state.f),
        residual=np.where(accepted, proposal.residual, state.residual),
        force=np.where(row, proposal.force, state.force),
        push=np.where(row, proposal.push, state.push),
    )
    return state, Info(acceptance, accepted, energy_error, n_kicks)


def _integrate(
    state: State, noise: Array, reference: Reference, target: Target, angle: float, n_kicks: int, power: float
) -> tuple[State, Array]:
    """Half kick, rotate, kick, ..., rotate, half kick. Return the end and the energy error, shape (chains,)."""
    e = angle / n_kicks
    cos, sin = np.cos(e), np.sin(e)
    x, u = state.f - reference.mean, noise @ reference.spread
    force, push = state.force, state.push
    f, error = np.empty_like(x), np.zeros(len(noise))
    # z moves linearly with the forces: a kick at angle t turns into sin(angle - t) of position at the end.
    impulse = np.zeros_like(x)
    for k in range(n_kicks + 1):
        h = power * e * (0.5 if k in (0, n_kicks) else 1.0)
        kick(u, force, push, h, error)
        if k == n_kicks:
            break
        impulse += (h * np.sin(angle - k * e)) * force
        rotate(x, u, cos, sin, reference.mean, f)
        force = reference.force(target, f)
        push = force @ reference.covariance
    z = reference.z_mean + np.cos(angle) * (state.z - reference.z_mean)
    z += np.sin(angle) * reference.whiten(noise) + impulse @ reference.gain
    end = replace(state, z=z, f=f, residual=reference.residual(target, f), force=force, push=push)
    return end, error - power * (end.residual - state.residual)
