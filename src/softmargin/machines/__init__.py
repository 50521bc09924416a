"""Machines: fitted functions from rows to class probabilities or densities of a target.

`fit_classification` and `fit_regression` go from valid rows and settings to frozen records; an estimator only turns its
parameters into settings and the record into attributes.
"""

from softmargin.machines.classification import (
    ClassificationFit,
    ClassificationSettings,
    Composition,
    fit_classification,
    update_classification,
)
from softmargin.machines.pairs import Combination, couple, fit_temperature, pairs_of, pairwise_table, rows_of, temper
from softmargin.machines.pairwise import LeftOut, PairwiseFit, PairwiseMachine
from softmargin.machines.regression import fit_regression, update_regression
from softmargin.machines.regression_record import RegressionFit, RegressionSettings
from softmargin.machines.regression_stack import DensityMember, MixtureDistribution, RegressionStack
from softmargin.machines.stack import Member, Stack, stacking_weights
from softmargin.machines.support import ClassSupport
from softmargin.machines.target import TargetUnits, target_units
from softmargin.machines.target_warp import TargetWarp
from softmargin.machines.warp import Warp

__all__ = [
    "ClassSupport",
    "ClassificationFit",
    "ClassificationSettings",
    "Combination",
    "Composition",
    "DensityMember",
    "LeftOut",
    "Member",
    "MixtureDistribution",
    "PairwiseFit",
    "PairwiseMachine",
    "RegressionFit",
    "RegressionSettings",
    "RegressionStack",
    "Stack",
    "TargetUnits",
    "TargetWarp",
    "Warp",
    "couple",
    "fit_classification",
    "fit_regression",
    "fit_temperature",
    "pairs_of",
    "pairwise_table",
    "rows_of",
    "stacking_weights",
    "target_units",
    "temper",
    "update_classification",
    "update_regression",
]
