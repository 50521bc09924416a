"""What `softmargin fit` does, as functions: split a table, fit, tune a baseline, measure both on held-out rows."""

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
    "Experiment",
    "Forecast",
    "event_of",
    "fit_experiment",
    "measure",
    "normal_forecast",
    "reliability",
    "score_classes",
    "score_numbers",
    "split_rows",
    "support_count",
]
