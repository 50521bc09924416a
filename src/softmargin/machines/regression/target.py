"""Units of a regression target: it is scaled inside so that priors and tolerances fit, and everything is given back.

With y = center + scale t, a kernel k of t is scale^2 k of y, C of t is C/scale of y, and epsilon of t is scale epsilon.
Centre and scale are the median and the interquartile range, which outliers do not move.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.gaussian_process.kernels import Kernel, WhiteKernel

from softmargin._checks import check_sizes
from softmargin._linalg import Array
from softmargin._typing import KernelLike
from softmargin.kernels import Layout, TiedKernel, check_kernel, make_kernel, scale_kernel
from softmargin.likelihoods import LIKELIHOODS, Likelihood
from softmargin.policy import POLICY
from softmargin.tuning import FixedLikelihood, LikelihoodCoordinates, LogParameters, NoiseShape

TARGET = POLICY.target


@dataclass(frozen=True)
class TargetUnits:
    """y = center + scale t."""

    center: float
    scale: float

    def scaled(self, y: Array) -> Array:
        """The scaled targets t, the shape of y."""
        return (y - self.center) / self.scale

    def shifts(self, coordinates: LikelihoodCoordinates) -> Array:
        """What to add to the logarithms of the likelihood's coordinates of t to get those of y."""
        units = coordinates.at(coordinates.start).param_units
        power = {"sigma": 1.0, "shape": 0.0, **units}
        return np.array([power[name] for name in coordinates.names]) * np.log(self.scale)


def target_units(y: Array, w: Array, *, centered: bool = True) -> TargetUnits:
    """Median (or 0) and robust standard deviation; the ordinary one if half the targets are equal, else 1."""
    low, center, high = _middle_quantiles(y, w)
    scale = (high - low) / TARGET.normal_iqr
    if not scale > 0:
        share = w / w.sum()
        scale = np.sqrt(share @ (y - share @ y) ** 2)
    rounding = 1e-14 * np.abs(y).max()
    return TargetUnits(float(center) if centered else 0.0, float(scale) if scale > rounding else 1.0)


def _middle_quantiles(y: Array, w: Array) -> Array:
    """Quartiles and median, each the mean of the lower and the upper one: those of -y are the negatives, shape (3,)."""
    # Cuts of the cumulative weight: weights and repeated rows give the same bits.
    levels = np.array([0.25, 0.5, 0.75])
    lower = np.quantile(y, levels, weights=w, method="inverted_cdf")
    # The upper quantile of y at a level is minus the lower one of -y at the complement.
    upper = -np.quantile(-y, levels[::-1], weights=w, method="inverted_cdf")
    middle: Array = 0.5 * lower + 0.5 * upper
    return middle


def in_bulk(y: Array, w: Array) -> NDArray[np.bool_]:
    """Which scaled targets to learn hyperparameters from: all but a few gross errors, shape (n,)."""
    bulk: NDArray[np.bool_] = np.abs(y) <= TARGET.gross
    outside = float(w @ ~bulk)
    # Without a centre, or with few rows, what lies far out may be most of what there is.
    rare = outside <= max(TARGET.gross_share * w.sum(), 1.0) and outside < w @ bulk
    return bulk if rare else np.ones(len(y), dtype=bool)


def path_in_units(
    path: list[dict[str, Any]], names: list[str], shift: Array, total: float, scale: float
) -> list[dict[str, Any]]:
    """The search's path in the units of y: hyperparameters times exp(shift), log densities of `total` rows.

    Early stopping searches with fewer; their weight is then the column "searched".
    """
    factor = dict(zip(names, np.exp(shift)))
    result = []
    for row in path:
        # ln p(y) = ln p(t) - ln(scale) for every row.
        n = row.get("searched", total)
        nats = {"objective": -n, "criterion": -n, "validation_log_loss": 1.0}
        converted = {name: float(row[name] * factor[name]) for name in factor}
        converted |= {name: float(row[name]) + k * np.log(scale) for name, k in nats.items() if name in row}
        result.append({**row, **converted})
    return result


