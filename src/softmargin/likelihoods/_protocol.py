"""What a likelihood is: p(y | f) with a few integrals against a Gaussian in the latent value f.

Every method is vectorised over rows: `y`, `f`, `m`, `v` are arrays of shape (n,), `weight` is None or of
shape (n,). A row of weight w stands for w identical rows, so its likelihood is raised to the power w.
Class labels are -1 and +1. Normalising constants of the likelihood (Sollich's kappa, the noise density's
prefactor) are part of `log_prob` and of everything derived from it. A row of weight zero contributes exactly
nothing: value and derivatives are 0.

`LikelihoodDefaults` supplies everything but `log_prob`, by differences and quadrature; a likelihood gives what it
knows in closed form.
"""

from typing import Any, ClassVar, NamedTuple, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from softmargin.svm import BoxProblem

Array = NDArray[np.float64]


def power(weight: Array | None) -> Array | float:
    """Return what a row's likelihood is raised to: its weight, one where there are no weights."""
    return 1.0 if weight is None else weight


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


class MapCurvature(NamedTuple):
    """The precision -d2 log_prob/df2 of a smooth likelihood and what it depends on."""

    precision: Array
    """Shape (n,)."""
    d_f: Array
    """Its derivative in f, shape (n,)."""
    d_params: Array
    """Its derivatives with respect to the parameters at fixed f, shape (n_params, n)."""
    slope_d_params: Array
    """The derivatives of the slope of `log_prob` with respect to the parameters at fixed f, shape (n_params, n)."""


class Kink(NamedTuple):
    """Where the slope of `log_prob` in y f falls at once: at y f = 1, the margin."""

    slope: Array
    """Just above the margin, shape (n,)."""
    jump: Array
    """How much larger it is just below, shape (n,)."""
    slope_d_params: Array
    """Shape (n_params, n)."""
    jump_d_params: Array
    """Shape (n_params, n)."""


@runtime_checkable
class Likelihood(Protocol):
    """A frozen dataclass of its own parameters; see the module's docstring for the conventions."""

    name: ClassVar[str]
    param_names: ClassVar[tuple[str, ...]]
    """The dataclass fields that can be learnt, e.g. ``("C",)`` or ``("C", "epsilon")``."""
    is_classifier: ClassVar[bool]
    is_smooth: ClassVar[bool]
    """Whether `log_prob` has a continuous second derivative in f."""
    is_normalised: ClassVar[bool]
    """Whether p sums (integrates) to one over y."""
    slack_power: ClassVar[int | None]
    """p, where the loss is max(1 - y f, 0)^p / p."""
    param_units: ClassVar[dict[str, float]]
    param_bounds: ClassVar[dict[str, tuple[float, float]]]
    param_start: ClassVar[dict[str, float]]

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

    def log_odds(self, f: Array) -> Array:
        """ln P(+1 | f)/P(-1 | f) (classification)."""
        ...

    def map_curvature(self, y: Array, f: Array, weight: Array | None = None) -> MapCurvature:
        """What stands in the determinant of Laplace's approximation (laplace, smooth likelihoods)."""
        ...

    def site_precision_at_map(self, alpha: Array, C: Array, smoothing: float) -> tuple[Array, Array, Array] | None:
        """The same for likelihoods with a dual problem, at its free rows; None if there is nothing."""
        ...

    def kink(self, y: Array, weight: Array | None = None) -> Kink | None:
        """The kink of a likelihood that is curved on both sides of it; None if there is none (map, laplace)."""
        ...

    def d_map_value_d_params(self, y: Array, f: Array, weight: Array | None, beta: Array) -> Array:
        """d/d parameters of sum ln p(y | f) at the most probable f = K beta, shape (n_params,) (map)."""
        ...

    def dual(self, y: Array, weight: Array | None = None) -> BoxProblem | None:
        """The dual problem of the support vector machine; None if there is none (map)."""
        ...

    def initial_sites(self, y: Array, weight: Array | None = None) -> tuple[Array, Array] | None:
        """Precisions and shifts (tau, nu) to start from, each of shape (n,); None: the prior (ep, sparse)."""
        ...

    def tilted_slopes(self, y: Array, m: Array, v: Array, weight: Array | None = None) -> TiltedSlopes:
        """Derivatives of `tilted_moments` (leave-one-out)."""
        ...

    def scale_and_shape(self) -> tuple[float, float] | None:
        """Standard deviation and shape of the noise, if a search learns these; None: its parameters one by one."""
        ...

    def in_units(self, scale: float) -> Self:
        """The same noise for targets multiplied by `scale` (regression)."""
        ...

    def predictive(self, mean: Array, variance: Array) -> Any:
        """The distribution of y for f ~ N(mean, variance) (regression)."""
        ...

    @property
    def noise_variance(self) -> float:
        """Variance of y given f (regression)."""
        ...

    def sample_noise(self, shape: tuple[int, ...], rng: np.random.RandomState) -> Array:
        """Draw y - f (regression)."""
        ...
