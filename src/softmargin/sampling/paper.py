"""The Hybrid Monte Carlo of Gold & Sollich 2003, section 4.2, in the variables (K^-1 f, p).

H = p'Kp/2 + f'K^-1 f/2 + V(f), V = -ln w (eq. 21). One momentum is refreshed at a time by Gibbs
sampling of exp(-p'Kp/2), then f~ = K^-1 f and p follow the leapfrog of d f~/dt = p,
dp/dt = -f~ - V'(f), with f = K f~. Because the other momenta are kept, p must be negated when a
trajectory is rejected; the paper does not say so, and leaving it out biases averages by a percent or so.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from softmargin._linalg import Array
from softmargin.sampling.targets import Target


@dataclass(frozen=True)
class State:
    """What carries on, each of shape (chains, n)."""

    dual: Array
    """f~ = K^-1 f."""
    f: Array
    momentum: Array
    drift: Array
    """K p, the velocity of f."""


@dataclass(frozen=True)
class Info:
    """What is diagnostic: shapes (chains,)."""

    acceptance: Array
    accepted: NDArray[np.bool_]
    energy_error: Array
    n_kicks: int


def init(K: Array, dual: Array) -> State:
    """Start at rest at `dual` = K^-1 f (for the SVM: y alpha), shape (chains, n)."""
    return State(dual, dual @ K, np.zeros_like(dual), np.zeros_like(dual))


def step(
    rng: np.random.Generator,
    state: State,
    K: Array,
    target: Target,
    step_size: float,
    *,
    n_leapfrog: int = 10,
    jitter: float = 0.2,
    flip: bool = True,
) -> tuple[State, Info]:
    """Refresh one momentum of every chain, follow a trajectory, accept or reject.

    Parameters
    ----------
    rng : Generator
    state : State
    K : ndarray of shape (n, n)
    target : Target
    step_size : float
    n_leapfrog : int
    jitter : float
        Relative random variation of the step size, against periodic orbits.
    flip : bool
        Negate the momentum on rejection. False is the algorithm as printed, which samples the wrong distribution;
        it exists to show that the tests notice.
    """
    momentum, drift = _refresh(rng, state, K)
    e = step_size * (1 + jitter * (2 * rng.random() - 1))
    uniform = rng.random(len(state.dual))
    start = State(state.dual, state.f, momentum, drift)
    end = _leapfrog(start, K, target, e, n_leapfrog)
    error = _energy(end, target) - _energy(start, target)
    error = np.where(np.isnan(error), np.inf, error)
    acceptance = np.exp(-np.maximum(error, 0.0))
    accepted = uniform < acceptance
    row, sign = accepted[:, None], -1.0 if flip else 1.0
    state = State(
        dual=np.where(row, end.dual, start.dual),
        f=np.where(row, end.f, start.f),
        momentum=np.where(row, end.momentum, sign * start.momentum),
        drift=np.where(row, end.drift, sign * start.drift),
    )
    return state, Info(acceptance, accepted, error, n_leapfrog)


def _refresh(rng: np.random.Generator, state: State, K: Array) -> tuple[Array, Array]:
    """Gibbs-sample one random component of p from exp(-p'Kp/2), keeping K p up to date."""
    n_chains, n = state.dual.shape
    i, rows = rng.integers(n, size=n_chains), np.arange(n_chains)
    scale = K[i, i]
    old = state.momentum[rows, i]
    # p_i given the rest ~ N(-sum_{j != i} K_ij p_j / K_ii, 1 / K_ii).
    new = old - state.drift[rows, i] / scale + rng.standard_normal(n_chains) / np.sqrt(scale)
    momentum = state.momentum.copy()
    momentum[rows, i] = new
    return momentum, state.drift + (new - old)[:, None] * K[i]


def _leapfrog(state: State, K: Array, target: Target, e: float, n_leapfrog: int) -> State:
    dual, f = state.dual, state.f
    momentum = state.momentum + 0.5 * e * (target.slope(f) - dual)
    for k in range(n_leapfrog):
        dual = dual + e * momentum
        f = dual @ K
        momentum = momentum + (e if k < n_leapfrog - 1 else 0.5 * e) * (target.slope(f) - dual)
    return State(dual, f, momentum, momentum @ K)


def _energy(state: State, target: Target) -> Array:
    kinetic = np.einsum("ij,ij->i", state.momentum, state.drift)
    prior = np.einsum("ij,ij->i", state.dual, state.f)
    return 0.5 * (kinetic + prior) - target.log_weight(state.f)
