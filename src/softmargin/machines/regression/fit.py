"""The fit of a regression: the target is scaled inside, gross errors are left out if the evidence says so.

Targets far outside the bulk are either the tail of the function and its noise, or gross errors: rows of a second
component of the noise, uniform over the range of y, that a small share `gross_rate` of the rows falls into. Both
readings are fitted. With Z the evidence, y_g the candidates and r the range, the rows are gross errors if

    Z(all rows) < Z(rows without y_g) (gross_rate / r)^|y_g|.

A row of the uniform component says nothing about the function: it takes no part in the posterior either.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from sklearn.gaussian_process.kernels import Product

from softmargin._linalg import Array
from softmargin.inference import EP
from softmargin.kernels import RowScale, diag
from softmargin.machines.beside import beside, runs_beside
from softmargin.machines.regression.members import Machine, left_out, stack_on, vary_noise
from softmargin.machines.regression.record import RegressionFit, RegressionSettings
from softmargin.machines.regression.target import TargetUnits, in_bulk, target_kernels
from softmargin.machines.sampled_rows import RawSample, Source, compact, draw, n_inducing_for
from softmargin.policy import POLICY
from softmargin.rows import LocalRows, ScaledEncoding, TrainingRows, check_sample_sizes, merge_rows, spread_of
from softmargin.search import Listener, Report
from softmargin.tuning import (
    Coordinates,
    LatentModel,
    Tuning,
    blas_threads,
    fit_latent,
    fit_sparse,
    leave_rows_out,
)


def fit_regression(source: Source, settings: RegressionSettings, listener: Listener | None = None) -> RegressionFit:
    """Fit a regression to valid raw rows; see `RegressionSettings`. `listener` is called after every evaluation."""
    report = None if listener is None else Report(listener)
    large = settings.through_inducing_points and not settings.fits_memory(source)
    with blas_threads(POLICY.search.blas_threads):
        if large:
            return _Large(compact(source), settings, report).fit(source)
        return _fit_all(source, replace(settings, through_inducing_points=False), report)


def _fit_all(source: Source, settings: RegressionSettings, report: Report | None) -> RegressionFit:
    """Fit with all rows at hand: the tube machine, and what is stacked on it."""
    X, y, weight = source.take(np.arange(source.n_rows))
    rows = merge_rows(X, y.astype(np.float64), weight, precomputed=settings.precomputed)
    fitted, seen = _fit_tube(rows, settings, report)
    if len(fitted.gross_errors):
        warn_of_gross_errors(len(fitted.gross_errors), fitted.gross_errors)
    if settings.precomputed or not (settings.stacked or settings.noise == "varying"):
        return fitted
    finish = stack_on if settings.stacked else vary_noise
    return finish(fitted, seen, _in_stack(settings), _fit_rows, report)


def _fit_tube(
    rows: TrainingRows, settings: RegressionSettings, report: Report | None
) -> tuple[RegressionFit, TrainingRows]:
    """The tube machine of merged rows, and those that it has seen: without gross errors."""
    fitted = _fit_target(rows, _in_stack(settings), report)
    if settings.tuning.search is not None:
        warn_of_imitated_noise(fitted)
    kept = np.isin(rows.first, fitted.model.rows.first)
    seen = rows if np.all(kept) else rows.subset(kept, rows.y[kept], precomputed=settings.precomputed)
    return _with_rows(fitted, rows), seen


def _in_stack(settings: RegressionSettings) -> RegressionSettings:
    """The settings of machines whose mixture predicts: their searches need fewer digits than one that is alone."""
    if not settings.stacked:
        return settings
    tuning = settings.tuning.relaxed(POLICY.stack.target_relaxed)
    return replace(settings, tuning=replace(tuning, rougher=EP(tol=POLICY.stack.target_ep_tol)))


def _fit_target(rows: TrainingRows, settings: RegressionSettings, report: Report | None) -> RegressionFit:
    """Fit the merged rows; gross errors among their targets are left out."""
    units = settings.units(rows.y, rows.weight)
    bulk = in_bulk((rows.y - units.center) / units.scale, rows.weight)
    if np.all(bulk) or not settings.leave_gross_errors_out:
        return _fit_rows(rows, settings, report)
    part = rows.subset(bulk, rows.y[bulk], precomputed=settings.precomputed)
    n_jobs = settings.tuning.n_jobs
    reading = partial(_fit_quietly, rows, settings, None if runs_beside(n_jobs) else report)
    with beside(reading, n_jobs) as other:
        without = _fit_rows(part, settings, report)
        whole, caught = other()
    if whole.log_evidence > without.log_evidence + log_uniform(float(rows.weight @ ~bulk), rows.y):
        for message in caught:
            warnings.warn(message, stacklevel=5)
        return whole
    return without


def _fit_quietly(
    rows: TrainingRows, settings: RegressionSettings, report: Report | None
) -> tuple[RegressionFit, list[Warning | str]]:
    """Fit merged rows as they are; warnings are returned, for a fit that may not be kept."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fitted = _fit_rows(rows, settings, report)
    return fitted, [warning.message for warning in caught]


