"""Units of a regression target: it is scaled inside so that priors and tolerances fit, and everything is given back.

With y = center + scale t, a kernel k of t is scale^2 k of y, C of t is C/scale of y, and epsilon of t is scale epsilon.
Centre and scale are the median and the interquartile range, which outliers do not move.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.gaussian_process.kernels import ConstantKernel, Exponentiation, Kernel, Product, Sum, WhiteKernel

from softmargin._linalg import Array
from softmargin.kernels import make_kernel
from softmargin.kernels._named import AMPLITUDE, LENGTH_FACTOR
from softmargin.likelihoods import EpsilonInsensitive
from softmargin.search import FixedNoise, LogParameter, NoiseCoordinates, NoiseShape

START_AMPLITUDE = 1.65
"""Where the search starts: prior variance of the function, in units of the target's robust variance."""
START_LENGTH = 1.0
"""Likewise: each length scale in units of sqrt(d) times the spread of its input."""
START_NUGGET, NUGGET_BOUNDS = 0.08, (1e-8, 1e2)
EPSILON_BOUNDS = (1e-6, 1e2)
GROSS, GROSS_SHARE = 20.0, 0.05
"""Targets so many robust standard deviations from the median are gross errors, unless they are more than this share."""
NORMAL_IQR = 1.349
"""Interquartile range of a normal variable in units of its standard deviation."""


@dataclass(frozen=True)
class TargetUnits:
    """y = center + scale t."""

    center: float
    scale: float

    def shifts(self, names: tuple[str, ...]) -> Array:
        """What to add to the logarithms of the noise's coordinates of t to get those of y."""
        power = {"sigma": 1.0, "epsilon": 1.0, "C": -1.0, "shape": 0.0}
        return np.array([power[name] for name in names]) * np.log(self.scale)


def target_units(y: Array, weight: Array | None) -> TargetUnits:
    """Median and robust standard deviation; the ordinary one if half the targets are equal, else 1."""
    w = np.ones_like(y) if weight is None else weight
    # A cut of the cumulative weight: weights and repeated rows give the same bits.
    low, center, high = np.quantile(y, [0.25, 0.5, 0.75], weights=w, method="inverted_cdf")
    scale = (high - low) / NORMAL_IQR
    if not scale > 0:
        share = w / w.sum()
        scale = np.sqrt(share @ (y - share @ y) ** 2)
    rounding = 1e-14 * np.abs(y).max()
    return TargetUnits(float(center), float(scale) if scale > rounding else 1.0)


def in_bulk(y: Array, weight: Array | None) -> NDArray[np.bool_]:
    """Which scaled targets to learn hyperparameters from: all but a few gross errors, shape (n,)."""
    bulk: NDArray[np.bool_] = np.abs(y) <= GROSS
    w = np.ones_like(y) if weight is None else weight
    rare = w @ ~bulk <= max(GROSS_SHARE * w.sum(), 1.0)
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
    kernel: Kernel | str | None, spread: Array, nugget: bool | float, units: TargetUnits
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
        white = [WhiteKernel(START_NUGGET, NUGGET_BOUNDS)]
    elif nugget is not False:
        white = [WhiteKernel(float(nugget) ** 2 / variance, "fixed")]
    if isinstance(kernel, Kernel):
        given = sum((scale_kernel(w, variance) for w in white), make_kernel(kernel, len(spread)))
        return given, scale_kernel(given, 1 / variance)
    named: Any = make_kernel(kernel, len(spread), spread)
    # (amplitude x shape) + offset; regression starts from another amplitude, and from shorter length scales.
    named.k1.k1.constant_value *= START_AMPLITUDE / AMPLITUDE
    if hasattr(named.k1.k2, "length_scale"):
        named.k1.k2.length_scale *= START_LENGTH / LENGTH_FACTOR
    scaled = sum(white, named)
    return scale_kernel(scaled, variance), scaled


def target_noise(C: float | None, epsilon: float | None, units: TargetUnits, *, learn: bool) -> NoiseCoordinates:
    """Coordinates of what is to be learnt of the scaled target's C and epsilon, given in the units of y or None."""
    start = NoiseShape().likelihood(NoiseShape().start)
    scaled_C = start.C if C is None else float(C) * units.scale
    scaled_epsilon = start.epsilon if epsilon is None else float(epsilon) / units.scale
    if not learn or (C is not None and epsilon is not None):
        return FixedNoise(EpsilonInsensitive(scaled_C, scaled_epsilon))
    if C is not None:
        return LogParameter(EpsilonInsensitive, "epsilon", start.epsilon, EPSILON_BOUNDS, (("C", scaled_C),))
    if epsilon is not None:
        return LogParameter(EpsilonInsensitive, "C", start.C, others=(("epsilon", scaled_epsilon),))
    return NoiseShape()


def scale_kernel(kernel: Kernel, factor: float) -> Kernel:
    """Return factor x kernel with the same free parameters in the same order.

    The factor goes into the constants and noise levels where there are any, else into a fixed constant in front.
    """
    if isinstance(kernel, ConstantKernel):
        bounds = kernel.constant_value_bounds
        return ConstantKernel(kernel.constant_value * factor, _scale_bounds(bounds, factor))
    if isinstance(kernel, WhiteKernel):
        return WhiteKernel(kernel.noise_level * factor, _scale_bounds(kernel.noise_level_bounds, factor))
    if isinstance(kernel, Sum):
        return Sum(scale_kernel(kernel.k1, factor), scale_kernel(kernel.k2, factor))
    if isinstance(kernel, Product) and _absorbs(kernel.k1):
        return Product(scale_kernel(kernel.k1, factor), clone(kernel.k2))
    if isinstance(kernel, Product) and _absorbs(kernel.k2):
        return Product(clone(kernel.k1), scale_kernel(kernel.k2, factor))
    return Product(ConstantKernel(factor, "fixed"), clone(kernel))


def without_white(kernel: Kernel) -> Kernel:
    """Return the kernel with every WhiteKernel silenced: the covariance of the function without its nugget."""
    if isinstance(kernel, WhiteKernel):
        return WhiteKernel(0.0, "fixed")
    if isinstance(kernel, Sum | Product):
        return type(kernel)(without_white(kernel.k1), without_white(kernel.k2))
    if isinstance(kernel, Exponentiation):
        return Exponentiation(without_white(kernel.kernel), kernel.exponent)
    return kernel


def _absorbs(kernel: Kernel) -> bool:
    if isinstance(kernel, Sum):
        return _absorbs(kernel.k1) and _absorbs(kernel.k2)
    if isinstance(kernel, Product):
        return _absorbs(kernel.k1) or _absorbs(kernel.k2)
    return isinstance(kernel, ConstantKernel | WhiteKernel)


def _scale_bounds(bounds: object, factor: float) -> object:
    return bounds if isinstance(bounds, str) else np.asarray(bounds, dtype=float) * factor
