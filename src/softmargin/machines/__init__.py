"""Machines: fitted functions from rows to class probabilities or densities of a target.

`fit_classification` and `fit_regression` go from valid rows and settings to frozen records; an estimator only turns its
parameters into settings and the record into attributes.
"""

from softmargin.machines.classification import (
    ClassificationFit,
    ClassificationSettings,
    Combination,
    Composition,
    LeftOut,
    Member,
    PairwiseFit,
    PairwiseMachine,
    Stack,
    begin_classification,
    couple,
    fit_classification,
    fit_temperature,
    pairs_of,
    pairwise_table,
    rows_of,
    temper,
    update_classification,
)
from softmargin.machines.importance import relevance
from softmargin.machines.regression import (
    DensityMember,
    MixtureDistribution,
    RegressionFit,
    RegressionSettings,
    RegressionStack,
    TargetUnits,
    TargetWarp,
    begin_regression,
    fit_regression,
    target_units,
    update_regression,
)
from softmargin.machines.support import ClassSupport
from softmargin.machines.warp import Warp
from softmargin.machines.weights import stacking_weights

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
    "begin_classification",
    "begin_regression",
    "couple",
    "fit_classification",
    "fit_regression",
    "fit_temperature",
    "pairs_of",
    "pairwise_table",
    "relevance",
    "rows_of",
    "stacking_weights",
    "target_units",
    "temper",
    "update_classification",
    "update_regression",
]
