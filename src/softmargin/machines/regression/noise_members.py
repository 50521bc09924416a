"""Members of a stack whose noise scale varies with x.

A machine of t = (y - center)/s(x) with the kernel k(x, x')/(s(x) s(x')) is one of y with the kernel k in which each row
has its own C/s(x) and epsilon s(x). Scale and machine are learnt in turn; a row's leave-one-out density has the scale
learnt without its residual. Before any machine is fitted again, the first scale must promise to gain at the function as
it is: that costs one small regression.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from softmargin._linalg import Array
from softmargin.machines.regression.noise_scale import NoiseScale, Residuals, learn_scale
from softmargin.machines.regression.predictive import Predictive
from softmargin.machines.regression.record import RegressionFit, RegressionSettings
from softmargin.machines.regression.stack import DensityMember
from softmargin.machines.regression.varying import VaryingPredictive, log_density_of_scaled_noise
from softmargin.policy import POLICY
from softmargin.rows import TrainingRows
from softmargin.search import Report

NOISE = POLICY.noise
FitRows = Callable[[TrainingRows, RegressionSettings, Report | None], RegressionFit]


@dataclass(frozen=True)
class ScaledFit:
    """A machine of (y - center)/s(x)."""

    fitted: RegressionFit
    s: Array
    """s at the rows of the fit, shape (n,)."""

    @property
    def cavities(self) -> tuple[Array, Array]:
        """Mean and variance of the machine's function at every row without it, shape (n,) each."""
        found = self.fitted.model.posterior.cavities()
        assert found is not None
        return found

    def residuals(self) -> Residuals:
        """Of every row without it."""
        (mean, variance), model = self.cavities, self.fitted.model
        unit = model.likelihood.noise_variance
        return Residuals((model.rows.y - mean) / np.sqrt(unit), variance / unit, np.log(self.s))

    def left_out(self, scale: NoiseScale) -> Array:
        """ln of the density of every row's y without it, if the noise has this scale; shape (n,)."""
        model, (log_s, sd) = self.fitted.model, scale.left_out()
        log_p = log_density_of_scaled_noise(model.likelihood, model.rows.y, *self.cavities, log_s - np.log(self.s), sd)
        return log_p - np.log(self.s * self.fitted.units.scale)


@dataclass(frozen=True)
class VaryingNoise:
    """The fits of the members whose noise varies."""

    tube: RegressionFit
    """The one whose noise is constant."""
    rows: TrainingRows
    """Those it has seen, with their targets in the units of y."""
    fit_rows: FitRows
    report: Report | None

    def promise(self) -> tuple[NoiseScale, float]:
        """The first scale, and the nats of leave-one-out that it gains at the function of the tube machine."""
        fit = ScaledFit(self.tube, np.ones(len(self.rows.y)))
        scale = learn_scale(self.rows, fit.residuals(), self.tube.model.likelihood)
        constant = self.tube.model.likelihood.tilted_moments(self.tube.model.rows.y, *fit.cavities).log_z
        log_p = fit.left_out(scale) + np.log(self.tube.units.scale)
        return scale, float(self.rows.weight @ (log_p - constant))

    def members(
        self,
        scale: NoiseScale,
        tube: RegressionSettings,
        gaussian: RegressionSettings | None,
        least: float = -np.inf,
    ) -> list[tuple[DensityMember, Array]]:
        """The members and their leave-one-out log densities; none if the first fit has less than `least` in all.

        Parameters
        ----------
        scale : NoiseScale
            The first.
        tube : RegressionSettings
            Of the tube machine, which is learnt in turn with the scale.
        gaussian : RegressionSettings or None
            Of the Gaussian process, which is fitted at the last scale, if there is to be one.
        least : float
            In nats, of the tube machine at the first scale.
        """
        last = self._fit(tube, scale, self.tube.model.z)
        if self.rows.weight @ last.left_out(scale) < least:
            return []
        for _ in range(NOISE.rounds - 1):
            scale = learn_scale(self.rows, last.residuals(), last.fitted.model.likelihood, scale.model.z)
            last = self._fit(tube, scale, last.fitted.model.z)
        made = [self._member("tube_varying", last, scale)]
        if gaussian is not None:
            # The kernels have the same parameters; the noise's are (sigma, shape) of the tube and sigma here.
            fitted = self._fit(gaussian, scale, last.fitted.model.z[:-1])
            made.append(self._member("gaussian_varying", fitted, scale))
        return made

    def _fit(self, settings: RegressionSettings, scale: NoiseScale, start: Array) -> ScaledFit:
        s = scale(self.rows.X)
        rows = replace(self.rows, y=(self.rows.y - self.tube.units.center) / s)
        settings = replace(settings, scale=scale, centered=False, start=start)
        return ScaledFit(self.fit_rows(rows, settings, self.report), s)

    def _member(self, name: str, last: ScaledFit, scale: NoiseScale) -> tuple[DensityMember, Array]:
        inner = Predictive.of(last.fitted.model, last.fitted.units)
        return DensityMember(name, VaryingPredictive(inner, scale, self.tube.units.center)), last.left_out(scale)