def _fit_rows(original: TrainingRows, settings: RegressionSettings, report: Report | None) -> RegressionFit:
    """Fit merged rows as they are."""
    units = settings.units(original.y, original.weight)
    inputs = original.X / units.scale**2 if settings.precomputed else original.X
    rows = replace(original, X=inputs, y=(original.y - units.center) / units.scale)
    spread = np.empty(0) if settings.precomputed else spread_of(rows.X, rows.weight, settings.layout)
    kernel = "precomputed" if settings.precomputed else settings.kernel
    given, scaled = target_kernels(kernel, spread, settings.nugget, units, settings.layout)
    if settings.scale is not None:
        given, scaled = (Product(k, RowScale(settings.scale)) for k in (given, scaled))
    coordinates = Coordinates(scaled, settings.likelihood(units), len(spread))
    total = float(rows.weight.sum())

    def finish(model: LatentModel) -> RegressionFit:
        return RegressionFit(model, units, given, spread, coordinates, total, total, layout=settings.layout)

    tuning = _reporting(settings.tuning, finish, report)
    return finish(fit_latent(rows, scaled, coordinates.likelihood, spread, tuning, settings.start))


def _reporting(tuning: Tuning, finish: Callable[[LatentModel], RegressionFit], report: Report | None) -> Tuning:
    """The same settings, reporting every evaluation."""
    return replace(tuning, report=None if report is None else report.then(finish))


def _with_rows(fitted: RegressionFit, rows: TrainingRows) -> RegressionFit:
    """Add what refers to the original training rows; `rows` are all of them, merged."""
    model, loo = fitted.model, None
    if model.posterior.cavities() is not None:
        loo = float(model.rows.weight @ left_out(fitted) / model.rows.weight.sum())
    gross = np.flatnonzero((rows.group >= 0) & (model.rows.group < 0))
    return replace(fitted, gross_errors=gross, loo_log_density=loo)


