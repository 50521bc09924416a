"""The fit of one regression target: scaled inside, gross errors set aside if the evidence says so.

Targets beyond `GROSS` robust standard deviations are either the tail of the function and its noise, or gross errors:
rows of a second component of the noise, uniform over the range of y, that a share `GROSS_RATE` of the rows falls into.
Both readings are fitted. With Z the evidence, y_g the candidates and r the range, the rows are gross errors if

    Z(all rows) < Z(rows without y_g) (GROSS_RATE / r)^|y_g|.

A row of the uniform component tells nothing about the function: it takes no part in the posterior either.
"""

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from softmargin._linalg import Array
from softmargin.estimators._callbacks import FitTasks
from softmargin.estimators._model import LatentModel
from softmargin.estimators._tuning import fit_latent
from softmargin.estimators._units import TargetUnits, in_bulk, target_kernels, target_noise, target_units
from softmargin.kernels import diag
from softmargin.likelihoods import EpsilonInsensitive
from softmargin.rows import TrainingRows
from softmargin.search import HyperPrior

MANY_INPUTS = 8
"""From so many inputs on a stationary kernel can imitate noise."""
UNKNOWN = 0.5
"""Share of the function's prior variance that all other rows leave at a row, above which it is noise in effect."""
GROSS_RATE = 0.01
"""Prior share of gross errors among the rows."""


@dataclass(frozen=True)
class TargetFit:
    """A fitted model of the scaled target and how to give it back in the units of y."""

    model: LatentModel
    units: TargetUnits
    given: Kernel
    """The kernel in the units of y, at its starting values."""
    spread: Array
    shift: Array
    """What separates the logarithms of the hyperparameters of y from those of the scaled target."""

    @property
    def weight(self) -> Array:
        """Weight of each row, shape (n,)."""
        rows = self.model.rows
        return np.ones_like(rows.y) if rows.weight is None else rows.weight

    @property
    def log_evidence(self) -> float:
        """Log evidence, a density in the units of y."""
        return float(self.model.posterior.log_evidence) - float(self.weight.sum() * np.log(self.units.scale))


def fit_target(estimator: Any, rows: TrainingRows, tasks: FitTasks) -> TargetFit:
    """Fit the merged rows; gross errors among their targets are left out with a warning."""
    weight = np.ones_like(rows.y) if rows.weight is None else rows.weight
    units = target_units(rows.y, rows.weight)
    bulk = in_bulk((rows.y - units.center) / units.scale, rows.weight)
    if np.all(bulk) or not leaves_out(estimator):
        return _fit(estimator, rows, tasks)
    part = rows.subset(bulk, rows.y[bulk], precomputed=estimator._is_precomputed())
    without = _fit(estimator, part, tasks)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        whole = _fit(estimator, rows, tasks)
    if whole.log_evidence > without.log_evidence + log_uniform(float(weight @ ~bulk), rows.y):
        for warning in caught:
            warnings.warn(warning.message, stacklevel=5)
        return whole
    warn_of_gross_errors(int(np.sum(~bulk)), np.sort(rows.first[~bulk]))
    return without


def leaves_out(estimator: Any) -> bool:
    """Whether gross errors may be left out: not if the user keeps them or fits at given values."""
    return estimator.search is not None and estimator.gross_errors == "auto"


def log_uniform(n_gross: float, y: Array) -> float:
    """ln of the density of `n_gross` targets under the uniform component over the range of y."""
    return n_gross * float(np.log(GROSS_RATE / np.ptp(y)))


def _fit(estimator: Any, original: TrainingRows, tasks: FitTasks) -> TargetFit:
    units = target_units(original.y, original.weight)
    precomputed = estimator._is_precomputed()
    inputs = original.X / units.scale**2 if precomputed else original.X
    rows = replace(original, X=inputs, y=(original.y - units.center) / units.scale)
    spread = estimator._spread(rows.X, rows.weight)
    given, scaled = target_kernels("precomputed" if precomputed else estimator.kernel, spread, estimator.nugget, units)
    noise = target_noise(estimator.C, estimator.epsilon, units, learn=estimator.search is not None)
    shift = np.concatenate([given.theta - scaled.theta, units.shifts(noise.names)])
    tuning = estimator._tuning(HyperPrior.for_regression(), tasks, lambda model: as_fitted(model, units))
    model = fit_latent(rows, scaled, noise, spread, tuning, estimator._previous(len(shift)))
    return TargetFit(model, units, given, spread, shift)


def as_fitted(model: LatentModel, units: TargetUnits) -> dict[str, Any]:
    """The attributes that predictions need."""
    return {
        "_model": model,
        "_smooth": model.without_nugget(),
        "_density": model.likelihood,
        "y_center_": units.center,
        "y_scale_": units.scale,
    }


def warn_of_imitated_noise(fitted: TargetFit) -> None:
    """Warn if many inputs have led to length scales so short that no row says anything about another.

    With much room between the rows a short-scale kernel and noise explain the training targets equally well.
    """
    model = fitted.model
    cavity, n_inputs = model.posterior.cavity_variance, int(np.sum(fitted.spread > 0))
    if n_inputs < MANY_INPUTS or cavity is None:
        return
    nugget = model.nugget(model.rows.X)
    prior = diag(model.kernel, model.rows.X) - nugget
    unknown = float(np.median((cavity - nugget) / prior))
    assert isinstance(model.likelihood, EpsilonInsensitive)
    if unknown > UNKNOWN and np.median(prior) > np.median(model.likelihood.noise_variance + nugget):
        warnings.warn(
            f"the length scales learnt for {n_inputs} inputs are so short that the other rows leave {unknown:.0%} of "
            "the function's variance at a row unexplained: the kernel imitates noise, and noise_std_ is too small. "
            "Give fewer inputs, more rows, kernel='linear', or an RBF with larger length_scale_bounds",
            UserWarning,
            stacklevel=4,
        )


def warn_of_gross_errors(n: int, rows: np.ndarray | None = None) -> None:
    """Warn that n targets were left out, and name some of the rows if they are known."""
    named = ""
    if rows is not None:
        named = f" (row {', '.join(map(str, rows[:5]))}{', ...' if len(rows) > 5 else ''})"
    warnings.warn(
        f"{n} target(s){named} are too far from all others to be noise: they are taken for gross errors and left out. "
        "Correct or remove these rows, or keep them with gross_errors='keep'",
        UserWarning,
        stacklevel=5,
    )
