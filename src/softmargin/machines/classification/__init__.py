"""Classification: pairs of classes and their combination, the stack of machines, and the fit of all of them."""

from softmargin.machines.classification.fit import fit_classification
from softmargin.machines.classification.pairs import (
    Combination,
    couple,
    fit_temperature,
    pairs_of,
    pairwise_table,
    rows_of,
    temper,
)
from softmargin.machines.classification.pairwise import LeftOut, PairwiseFit, PairwiseMachine
from softmargin.machines.classification.record import ClassificationFit, ClassificationSettings, Composition
from softmargin.machines.classification.stack import Member, Stack
from softmargin.machines.classification.stream import begin_classification, update_classification

__all__ = [
    "ClassificationFit",
    "ClassificationSettings",
    "Combination",
    "Composition",
    "LeftOut",
    "Member",
    "PairwiseFit",
    "PairwiseMachine",
    "Stack",
    "begin_classification",
    "couple",
    "fit_classification",
    "fit_temperature",
    "pairs_of",
    "pairwise_table",
    "rows_of",
    "temper",
    "update_classification",
]