@dataclass(frozen=True)
class _Large:
    """The fit through inducing points, for rows anywhere."""

    source: Source
    settings: RegressionSettings
    report: Report | None

    def fit(self, original: Source) -> RegressionFit:
        """Fit with and without candidates for gross errors; `original` are the rows before merging."""
        settings = self.settings
        drawn = draw(self.source, settings.tuning.seed)
        target = np.asarray(drawn.y, dtype=np.float64)
        check_sample_sizes(drawn.X, target)
        if settings.stacked:
            return self._stacked(drawn, original)
        units = settings.units(target, drawn.weight)
        target = (target - units.center) / units.scale
        bulk = in_bulk(target, drawn.weight)
        if np.all(bulk) or not settings.leave_gross_errors_out:
            return self._fit(drawn, units, np.inf)
        without, whole = self._fit(drawn, units, POLICY.target.gross), self._fit(drawn, units, np.inf)
        n_gross = float(drawn.weight[~bulk].sum()) / drawn.share
        evidence, all_evidence = (fit.model.posterior.log_evidence for fit in (without, whole))
        if all_evidence > evidence + log_uniform(n_gross, target):
            return whole
        return self._name_gross_errors(without, original, n_gross)

    def _stacked(self, drawn: RawSample, original: Source) -> RegressionFit:
        """The stack of a sample, in which the tube machine of all rows takes the place of the sample's."""
        settings = replace(self.settings, through_inducing_points=False)
        rows = merge_rows(drawn.X.astype(np.float64), np.asarray(drawn.y, dtype=np.float64), drawn.weight)
        small, seen = _fit_tube(rows, settings, self.report)
        gross = small.gross_errors
        whole = self._fit(drawn, small.units, POLICY.target.gross if len(gross) else np.inf, small.model)
        if len(gross):
            whole = self._name_gross_errors(whole, original, float(drawn.weight[gross].sum()) / drawn.share)
        t = (seen.y - whole.units.center) / whole.units.scale
        log_z = leave_rows_out(whole.model, seen.X, t, seen.weight, t).log_z
        machine = Machine(whole, log_z - np.log(whole.units.scale))
        return stack_on(small, seen, _in_stack(settings), _fit_rows, self.report, machine)

    def _fit(
        self, drawn: RawSample, units: TargetUnits, limit: float, learnt: LatentModel | None = None
    ) -> RegressionFit:
        """The machine of all rows with targets within the limit; at the hyperparameters that a sample has learnt."""
        settings = self.settings
        spread = spread_of(drawn.X, drawn.weight, settings.layout)
        given, scaled = target_kernels(settings.kernel, spread, settings.nugget, units, settings.layout)
        coordinates = Coordinates(scaled, settings.likelihood(units), len(spread))
        encoding = ScaledEncoding(units.center, units.scale, limit)
        sample, rows = drawn.encoded(encoding), self.source.encoded(encoding)
        total = float(sample.weight.sum() / sample.share)

        def finish(model: LatentModel) -> RegressionFit:
            return RegressionFit(model, units, given, spread, coordinates, total, total, layout=settings.layout)

        tuning, m = _reporting(settings.tuning, finish, self.report), n_inducing_for(rows.n_rows, settings.n_inducing)
        start = settings.start
        if learnt is not None:
            tuning, start = replace(tuning, search=None), learnt.z
        model = fit_sparse(rows, sample, scaled, coordinates.likelihood, spread, tuning, m, start)
        if learnt is not None:
            model = replace(model, path=learnt.path, objective=learnt.objective)
        log_z = leave_rows_out(model, sample.X, sample.y, sample.weight, sample.y).log_z
        loo = float(sample.weight @ log_z / sample.weight.sum() - np.log(units.scale))
        return replace(finish(model), loo_log_density=loo, sample=drawn.some(POLICY.size.importance_rows))

    def _name_gross_errors(self, fitted: RegressionFit, original: Source, n_gross: float) -> RegressionFit:
        if not isinstance(original, LocalRows):
            warn_of_gross_errors(round(n_gross))
            return fitted
        target = (np.asarray(original.y) - fitted.units.center) / fitted.units.scale
        rows = np.flatnonzero(np.abs(target) > POLICY.target.gross)
        warn_of_gross_errors(len(rows), rows)
        return replace(fitted, gross_errors=rows)


def log_uniform(n_gross: float, y: Array) -> float:
    """ln of the density of `n_gross` targets under the uniform component over the range of y."""
    return n_gross * float(np.log(POLICY.target.gross_rate / np.ptp(y)))


def warn_of_imitated_noise(fitted: RegressionFit) -> None:
    """Warn if many inputs have led to length scales so short that no row says anything about another.

    With much room between the rows a short-scale kernel and noise explain the training targets equally well.
    """
    model, cavities = fitted.model, fitted.model.posterior.cavities()
    n_inputs = int(np.sum(fitted.spread > 0))
    if n_inputs < POLICY.target.many_inputs or cavities is None:
        return
    nugget = model.nugget(model.rows.X)
    prior = diag(model.kernel, model.rows.X) - nugget
    unknown = float(np.median((cavities[1] - nugget) / prior))
    noise = model.likelihood.noise_variance + nugget
    if unknown > POLICY.target.unknown and np.median(prior) > np.median(noise):
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
