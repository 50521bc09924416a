"""Comparing models and criteria on one's own data, and combining what several searches found."""

from softmargin.comparison._criteria import CriteriaComparison, Trial, compare_criteria, criterion_estimator
from softmargin.comparison._display import CriteriaComparisonDisplay
from softmargin.comparison._ensemble import BaggedSelection
from softmargin.comparison._kwok import choose_C
from softmargin.comparison._models import ModelComparison, compare_models

__all__ = [
    "BaggedSelection",
    "CriteriaComparison",
    "CriteriaComparisonDisplay",
    "ModelComparison",
    "Trial",
    "choose_C",
    "compare_criteria",
    "compare_models",
    "criterion_estimator",
]
