"""What a likelihood has without saying so: everything that follows from `log_prob`.

A likelihood is a frozen dataclass derived from `LikelihoodDefaults`. It must give `name`, `param_names`,
`is_classifier` and `log_prob(y, f, weight=None)`; whatever else it gives in closed form replaces a default here.
"""

from dataclasses import replace
from typing import ClassVar, Self

import numpy as np

from softmargin._parts import Part
from softmargin.likelihoods._protocol import (
    Array,
    Derivatives,
    ExpectedLogProb,
    Kink,
    Likelihood,
    MapCurvature,
    TiltedMoments,
    TiltedSlopes,
)
from softmargin.likelihoods.defaults.noise import NoiseDefaults
from softmargin.likelihoods.integrals import differences, moments
from softmargin.policy import POLICY, Range
from softmargin.svm import BoxProblem


class LikelihoodDefaults(NoiseDefaults, Part):
    """Base class of likelihoods: derivatives by differences, integrals by quadrature, no dual problem.

    Examples
    --------
    A likelihood of class labels, complete:

    >>> from dataclasses import dataclass
    >>> from scipy.special import log_ndtr
    >>> @dataclass(frozen=True)
    ... class Probit(LikelihoodDefaults):
    ...     C: float = 1.0
    ...     name: ClassVar[str] = "probit"
    ...     param_names: ClassVar[tuple[str, ...]] = ("C",)
    ...     is_classifier: ClassVar[bool] = True
    ...     def log_prob(self, y, f, weight=None):
    ...         return (1.0 if weight is None else weight) * log_ndtr(self.C * y * f)
    >>> one = np.ones(1)
    >>> bool(np.isclose(np.exp(Probit().tilted_moments(one, 0 * one, one).log_z), 0.5)[0])
    True
    """

    name: ClassVar[str]
    param_names: ClassVar[tuple[str, ...]]
    is_classifier: ClassVar[bool]
    is_smooth: ClassVar[bool] = True
    """Whether `log_prob` has a continuous second derivative in f, so that Newton's method finds its maxima."""
    is_normalised: ClassVar[bool] = True
    """Whether p sums (integrates) to one over y; if not, `log_v` and `d_log_v` give ln of the sum."""
    slack_power: ClassVar[int | None] = None
    """p, where the loss is max(1 - y f, 0)^p / p: what the criteria of the support vector machine are defined for."""
    param_units: ClassVar[dict[str, float]] = {}
    """The power of the unit of y that each parameter carries (regression)."""
    param_bounds: ClassVar[dict[str, Range]] = {
        "C": POLICY.likelihood.C,
        "epsilon": POLICY.likelihood.epsilon,
        "sigma": POLICY.likelihood.sigma,
        "scale": POLICY.likelihood.sigma,
        "df": POLICY.likelihood.df,
    }
    """Where a search looks for each parameter, in units of the scaled target (regression)."""
    param_start: ClassVar[dict[str, float]] = {}
    """Where it starts, if not at the defaults of the fields."""

    def log_prob(self, y: Array, f: Array, weight: Array | None = None) -> Array:
        """Return w ln p(y | f): the one method that every likelihood must give."""
        raise TypeError(f"{type(self).__name__} must define log_prob(y, f, weight=None), from which all else follows")

    def derivatives(self, y: Array, f: Array, weight: Array | None = None) -> Derivatives:
        """Return slope and curvature of `log_prob` in f, by differences."""
        return Derivatives(*differences.derivatives(lambda f: self.log_prob(y, f, weight), f)[:2])

    def third_derivative(self, y: Array, f: Array, weight: Array | None = None) -> Array:
        """Return the third derivative of `log_prob` in f, by differences (of the curvature where that is given)."""
        if not self.gives_derivatives:
            return differences.derivatives(lambda f: self.log_prob(y, f, weight), f)[2]
        return differences.derivatives(lambda f: self.derivatives(y, f, weight).curvature, f)[0]

    def d_log_prob_d_params(self, y: Array, f: Array, weight: Array | None = None) -> Array:
        """Return the derivatives of `log_prob` with respect to the parameters, (n_params, n), by differences."""
        return differences.by_parameters(self, lambda changed: changed.log_prob(y, f, weight))

    def map_curvature(self, y: Array, f: Array, weight: Array | None = None) -> MapCurvature:
        """Return what Laplace's approximation needs of a smooth likelihood at the most probable f."""
        by_params = differences.by_parameters(self, lambda changed: np.stack(changed.derivatives(y, f, weight)))
        return MapCurvature(
            precision=-self.derivatives(y, f, weight).curvature,
            d_f=-self.third_derivative(y, f, weight),
            d_params=-by_params[:, 1],
            slope_d_params=by_params[:, 0],
        )

    def tilted_moments(self, y: Array, m: Array, v: Array, weight: Array | None = None) -> TiltedMoments:
        """Integrate p(y | f)^w against N(f; m, v), by quadrature."""
        return moments.tilted_moments(self, y, m, v, weight)

    def tilted_slopes(self, y: Array, m: Array, v: Array, weight: Array | None = None) -> TiltedSlopes:
        """Differentiate `tilted_moments`, by differences."""
        return moments.tilted_slopes(self, y, m, v, weight)

    def expected_log_prob(self, y: Array, m: Array, v: Array, weight: Array | None = None) -> ExpectedLogProb:
        """Average w ln p(y | f) over f ~ N(m, v), by quadrature."""
        return moments.expected_log_prob(self, y, m, v, weight)

    @property
    def gives_derivatives(self) -> bool:
        """Whether `derivatives` is the likelihood's own, and so cheap and exact."""
        return type(self).derivatives is not LikelihoodDefaults.derivatives

    def normalised(self) -> Likelihood:
        """Return the likelihood that sums (integrates) to one over y: itself."""
        return self

    def prob(self, y: Array | float, f: Array) -> Array:
        """p(y | f)."""
        return np.exp(self.log_prob(np.broadcast_to(y, np.shape(f)), f))

    def log_odds(self, f: Array) -> Array:
        """ln P(+1 | f)/P(-1 | f) of a classifier, the shape of `f`."""
        link, one = self.normalised(), np.ones_like(f)
        return link.log_prob(one, f) - link.log_prob(-one, f)

    def dual(self, y: Array, weight: Array | None = None) -> BoxProblem | None:
        """Return the dual problem of the support vector machine: none."""
        return None

    def site_precision_at_map(self, alpha: Array, C: Array, smoothing: float) -> tuple[Array, Array, Array] | None:
        """Return what stands for the curvature at a kink of a likelihood with a dual problem: nothing.

        Else tau and its derivatives with respect to alpha and C, each of shape (n_free,), at the free rows.
        """
        return None

    def kink(self, y: Array, weight: Array | None = None) -> Kink | None:
        """Return the kink at y f = 1 of a likelihood that is curved on both sides of it: none."""
        return None

    def d_map_value_d_params(self, y: Array, f: Array, weight: Array | None, beta: Array) -> Array:
        """Return d/d parameters of sum ln p(y | f) at the most probable f = K beta, shape (n_params,)."""
        return self.d_log_prob_d_params(y, f, weight).sum(axis=1)

    def initial_sites(self, y: Array, weight: Array | None = None) -> tuple[Array, Array] | None:
        """Return precisions and shifts (tau, nu), each of shape (n,), for EP to start from: none, the prior."""
        return None

    def scale_and_shape(self) -> tuple[float, float] | None:
        """Return None: the parameters are learnt one by one.

        A noise that is better learnt by its standard deviation and a shape of its own returns both, and has
        `with_scale_and_shape(sigma, shape)` and `d_scale_and_shape(shape, d_params)`; see `EpsilonInsensitive`.
        """
        return None

    def in_units(self, scale: float) -> Self:
        """Return the same noise for targets multiplied by `scale`; see `param_units`."""
        changed = {}
        for name, power in self.param_units.items():
            value = getattr(self, name)
            changed[name] = value * scale**power if power >= 0 else value / scale**-power
        return replace(self, **changed)  # type: ignore[type-var]
