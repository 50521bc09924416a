"""What a regression is asked for, and what its fit is: two records."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from softmargin._linalg import Array
from softmargin.kernels import Coefficients, Layout, PrecomputedKernel
from softmargin.likelihoods import Likelihood
from softmargin.machines.importance import importance
from softmargin.machines.regression.noise_scale import NoiseScale
from softmargin.machines.regression.predictive import Predictive
from softmargin.machines.regression.stack import DensityMember, RegressionStack
from softmargin.machines.regression.target import TargetUnits, path_in_units, target_likelihood, target_units
from softmargin.machines.reservoir import Reservoir
from softmargin.machines.sampled_rows import RawSample, Source
from softmargin.machines.support import TargetSupport, target_support
from softmargin.policy import POLICY
from softmargin.tuning import Coordinates, LatentModel, LikelihoodCoordinates, Tuning

NoiseKind = Literal["constant", "varying", "auto"]


@dataclass(frozen=True)
class RegressionSettings:
    """What a regressor asks of its fit."""

    kernel: Any
    """None, a name or a kernel object in the units of y^2."""
    loss: str | Likelihood
    C: float | None
    epsilon: float | None
    tuning: Tuning
    nugget: bool | float
    leave_gross_errors_out: bool
    n_inducing: int | None
    through_inducing_points: bool
    centered: bool = True
    """Whether the prior mean of the function is the median of y; if not, zero."""
    start: Array | None = None
    """Coordinates where an earlier fit ended."""
    stacked: bool = False
    """Whether other machines join the tube machine; not on kernel values."""
    noise: NoiseKind = "constant"
    """Whether the scale of the noise varies with x: "auto" keeps that only if leave-one-out gains clearly."""
    scale: NoiseScale | None = None
    """The scale s(x) of targets that were divided by it."""
    layout: Layout | None = None
    """Where the columns of the table are in the rows; None: each has its own place."""

    @property
    def precomputed(self) -> bool:
        """Whether the inputs are kernel values."""
        return isinstance(self.kernel, PrecomputedKernel) or (
            isinstance(self.kernel, str) and self.kernel == "precomputed"
        )

    def fits_memory(self, source: Source) -> bool:
        """Whether the default takes the rows into memory, wherever they are."""
        return self.stacked and source.n_rows <= POLICY.size.sparse_above

    def units(self, y: Array, weight: Array) -> TargetUnits:
        """Center and scale of the targets."""
        return target_units(y, weight, centered=self.centered)

    def likelihood(self, units: TargetUnits) -> LikelihoodCoordinates:
        """What is to be learnt of the noise of the scaled target."""
        learn = self.tuning.search is not None
        return target_likelihood(self.loss, self.C, self.epsilon, units, learn=learn)


@dataclass(frozen=True)
class RegressionFit:
    """A fitted tube machine of the scaled target, how to give it back in the units of y, and what is stacked on it."""

    model: LatentModel
    units: TargetUnits
    given: Kernel
    """The kernel in the units of y, at its starting values."""
    spread: Array = field(repr=False)
    coordinates: Coordinates = field(repr=False)
    """Those of the scaled target."""
    total: float
    """Weight of all rows."""
    searched: float
    """Weight of the rows that the search saw, before later batches."""
    gross_errors: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=int))
    """Training rows that were left out."""
    loo_log_density: float | None = None
    """Per row, in the units of y; None where the posterior has no cavities."""
    others: tuple[DensityMember, ...] = ()
    """The other members of the stack."""
    weights: Array = field(default_factory=lambda: np.ones(1))
    """Of the machines that predict."""
    tube_predicts: bool = True
    """Whether the tube machine itself is among them; not if the noise varies."""
    sample: RawSample | None = field(default=None, repr=False)
    """Some training rows; None where the model has them all."""
    layout: Layout | None = field(default=None, repr=False)
    """Where the columns of the table are in the rows; None: each has its own place."""
    reservoir: Reservoir | None = field(default=None, repr=False)
    """Rows that a stream keeps; None where there is no stream."""

    @cached_property
    def support_record(self) -> TargetSupport | None:
        """The support vectors among the training rows; None through inducing points."""
        return target_support(self.model, self.units.scale)

    @property
    def members(self) -> list[DensityMember]:
        """The machines that predict, the tube machine first."""
        tube = DensityMember("tube", Predictive.of(self.model, self.units))
        return [tube, *self.others] if self.tube_predicts else [*self.others]

    @property
    def predictive(self) -> Predictive | RegressionStack:
        """The predictions, in the units of y."""
        if not self.others:
            return Predictive.of(self.model, self.units)
        return RegressionStack(self.members, self.weights, self.width)

    @property
    def width(self) -> float:
        """Factor on the deviations of a stack's predictions from their mean: sqrt(1 + k/n) for k learnt numbers.

        Predictions at k fitted numbers err by this much more than those at true ones, as in linear regression. Shrunken
        length scales are not free numbers: k counts for at most a share of the rows.
        """
        k = len(self.coordinates.start) if self.others and self.model.path else 0
        return float(np.sqrt(1.0 + min(k / self.total, POLICY.stack.target_widening)))

    def linear(self) -> Coefficients | None:
        """The mean of y as a linear function; None if the kernel is not linear, or other machines join."""
        found = None if self.others else self.model.linear()
        if found is None:
            return None
        scale = self.units.scale
        return Coefficients(scale * found.coef, self.units.center + scale * found.intercept)

    @cached_property
    def importance(self) -> Array | None:
        """Importance of every column of the table, shape (d,), sums to 1; None for kernel values."""
        if len(self.spread) == 0:
            return None
        seen = self.model.rows if self.sample is None else self.sample

        def slopes(X: Any) -> Array:
            return sum(w * m.mean_slopes(X) for w, m in zip(self.weights, self.members))[:, None, :]

        outputs = lambda X: self.predictive.mean(X)[:, None]  # noqa: E731
        warp = next((member.warp for member in self.members if member.warp is not None), None)
        return importance(outputs, slopes, seen.X, seen.weight, self.spread, self.layout, warp)

    @property
    def shift(self) -> Array:
        """What separates the logarithms of the hyperparameters of y from those of the scaled target."""
        theta = self.given.theta - self.coordinates.kernel.theta
        return np.concatenate([theta, self.units.shifts(self.coordinates.likelihood)])

    @property
    def kernel(self) -> Kernel:
        """The learnt kernel in the units of y."""
        return self.given.clone_with_theta((self.model.z + self.shift)[: self.given.n_dims])

    @property
    def log_units(self) -> float:
        """The density of y is that of the scaled target over the scale, once for every row: ln of that, in total."""
        return float(self.total * np.log(self.units.scale))

    @property
    def log_evidence(self) -> float:
        """Log evidence, a density in the units of y."""
        return float(self.model.posterior.log_evidence) - self.log_units

    @property
    def path(self) -> list[dict[str, Any]]:
        """The search's path in the units of y."""
        return path_in_units(self.model.path, self.coordinates.names, self.shift, self.searched, self.units.scale)
