"""What `softmargin fit` does, as functions: split a table, fit, tune a baseline, measure both on held-out rows."""

from softmargin.experiment.classes import ClassFigures, Threshold, class_figures, confusion, thresholds
from softmargin.experiment.explain import ColumnImportance, Effect, column_importances, effects
from softmargin.experiment.measures import (
    Forecast,
    event_of,
    normal_forecast,
    reliability,
    score_classes,
    score_numbers,
)
from softmargin.experiment.run import OURS, THEIRS, Experiment, fit_experiment, measure, split_rows, support_count

__all__ = [
    "OURS",
    "THEIRS",
    "ClassFigures",
    "ColumnImportance",
    "Effect",
    "Experiment",
    "Forecast",
    "Threshold",
    "class_figures",
    "column_importances",
    "confusion",
    "effects",
    "event_of",
    "fit_experiment",
    "measure",
    "normal_forecast",
    "reliability",
    "score_classes",
    "score_numbers",
    "split_rows",
    "support_count",
    "thresholds",
]
