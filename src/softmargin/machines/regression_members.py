"""The other members of a stack of regressions, beside the tube machine.

- "tube_warped_target": the tube machine of a warped target, for skewed targets; it starts where the first ended.
- "gaussian": a Gaussian process with Gaussian noise, by its evidence. Expectation propagation is exact for it and needs
  one sweep.
- "gaussian_warped": the same on warped inputs, where a column is skewed.

Weights by leave-one-out densities of y; a merged row is left out as a whole.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from softmargin._linalg import Array
from softmargin.criteria import Problem, leave_one_out
from softmargin.inference import EP, Posterior
from softmargin.likelihoods import Gaussian, Likelihood
from softmargin.machines.predictive import Predictive
from softmargin.machines.regression_record import RegressionFit, RegressionSettings, Report
from softmargin.machines.regression_stack import DensityMember
from softmargin.machines.stack import stacking_weights
from softmargin.machines.target_warp import TargetWarp
from softmargin.machines.warp import Warp
from softmargin.machines.warped_target import WarpedPredictive
from softmargin.policy import POLICY
from softmargin.rows import TrainingRows

STACK = POLICY.stack
FitRows = Callable[[TrainingRows, RegressionSettings, Report | None], RegressionFit]


@dataclass(frozen=True, repr=False)
class ConjugateEP(EP):
    """Expectation propagation from the sites of a Gaussian likelihood, which are its own: no other start is better."""

    def infer(
        self,
        K: Array,
        y: Array,
        likelihood: Likelihood,
        weight: Array | None = None,
        start: Posterior | None = None,
    ) -> Posterior:
        """Infer the posterior over the latent values; see `Inference.infer`."""
        return super().infer(K, y, likelihood, weight)


def stack_on(
    tube: RegressionFit, rows: TrainingRows, settings: RegressionSettings, fit_rows: FitRows, report: Report | None
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
    """
    if tube.model.posterior.cavities() is None or not np.ptp(rows.y) > 0:
        return tube
    fit = _Members(tube, rows, settings, fit_rows, _without_fit(report))
    made = [member for member in (fit.warped_target(), fit.gaussian(), fit.gaussian(warped=True)) if member is not None]
    table = np.stack([left_out(tube), *(log_p for _, log_p in made)], axis=1)
    weights = stacking_weights(table, rows.weight)
    mixed = np.log(np.exp(table - table.max(axis=1, keepdims=True)) @ weights) + table.max(axis=1)
    mean = float(rows.weight @ mixed / rows.weight.sum())
    return replace(tube, others=tuple(member for member, _ in made), weights=weights, loo_log_density=mean)


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

    def warped_target(self) -> tuple[DensityMember, Array] | None:
        """The tube machine of the warped target; None where no warp is needed."""
        warp = TargetWarp.of(self.rows.y, self.rows.weight)
        if warp is None:
            return None
        settings = replace(self._later(), start=self.tube.model.z)
        fitted = self.fit_rows(replace(self.rows, y=warp(self.rows.y)), settings, self.report)
        predictive = WarpedPredictive(Predictive.of(fitted.model, fitted.units), warp)
        return DensityMember("tube_warped_target", predictive), left_out(fitted) + warp.log_slope(self.rows.y)

    def gaussian(self, *, warped: bool = False) -> tuple[DensityMember, Array] | None:
        """The Gaussian process, on warped inputs if asked for; None where these are the same."""
        warp = Warp.of(self.rows.X, self.rows.weight) if warped else None
        if warped and warp is None:
            return None
        tuning = replace(self.settings.tuning, inference=ConjugateEP(), n_restarts=0, callback=None)
        settings = replace(self.settings, kernel="matern52", loss=Gaussian.name, tuning=tuning, start=None)
        rows = self.rows if warp is None else replace(self.rows, X=warp(self.rows.X))
        fitted = self.fit_rows(rows, settings, self.report)
        name = "gaussian" if warp is None else "gaussian_warped"
        return DensityMember(name, Predictive.of(fitted.model, fitted.units), warp), left_out(fitted)

    def _later(self) -> RegressionSettings:
        """Settings of a search that starts near its end."""
        tuning = self.settings.tuning
        search: Any = tuning.search
        short = replace(
            search, max_iter=min(search.max_iter, STACK.later_iterations), tol=max(search.tol, STACK.later_tol)
        )
        return replace(self.settings, tuning=replace(tuning, search=short, n_restarts=0, callback=None))


def _without_fit(report: Report | None) -> Report | None:
    """Report evaluations of other machines than the tube machine: they end no fit."""
    return None if report is None else lambda evaluation, _: report(evaluation, None)
