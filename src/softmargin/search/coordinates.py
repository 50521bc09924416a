"""Coordinates of the hyperparameter space: a vector z of logarithms on one side, kernel and likelihood on the other.

z = (kernel.theta, noise coordinates). The noise coordinates of a classifier are (ln C); of a regressor
(ln sigma, ln q), the noise's standard deviation and its shape q = epsilon C, which are nearly independent in the
evidence while C and epsilon are not: C = sqrt(h(q))/sigma, epsilon = q/C, h(q) = 2 + q^2 (q + 3)/(3 (q + 1)).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from softmargin._linalg import Array
from softmargin.kernels import Role, roles, theta_setter
from softmargin.likelihoods import EpsilonInsensitive, Likelihood

C_BOUNDS = (1e-2, 1e3)
SIGMA_BOUNDS = (1e-4, 1e2)
SHAPE_BOUNDS = (1e-2, 30.0)


class Model(NamedTuple):
    """A point of the hyperparameter space."""

    kernel: Kernel
    likelihood: Likelihood


class NoiseCoordinates(Protocol):
    """How the likelihood's free parameters are written as logarithms u."""

    @property
    def names(self) -> tuple[str, ...]:
        """The coordinates' names."""
        ...

    @property
    def start(self) -> Array:
        """Where the search starts, shape (n_u,)."""
        ...

    @property
    def bounds(self) -> Array:
        """Lower and upper bounds, shape (n_u, 2)."""
        ...

    def likelihood(self, u: Array) -> Likelihood:
        """Return the likelihood at u."""
        ...

    def pull(self, u: Array, d_params: Array) -> Array:
        """Turn a gradient with respect to the likelihood's parameters into one with respect to u."""
        ...


@dataclass(frozen=True)
class FixedNoise:
    """Nothing to learn."""

    fixed: Likelihood
    names: tuple[str, ...] = ()

    @property
    def start(self) -> Array:
        return np.empty(0)

    @property
    def bounds(self) -> Array:
        return np.empty((0, 2))

    def likelihood(self, u: Array) -> Likelihood:
        return self.fixed

    def pull(self, u: Array, d_params: Array) -> Array:
        return np.empty(0)


@dataclass(frozen=True)
class LogParameter:
    """ln of one parameter of the likelihood, the others fixed."""

    loss: Any
    """The likelihood's class."""
    learnt: str
    """The learnt parameter's name."""
    first: float
    """Where to start."""
    limits: tuple[float, float] = C_BOUNDS
    others: tuple[tuple[str, float], ...] = ()
    """The fixed parameters."""

    @property
    def names(self) -> tuple[str, ...]:
        return (self.learnt,)

    @property
    def start(self) -> Array:
        return np.log([self.first])

    @property
    def bounds(self) -> Array:
        return np.log([self.limits])

    def likelihood(self, u: Array) -> Likelihood:
        learnt: Likelihood = self.loss(**{self.learnt: float(np.exp(u[0]))}, **dict(self.others))
        return learnt

    def pull(self, u: Array, d_params: Array) -> Array:
        index = self.loss.param_names.index(self.learnt)
        return np.exp(u) * d_params[index]


@dataclass(frozen=True)
class NoiseShape:
    """(ln sigma, ln q) of the epsilon-insensitive noise."""

    first: tuple[float, float] = (0.4, 2.2)
    names: tuple[str, ...] = ("sigma", "shape")

    @property
    def start(self) -> Array:
        return np.log(self.first)

    @property
    def bounds(self) -> Array:
        return np.log([SIGMA_BOUNDS, SHAPE_BOUNDS])

    def likelihood(self, u: Array) -> EpsilonInsensitive:
        sigma, q = np.exp(u)
        C = float(np.sqrt(self._h(q)) / sigma)
        return EpsilonInsensitive(C, float(q / C))

    def pull(self, u: Array, d_params: Array) -> Array:
        likelihood = self.likelihood(u)
        q = float(np.exp(u[1]))
        # d ln C/d ln q = q h'/(2 h), h' = 2 (q^3 + 3 q^2 + 3 q)/(3 (q + 1)^2)
        slope = q * (q**3 + 3 * q**2 + 3 * q) / (3 * (q + 1) ** 2) / self._h(q)
        by_C, by_epsilon = likelihood.C * d_params[0], likelihood.epsilon * d_params[1]
        return np.array([by_epsilon - by_C, slope * by_C + (1 - slope) * by_epsilon])

    @staticmethod
    def _h(q: float) -> float:
        return 2 + q * q * (q + 3) / (3 * (q + 1))


@dataclass(frozen=True)
class Coordinates:
    """The whole vector z, its names, start and bounds, which are worked out once.

    Parameters
    ----------
    kernel : Kernel
        Its free parameters (within their bounds) are learnt, starting from their values.
    noise : NoiseCoordinates
    n_features : int
    """

    kernel: Kernel
    noise: NoiseCoordinates
    n_features: int

    @cached_property
    def n_theta(self) -> int:
        """Number of free kernel parameters."""
        return int(self.kernel.n_dims)

    @cached_property
    def kernel_at(self) -> Callable[[Array], Kernel]:
        """The kernel as a function of its theta."""
        return theta_setter(self.kernel)

    @cached_property
    def start(self) -> Array:
        """Where the search starts, shape (n_z,)."""
        return np.concatenate([self.kernel.theta, self.noise.start])

    @cached_property
    def bounds(self) -> Array:
        """Lower and upper bounds, shape (n_z, 2)."""
        return np.concatenate([self.kernel.bounds.reshape(-1, 2), self.noise.bounds])

    @cached_property
    def roles(self) -> list[Role]:
        """What each kernel parameter means."""
        return roles(self.kernel, self.n_features)

    @cached_property
    def names(self) -> list[str]:
        """A name for each entry of z."""
        kernel = [r.kind if r.input is None else f"{r.kind}_{r.input}" for r in self.roles]
        return [*kernel, *self.noise.names]

    def model(self, z: Array) -> Model:
        """Return the kernel and the likelihood at z."""
        return Model(self.kernel_at(z[: self.n_theta]), self.noise.likelihood(z[self.n_theta :]))

    def pull(self, z: Array, d_theta: Array, d_params: Array) -> Array:
        """Join the gradients with respect to kernel.theta and the likelihood's parameters into one in z."""
        return np.concatenate([d_theta, self.noise.pull(z[self.n_theta :], d_params)])
