"""A regression of a stream: each batch updates the posterior, and hyperparameters follow as the stream grows."""

from dataclasses import replace

import numpy as np

from softmargin._linalg import Array
from softmargin.machines.regression.fit import fit_regression
from softmargin.machines.regression.record import RegressionFit, RegressionSettings
from softmargin.machines.reservoir import Reservoir
from softmargin.machines.sampled_rows import Source, compact
from softmargin.policy import POLICY
from softmargin.rows import ScaledEncoding, spread_of
from softmargin.tuning import blas_threads, follow, update


def begin_regression(fitted: RegressionFit, source: Source, seed: int) -> RegressionFit:
    """The fit of a first batch, which remembers some of its rows."""
    return replace(fitted, reservoir=Reservoir.of(source, seed, classes=False))


def update_regression(fitted: RegressionFit, source: Source, settings: RegressionSettings) -> RegressionFit:
    """Update a fit through inducing points by a batch of rows; see `update_classification`.

    While all rows are kept the units of the target follow too.
    """
    source = compact(source)
    reservoir = None if fitted.reservoir is None else fitted.reservoir.add(source, classes=False)
    with blas_threads(POLICY.search.blas_threads):
        if reservoir is None or settings.tuning.search is None or not reservoir.is_due:
            return replace(_updated(fitted, source), reservoir=reservoir)
        if reservoir.is_complete:
            made = fit_regression(reservoir.rows, replace(settings, start=_start(fitted, reservoir)))
        else:
            made = _updated(_followed(fitted, reservoir, settings), source)
    return replace(made, reservoir=reservoir.just_tuned())


def _start(fitted: RegressionFit, reservoir: Reservoir) -> Array | None:
    """Where the search starts; None if an input was constant so far, which had no length scale to start from."""
    spread = spread_of(reservoir.X, reservoir.weight, fitted.layout)
    return fitted.model.z if np.array_equal(spread > 0, fitted.spread > 0) else None


def _followed(fitted: RegressionFit, reservoir: Reservoir, settings: RegressionSettings) -> RegressionFit:
    """The same memory of the rows at hyperparameters learnt on the kept ones."""
    units, coordinates = fitted.units, fitted.coordinates
    limit = POLICY.target.gross if len(fitted.gross_errors) else np.inf
    sample = reservoir.sample.encoded(ScaledEncoding(units.center, units.scale, limit))
    kernel, likelihood = coordinates.kernel, coordinates.likelihood
    return replace(fitted, model=follow(fitted.model, sample, kernel, likelihood, fitted.spread, settings.tuning))


def _updated(fitted: RegressionFit, source: Source) -> RegressionFit:
    """At its hyperparameters."""
    units = fitted.units
    model = update(fitted.model, source.encoded(ScaledEncoding(units.center, units.scale)))
    _, _, weight = source.take(np.arange(source.n_rows))
    return replace(fitted, model=model, total=fitted.total + float(weight.sum()))
