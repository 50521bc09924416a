"""What `softmargin fit` does, as functions: split a table, fit, tune a baseline, measure both on held-out rows."""

from softmargin.experiment.classes import ClassFigures, Threshold, class_figures, confusion, thresholds
from softmargin.experiment.curves import Curve, Ranking, rank_events, rankings
from softmargin.experiment.explain import ColumnImportance, Effect, column_importances, effects
from softmargin.experiment.measures import (
    Forecast,
    event_of,
    normal_forecast,
    reliability,
    score_classes,
    score_numbers,
)
from softmargin.experiment.run import (
    OURS,
    THEIRS,
    Experiment,
    fit_experiment,
    is_joint,
    kernels_of,
    learnt_settings,
    measure,
    split_rows,
    support_count,
)

__all__ = [
    "OURS",
    "THEIRS",
    "ClassFigures",
    "ColumnImportance",
    "Curve",
    "Effect",
    "Experiment",
    "Forecast",
    "Ranking",
    "Threshold",
    "class_figures",
    "column_importances",
    "confusion",
    "effects",
    "event_of",
    "fit_experiment",
    "is_joint",
    "kernels_of",
    "learnt_settings",
    "measure",
    "normal_forecast",
    "rank_events",
    "rankings",
    "reliability",
    "score_classes",
    "score_numbers",
    "split_rows",
    "support_count",
    "thresholds",
]
