"""The other members of a stack of regressions, beside the tube machine.

- "tube_warped_target": the tube machine of a warped target, for skewed targets; it starts where the first ended.
- "gaussian": a Gaussian process with Gaussian noise, by its evidence; it starts at the tube machine's length scales.
  Expectation propagation is exact for it and needs one sweep.
- "gaussian_warped": the same on warped inputs, where a column is heavy-tailed; it starts where the former ended.

- "tube_varying", "gaussian_varying": both with a noise whose scale varies with x (`VaryingNoise`). They take the place
  of all others if that is asked for, or if their mixture has the clearly better leave-one-out density.

Weights by leave-one-out densities of y; a merged row is left out as a whole.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from softmargin._linalg import Array
from softmargin.criteria import Problem, leave_one_out
from softmargin.inference import Inference, SampledPosterior
from softmargin.likelihoods import Gaussian
from softmargin.machines.beside import beside, runs_beside
from softmargin.machines.regression.conjugate import gaussian_inference
from softmargin.machines.regression.noise_members import VaryingNoise
from softmargin.machines.regression.predictive import Predictive
from softmargin.machines.regression.record import RegressionFit, RegressionSettings
from softmargin.machines.regression.stack import DensityMember
from softmargin.machines.regression.target_warp import TargetWarp
from softmargin.machines.regression.warped_target import WarpedPredictive
from softmargin.machines.warp import Warp
from softmargin.machines.weights import stacking_weights
from softmargin.policy import POLICY
from softmargin.rows import TrainingRows, spread_of
from softmargin.search import LBFGS, Report

STACK = POLICY.stack
FitRows = Callable[[TrainingRows, RegressionSettings, Report | None], RegressionFit]


@dataclass(frozen=True)
class Machine:
    """A tube machine that predicts in a stack."""

    fitted: RegressionFit
    left_out: Array = field(repr=False)
    """Its leave-one-out log density of each row of the stack, in the units of y."""


def stack_on(
    tube: RegressionFit,
    rows: TrainingRows,
    settings: RegressionSettings,
    fit_rows: FitRows,
    report: Report | None,
    predicts: Machine | None = None,
) -> RegressionFit:
    """Fit the other members to the rows that the tube machine has seen, and learn all weights.

    Parameters
    ----------
    tube : RegressionFit
    rows : TrainingRows
        With their targets in the units of y.
    settings : RegressionSettings
        Those of the tube machine.
    fit_rows : callable
        Fits a machine to rows.
    report : callable, optional
    predicts : Machine, optional
        The tube machine of more rows that takes the place of `tube` among the members.
    """
    machine = predicts
    if tube.model.posterior.cavities() is None or not np.ptp(rows.y) > 0:
        return tube if machine is None else machine.fitted
    machine = Machine(tube, left_out(tube)) if machine is None else machine
    fit = _Members(tube, rows, settings, fit_rows, _without_fit(report))
    made = fit.constant()
    constant = _mixed(machine, made, rows, tube_predicts=True)
    if settings.noise == "constant":
        return constant
    assert constant.loo_log_density is not None
    varying = fit.varying(float(rows.weight.sum() * constant.loo_log_density))
    if not varying:
        return constant
    varied = _mixed(machine, varying, rows, tube_predicts=False)
    assert varied.loo_log_density is not None
    gain = rows.weight.sum() * (varied.loo_log_density - constant.loo_log_density)
    return varied if settings.noise == "varying" or gain >= POLICY.noise.gain else constant


def vary_noise(
    tube: RegressionFit, rows: TrainingRows, settings: RegressionSettings, fit_rows: FitRows, report: Report | None
) -> RegressionFit:
    """Let the tube machine's noise vary, without a stack; see `stack_on`."""
    if tube.model.posterior.cavities() is None or isinstance(tube.model.posterior, SampledPosterior):
        raise ValueError(
            f"noise='varying' is learnt from leave-one-out residuals, which inference {tube.model.posterior.method!r} "
            "does not give; use inference='ep' or 'variational', or noise='constant'"
        )
    members = _Members(tube, rows, settings, fit_rows, _without_fit(report)).varying()
    return _mixed(Machine(tube, left_out(tube)), members, rows, tube_predicts=False)


def _mixed(
    tube: Machine, made: list[tuple[DensityMember, Array]], rows: TrainingRows, *, tube_predicts: bool
) -> RegressionFit:
    """The fit in which these members predict, with weights by their leave-one-out log densities."""
    columns = [log_p for _, log_p in made]
    table = np.stack([tube.left_out, *columns] if tube_predicts else columns, axis=1)
    weights = stacking_weights(table, rows.weight, STACK.target_pseudo_count)
    mixed = np.log(np.exp(table - table.max(axis=1, keepdims=True)) @ weights) + table.max(axis=1)
    mean = float(rows.weight @ mixed / rows.weight.sum())
    others = tuple(member for member, _ in made)
    return replace(tube.fitted, others=others, weights=weights, loo_log_density=mean, tube_predicts=tube_predicts)


