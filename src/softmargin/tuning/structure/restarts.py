"""Where restarts begin: a low-discrepancy sequence over the range that the hyperprior deems plausible."""

import numpy as np
from scipy.stats import qmc

from softmargin._linalg import Array
from softmargin.policy import POLICY
from softmargin.tuning.coordinates import Coordinates
from softmargin.tuning.hyperprior import HyperPrior
from softmargin.tuning.structure.search import LengthScales

STRUCTURE = POLICY.structure


def restart_points(
    coordinates: Coordinates,
    spread: Array,
    hyperprior: HyperPrior | None,
    n: int,
    seed: int,
    log_unit: Array | None = None,
) -> Array:
    """Draw n points from the range of the hyperprior, within the bounds, by a scrambled Sobol sequence.

    Parameters
    ----------
    coordinates : Coordinates
    spread : ndarray of shape (n_features,)
        Standard deviation of each input; a length scale of an input that does not vary (0) stays at its start.
    hyperprior : HyperPrior or None
        Logarithms are within two standard deviations of their prior means; where it is flat, or None, in the middle
        half of their bounds. Length scales have a common factor and deviations from it.
    n : int
    seed : int
    log_unit : ndarray of shape (n_theta,), optional
        ln of the unit of each amplitude, as for `HyperPrior.bind`.

    Returns
    -------
    ndarray of shape (n, n_z)

    Examples
    --------
    >>> from softmargin.kernels import make_kernel
    >>> from softmargin.likelihoods import Hinge
    >>> from softmargin.policy import POLICY
    >>> from softmargin.tuning import LogParameters
    >>> coordinates = Coordinates(make_kernel(None, 2), LogParameters(Hinge(1.0), ("C",), (POLICY.likelihood.C,)), 2)
    >>> restart_points(coordinates, np.ones(2), HyperPrior(), n=3, seed=0).shape
    (3, 5)
    """
    prior = hyperprior or HyperPrior(**dict.fromkeys(HyperPrior.__dataclass_fields__))
    low, high = _ranges(coordinates, prior, log_unit)
    n_z, scales = len(low), LengthScales.of(coordinates, spread)
    if n == 0 or n_z == 0:
        return np.tile(coordinates.start, (n, 1))
    # One number for each coordinate and one for the common length scale. A power of two of them is balanced.
    draws = qmc.Sobol(n_z + 1, seed=seed).random_base2(int(np.ceil(np.log2(n))))[:n]
    points: Array = low + (high - low) * draws[:, :n_z]
    kinds = np.array([*(role.kind for role in coordinates.roles), *coordinates.likelihood.names])
    points[:, kinds == "length_scale"] = coordinates.start[kinds == "length_scale"]
    if len(scales.where):
        common = _length_range(prior) @ np.stack([1 - draws[:, n_z], draws[:, n_z]])
        deviation = _deviation(prior) * (2 * draws[:, scales.where] - 1)
        deviation -= deviation.mean(axis=1, keepdims=True)
        points[:, scales.where] = scales.log_spread + scales.half_log_d + common[:, None] + deviation
    clipped: Array = np.clip(points, *coordinates.bounds.T)
    return clipped


def _ranges(coordinates: Coordinates, prior: HyperPrior, log_unit: Array | None) -> tuple[Array, Array]:
    """Lower and upper ends for all but the length scales, shape (n_z,) each."""
    middle, width = coordinates.bounds.mean(axis=1), np.ptp(coordinates.bounds, axis=1)
    low, high = middle - 0.5 * STRUCTURE.restart_kept * width, middle + 0.5 * STRUCTURE.restart_kept * width
    kinds = [*(role.kind for role in coordinates.roles), *coordinates.likelihood.names]
    for i, kind in enumerate(kinds):
        entry = getattr(prior, kind, None)
        if kind == "length_scale" or entry is None:
            continue
        mean, sd = entry
        if kind == "amplitude" and log_unit is not None:
            mean += log_unit[i]
        low[i], high[i] = mean - STRUCTURE.restart_width * sd, mean + STRUCTURE.restart_width * sd
    return low, high


def _length_range(prior: HyperPrior) -> Array:
    """Ends of the common length scale in units of sqrt(d) times the spread, as logarithms; shape (2,)."""
    if prior.length_scale is None:
        return np.array(STRUCTURE.flat_lengths)
    mean, sd = prior.length_scale
    return np.array([mean - STRUCTURE.restart_width * sd, mean + STRUCTURE.restart_width * sd])


def _deviation(prior: HyperPrior) -> float:
    """Largest deviation of a length scale from the common one, before their mean is taken off."""
    scale = STRUCTURE.flat_deviation if prior.shrinkage is None else prior.shrinkage[0]
    return STRUCTURE.restart_width * scale
