"""What a likelihood is: p(y | f) with a few integrals against a Gaussian in the latent value f.

Every method is vectorised over rows: `y`, `f`, `m`, `v` are arrays of shape (n,), `weight` is None or of
shape (n,). A row of weight w stands for w identical rows, so its likelihood is raised to the power w.
Class labels are -1 and +1. Normalising constants of the likelihood (Sollich's kappa, the noise density's
prefactor) are part of `log_prob` and of everything derived from it. A row of weight zero contributes exactly
nothing: value and derivatives are 0.

Beyond the protocol a likelihood may offer

- ``log_v(f)`` and ``d_log_v(f)``: where p sums over y to v(f) <= 1 instead of 1 (the two hinges), ln v(f) and
  its derivatives with respect to f and to C; the conditional and the joint evidence need them;
- ``prob(y, f)``: the class probability itself, for normalised classifiers;
- ``noise_variance``: the variance of y given f, for regression;
- ``tilted_slopes(y, m, v, weight)``: derivatives of `tilted_moments` (`TiltedSlopes`) in closed form, where
  leave-one-out would otherwise take differences;
- ``initial_sites(y, weight)``: precisions and shifts (tau, nu), each of shape (n,), from which EP starts.
"""

from typing import ClassVar, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Derivatives(NamedTuple):
    """First and second derivative of `log_prob` with respect to f, each of shape (n,)."""

    slope: Array
    curvature: Array


class TiltedMoments(NamedTuple):
    """ln Z(m, v) = ln of the integral of N(f; m, v) p(y | f)^w, and its derivatives.

    Mean and variance of the tilted density are ``m + v d_mean`` and ``v + v^2 d2_mean``;
    the derivative with respect to v is ``(d2_mean + d_mean^2) / 2``.
    """

    log_z: Array
    """Shape (n,)."""
    d_mean: Array
    """d ln Z / dm, shape (n,)."""
    d2_mean: Array
    """d2 ln Z / dm2, shape (n,)."""
    d_params: Array
    """d ln Z / d parameter, shape (n_params, n), in the order of `param_names`."""


class TiltedSlopes(NamedTuple):
    """Derivatives of `TiltedMoments` with respect to m and to the parameters."""

    d3_mean: Array
    """d3 ln Z / dm3, shape (n,)."""
    d4_mean: Array
    """d4 ln Z / dm4, shape (n,)."""
    d_mean_d_params: Array
    """d2 ln Z / dm d parameter, shape (n_params, n)."""
    d2_mean_d_params: Array
    """d3 ln Z / dm2 d parameter, shape (n_params, n)."""


class ExpectedLogProb(NamedTuple):
    """The average of w ln p(y | f) over f ~ N(m, v), and its derivatives."""

    value: Array
    """Shape (n,)."""
    d_mean: Array
    """Shape (n,)."""
    d_var: Array
    """Shape (n,)."""
    d_params: Array
    """Shape (n_params, n)."""


@runtime_checkable
class Likelihood(Protocol):
    """A frozen dataclass of its own parameters; see the module's docstring for the conventions."""

    name: ClassVar[str]
    param_names: ClassVar[tuple[str, ...]]
    """The dataclass fields that can be learnt, e.g. ``("C",)`` or ``("C", "epsilon")``."""
    is_classifier: ClassVar[bool]

    @property
    def C(self) -> float:
        """Inverse noise level."""
        ...

    def log_prob(self, y: Array, f: Array, weight: Array | None = None) -> Array:
        """ln p(y | f) times the weight."""
        ...

    def derivatives(self, y: Array, f: Array, weight: Array | None = None) -> Derivatives:
        """Slope and curvature of `log_prob` in f (map, laplace, hmc)."""
        ...

    def d_log_prob_d_params(self, y: Array, f: Array, weight: Array | None = None) -> Array:
        """Derivatives of `log_prob` with respect to the parameters, shape (n_params, n) (map, laplace, hmc)."""
        ...

    def tilted_moments(self, y: Array, m: Array, v: Array, weight: Array | None = None) -> TiltedMoments:
        """Integrate against a Gaussian cavity (ep)."""
        ...

    def expected_log_prob(self, y: Array, m: Array, v: Array, weight: Array | None = None) -> ExpectedLogProb:
        """Average the log-probability over a Gaussian (variational, sparse)."""
        ...

    def normalised(self) -> "Likelihood":
        """The likelihood that sums (integrates) to one over y; itself if it already does."""
        ...
