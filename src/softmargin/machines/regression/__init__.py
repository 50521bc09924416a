"""Regression: the target in its own units, the machines, their mixture, and the fit of all of them."""

from softmargin.machines.regression.fit import fit_regression
from softmargin.machines.regression.mixture import MixtureDistribution
from softmargin.machines.regression.record import RegressionFit, RegressionSettings
from softmargin.machines.regression.stack import DensityMember, RegressionStack
from softmargin.machines.regression.stream import begin_regression, update_regression
from softmargin.machines.regression.target import TargetUnits, target_units
from softmargin.machines.regression.target_warp import TargetWarp

__all__ = [
    "DensityMember",
    "MixtureDistribution",
    "RegressionFit",
    "RegressionSettings",
    "RegressionStack",
    "TargetUnits",
    "TargetWarp",
    "begin_regression",
    "fit_regression",
    "target_units",
    "update_regression",
]