def target_kernels(
    kernel: KernelLike,
    spread: Array,
    nugget: bool | float,
    units: TargetUnits,
    layout: Layout | None = None,
) -> tuple[Kernel, Kernel]:
    """The kernel in the units of y and the same of the scaled target, with the nugget's WhiteKernel if there is one.

    A kernel object is in the units of y, a named one starts from values for the scaled target. Matrices of a
    precomputed kernel are scaled by the caller.
    """
    if isinstance(kernel, str) and kernel == "precomputed":
        precomputed = make_kernel(kernel, 0)
        return precomputed, precomputed
    variance = units.scale**2
    white = []
    if nugget is True:
        white = [WhiteKernel(TARGET.nugget, TARGET.nugget_bounds)]
    elif nugget is not False:
        white = [WhiteKernel(float(nugget) ** 2 / variance, "fixed")]
    if isinstance(kernel, Kernel):
        given = sum((scale_kernel(w, variance) for w in white), make_kernel(kernel, len(spread), spread, layout))
        scaled = scale_kernel(given, 1 / variance)
        try:
            check_kernel(scaled)
        except ValueError as error:
            raise ValueError(
                f"kernel={kernel!r} is in units of the target's variance, {variance:.2g}, in which its values or "
                "bounds are out of range; give values and bounds near that variance"
            ) from error
        return given, scaled
    named: Any = make_kernel(kernel, len(spread), spread, layout)
    # (amplitude x shape) + offset; regression starts from another amplitude, and from shorter length scales.
    named.k1.k1.constant_value *= TARGET.amplitude / POLICY.kernel.amplitude
    shape = named.k1.k2.kernel if isinstance(named.k1.k2, TiedKernel) else named.k1.k2
    if hasattr(shape, "length_scale"):
        shape.length_scale *= TARGET.length_factor / POLICY.kernel.length_factor
    scaled = sum(white, named)
    return scale_kernel(scaled, variance), scaled


def target_likelihood(
    loss: str | Likelihood, C: float | None, epsilon: float | None, units: TargetUnits, *, learn: bool
) -> LikelihoodCoordinates:
    """Coordinates of what is to be learnt of the scaled target's noise.

    Parameters
    ----------
    loss : str or Likelihood
        A name, or an object in the units of y whose parameters are where the search starts.
    C, epsilon : float or None
        Fixed values in the units of y; None: learnt, if the loss has such a parameter.
    learn : bool
        Whether anything is learnt at all.
    """
    template: Any = _at_start(loss) if isinstance(loss, str) else loss.in_units(1 / units.scale)
    given = {"C": (C, units.scale), "epsilon": (epsilon, 1 / units.scale)}
    fixed = {name: float(value) * unit for name, (value, unit) in given.items() if value is not None}
    for name in fixed:
        if name not in template.param_names:
            raise ValueError(
                f"{name}={given[name][0]:g} is given, but loss={template.name!r} has the parameters "
                f"{', '.join(template.param_names)}; leave {name}=None"
            )
    template = replace(template, **fixed)
    check_sizes(template, units.scale)
    learnt = tuple(name for name in template.param_names if name not in fixed) if learn else ()
    if not learnt:
        return FixedLikelihood(template)
    first = template.scale_and_shape()
    if first is not None and learnt == template.param_names:
        return NoiseShape(template=template) if isinstance(loss, str) else NoiseShape(first, template=template)
    return LogParameters(template, learnt, tuple(template.param_bounds[name] for name in learnt))


def _at_start(loss: str) -> Any:
    """A likelihood by name, at its starting values for a scaled target."""
    kind: Any = LIKELIHOODS[loss]
    likelihood = kind(**kind.param_start)
    if likelihood.scale_and_shape() is None:
        return likelihood
    noise = NoiseShape(template=likelihood)
    return noise.at(noise.start)
