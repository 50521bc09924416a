"""Coordinates of the hyperparameter space: a vector z of logarithms on one side, kernel and likelihood on the other.

z = (kernel.theta, likelihood coordinates). The latter are the logarithms of the likelihood's free parameters, such as
(ln C) of a classifier; those of the epsilon-insensitive noise are (ln sigma, ln q), its standard deviation and its
shape q = epsilon C, which are nearly independent in the evidence while C and epsilon are not:
C = sqrt(h(q))/sigma, epsilon = q/C, h(q) = 2 + q^2 (q + 3)/(3 (q + 1)).
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from softmargin._linalg import Array
from softmargin.kernels import Role, roles, take_length_scales, theta_setter
from softmargin.likelihoods import EpsilonInsensitive, Likelihood
from softmargin.policy import POLICY, Range


class Model(NamedTuple):
    """A point of the hyperparameter space."""

    kernel: Kernel
    likelihood: Likelihood


class LikelihoodCoordinates(Protocol):
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

    def at(self, u: Array) -> Likelihood:
        """Return the likelihood at u."""
        ...

    def chain(self, u: Array, d_params: Array) -> Array:
        """Turn a gradient with respect to the likelihood's parameters into one with respect to u."""
        ...

    def normalised(self) -> "LikelihoodCoordinates":
        """The same coordinates of the normalised likelihood, which has the same parameters."""
        ...


@dataclass(frozen=True)
class FixedLikelihood:
    """Nothing to learn."""

    fixed: Likelihood
    names: tuple[str, ...] = ()

    @property
    def start(self) -> Array:
        """Shape (0,)."""
        return np.empty(0)

    @property
    def bounds(self) -> Array:
        """Shape (0, 2)."""
        return np.empty((0, 2))

    def at(self, u: Array) -> Likelihood:
        """Return the fixed likelihood."""
        return self.fixed

    def chain(self, u: Array, d_params: Array) -> Array:
        """Return an empty gradient."""
        return np.empty(0)

    def normalised(self) -> "FixedLikelihood":
        """The normalised likelihood, fixed."""
        return FixedLikelihood(self.fixed.normalised())


@dataclass(frozen=True)
class LogParameters:
    """Logarithms of some parameters of a likelihood; the others keep their values."""

    template: Any
    """A likelihood at the starting values."""
    names: tuple[str, ...]
    """The learnt parameters."""
    limits: tuple[Range, ...]

    @property
    def start(self) -> Array:
        """ln of the template's own values, shape (n_u,)."""
        return np.log([getattr(self.template, name) for name in self.names])

    @property
    def bounds(self) -> Array:
        """ln of the limits, shape (n_u, 2)."""
        return np.log(self.limits)

    def at(self, u: Array) -> Likelihood:
        """Return the likelihood with parameters exp(u)."""
        learnt: Likelihood = replace(self.template, **dict(zip(self.names, np.exp(u).tolist())))
        return learnt

    def chain(self, u: Array, d_params: Array) -> Array:
        """d/du = exp(u) d/d parameter."""
        index = [self.template.param_names.index(name) for name in self.names]
        return np.exp(u) * d_params[index]

    def normalised(self) -> "LogParameters":
        """The same parameters of the normalised likelihood."""
        return replace(self, template=self.template.normalised())


@dataclass(frozen=True)
class NoiseShape:
    """(ln sigma, ln q): standard deviation and shape of a noise that has both, see `Likelihood.scale_and_shape`."""

    first: tuple[float, float] = POLICY.likelihood.start_shape
    names: tuple[str, ...] = ("sigma", "shape")
    template: Any = field(default_factory=EpsilonInsensitive)
    """A noise of the kind that is learnt."""

    @property
    def start(self) -> Array:
        """Shape (2,)."""
        return np.log(self.first)

    @property
    def bounds(self) -> Array:
        """Shape (2, 2)."""
        return np.log([POLICY.likelihood.sigma, POLICY.likelihood.shape])

    def at(self, u: Array) -> Likelihood:
        """Return the noise with this standard deviation and shape."""
        noise: Likelihood = self.template.with_scale_and_shape(*np.exp(u))
        return noise

    def chain(self, u: Array, d_params: Array) -> Array:
        """Combine the derivatives with respect to the likelihood's parameters."""
        noise: Any = self.at(u)
        chained: Array = noise.d_scale_and_shape(float(np.exp(u[1])), d_params)
        return chained

    def normalised(self) -> "NoiseShape":
        """Itself: the noise is a density."""
        return self


@dataclass(frozen=True)
class Coordinates:
    """The whole vector z, its names, start and bounds, which are worked out once.

    Parameters
    ----------
    kernel : Kernel
        Its free parameters (within their bounds) are learnt, starting from their values.
    likelihood : LikelihoodCoordinates
        Which parameters of the likelihood are learnt.
    n_features : int
        Number of columns.
    """

    kernel: Kernel
    likelihood: LikelihoodCoordinates
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
        return np.concatenate([self.kernel.theta, self.likelihood.start])

    def hinted(self, z: Array, kernel: Kernel | None) -> Array | None:
        """z with the length scales that another kernel has for the same inputs, shape (n_z,); None without one."""
        if kernel is None:
            return None
        own = take_length_scales(self.kernel_at(z[: self.n_theta]), kernel, self.n_features)
        return np.concatenate([own.theta, z[self.n_theta :]])

    @cached_property
    def bounds(self) -> Array:
        """Lower and upper bounds, shape (n_z, 2)."""
        return np.concatenate([self.kernel.bounds.reshape(-1, 2), self.likelihood.bounds])

    @cached_property
    def roles(self) -> list[Role]:
        """What each kernel parameter means."""
        return roles(self.kernel, self.n_features)

    @cached_property
    def names(self) -> list[str]:
        """A name for each entry of z."""
        kernel = [r.kind if r.input is None else f"{r.kind}_{r.input}" for r in self.roles]
        return [*kernel, *self.likelihood.names]

    @cached_property
    def kinds(self) -> list[str]:
        """What each entry of z is, whatever input it belongs to: a role of the kernel or a name of the likelihood."""
        return [*(r.kind for r in self.roles), *self.likelihood.names]

    @cached_property
    def is_classifier(self) -> bool:
        """Whether the targets are labels."""
        return bool(self.likelihood.at(self.likelihood.start).is_classifier)

    def model(self, z: Array) -> Model:
        """Return the kernel and the likelihood at z."""
        return Model(self.kernel_at(z[: self.n_theta]), self.likelihood.at(z[self.n_theta :]))

    def chain(self, z: Array, d_theta: Array, d_params: Array) -> Array:
        """Join the gradients with respect to kernel.theta and the likelihood's parameters into one in z."""
        return np.concatenate([d_theta, self.likelihood.chain(z[self.n_theta :], d_params)])

    def with_likelihood(self, likelihood: LikelihoodCoordinates) -> "Coordinates":
        """The same kernel with other likelihood coordinates."""
        return Coordinates(self.kernel, likelihood, self.n_features)