def left_out(fitted: RegressionFit) -> Array:
    """Leave-one-out log density of each merged row in the units of the target, shape (n,)."""
    model = fitted.model
    log_z = leave_one_out(model.posterior, Problem(np.empty((0, 0)), model.rows.y, model.likelihood)).log_z
    density: Array = log_z - np.log(fitted.units.scale)
    return density


@dataclass(frozen=True)
class _Members:
    """The fits of the members; each returns the member and its leave-one-out log densities."""

    tube: RegressionFit
    rows: TrainingRows
    settings: RegressionSettings
    fit_rows: FitRows
    report: Report | None

    def constant(self) -> list[tuple[DensityMember, Array]]:
        """The members whose noise is constant.

        They start from the tube machine, not from each other: with `n_jobs` the one of the warped target has a process
        of its own.
        """
        n_jobs = self.settings.tuning.n_jobs
        silent = replace(self, report=None) if runs_beside(n_jobs) else self
        with beside(silent.warped_targets, n_jobs if self._target_warp() else 1) as warped:
            gaussians = list(self.gaussians())
            return [*warped(), *gaussians]

    def _target_warp(self) -> TargetWarp | None:
        return TargetWarp.of(self.rows.y, self.rows.weight)

    def warped_targets(self) -> list[tuple[DensityMember, Array]]:
        """The tube machine of the warped target, where a warp is needed."""
        warp = self._target_warp()
        if warp is None:
            return []
        settings = replace(self._briefly(self.settings), start=self.tube.model.z)
        fitted = self.fit_rows(replace(self.rows, y=warp(self.rows.y)), settings, self.report)
        predictive = WarpedPredictive(Predictive.of(fitted.model, fitted.units), warp)
        return [(DensityMember("tube_warped_target", predictive), left_out(fitted) + warp.log_slope(self.rows.y))]

    def gaussians(self) -> Iterator[tuple[DensityMember, Array]]:
        """The Gaussian process, and where columns are heavy-tailed that on warped inputs."""
        settings = self._gaussian_settings()
        # The kernels have the same parameters; the noise's are (sigma, shape) of the tube and sigma here.
        fitted = self.fit_rows(self.rows, replace(settings, start=self.tube.model.z[:-1]), self.report)
        yield DensityMember("gaussian", Predictive.of(fitted.model, fitted.units)), left_out(fitted)
        warp = Warp.of(self.rows.X, self.rows.weight)
        if warp is not None:
            rows = replace(self.rows, X=warp(self.rows.X))
            start = _moved(fitted, spread_of(rows.X, rows.weight, self.settings.layout))
            fitted = self.fit_rows(rows, replace(settings, start=start), self.report)
            yield DensityMember("gaussian_warped", Predictive.of(fitted.model, fitted.units), warp), left_out(fitted)

    def varying(self, constant: float = -np.inf) -> list[tuple[DensityMember, Array]]:
        """The members whose noise varies with x; none if "auto" is not promised enough.

        `constant` is the leave-one-out log density of all rows that the members with constant noise have together.
        """
        noise, auto = VaryingNoise(self.tube, self.rows, self.fit_rows, self.report), self.settings.noise == "auto"
        scale, promised = noise.promise()
        if auto and promised < POLICY.noise.promise:
            return []
        gaussian = self._gaussian_settings() if self.settings.stacked else None
        return noise.members(scale, self._briefly(self.settings), gaussian, constant if auto else -np.inf)

    def _gaussian_settings(self) -> RegressionSettings:
        settings = replace(self.settings, kernel="matern52", loss=Gaussian.name)
        return self._briefly(settings, gaussian_inference(len(self.rows.y)))

    def _briefly(self, settings: RegressionSettings, inference: Inference | None = None) -> RegressionSettings:
        """Settings of a search that starts near its end."""
        tuning = settings.tuning
        short = tuning.search
        if isinstance(short, LBFGS):
            max_iter, tol = min(short.max_iter, STACK.later_iterations), max(short.tol, STACK.later_tol)
            short = replace(short, max_iter=max_iter, tol=tol)
        if inference is not None:
            tuning = replace(tuning, inference=inference, rougher=None)
        return replace(settings, tuning=replace(tuning, search=short, n_restarts=0, brief=True))


def _moved(fitted: RegressionFit, spread: Array) -> Array:
    """The learnt coordinates with length scales that are the same in units of another spread of the inputs."""
    z = fitted.model.z.copy()
    for i, role in enumerate(fitted.coordinates.roles):
        if role.kind == "length_scale":
            a = role.input or 0
            z[i] += np.log(spread[a] / fitted.spread[a]) if fitted.spread[a] > 0 else 0.0
    return z


def _without_fit(report: Report | None) -> Report | None:
    """Report evaluations of other machines than the tube machine: they end no fit."""
    return None if report is None else report.without_result()
