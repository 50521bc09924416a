"""The HTML report: one file with everything inside, no script, readable on screen, phone and paper."""

import os
import tempfile
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined

from softmargin._version import __version__
from softmargin.experiment import OURS, THEIRS, Experiment, column_importances, is_joint
from softmargin.report import words
from softmargin.report.plots import pictures
from softmargin.report.tables import length_scales, sheets
from softmargin.report.terminal import MEASURES, baseline_name, count, numbers, plain, short_kernel, written
from softmargin.tables import importance_by_column, short

HARDEST = 10
COLUMNS = 6
"""Columns shown of the hardest rows: the most relevant ones."""
NOT_RANKED = {"coverage_95", "interval_width"}


def write_report(experiment: Experiment, path: Path) -> Path:
    """Write the report; the file appears whole or not at all."""
    page = render(experiment)
    handle, name = tempfile.mkstemp(dir=path.absolute().parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(page)
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    return path


def render(experiment: Experiment) -> str:
    """The page as a string. Every text that comes from the data is escaped."""
    environment = Environment(
        loader=PackageLoader("softmargin.report", "templates"), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    facts, importances = experiment.summary(), column_importances(experiment)
    return environment.get_template("page.html").render(
        title=f"{short(facts['target'])}, predicted from {count(experiment.table.X.shape[1], 'column')}",
        facts=facts,
        data=short(Path(facts["data"]).name),
        sentences=words.sentences(experiment, importances),
        scores=_scores(experiment),
        baseline=baseline_name(experiment.regression),
        pictures=pictures(experiment, importances),
        sheets=sheets(experiment, importances),
        hardest=_hardest(experiment),
        settings=_settings(experiment, facts),
        notes=facts["notes"],
        version=__version__,
    )


def _scores(experiment: Experiment) -> list[dict[str, Any]]:
    """One card for each measure: ours, theirs, and which is better."""
    cards = []
    theirs = experiment.scores.get(THEIRS, {})
    for name, value in experiment.scores.get(OURS, {}).items():
        rival = theirs.get(name)
        better = rival is not None and name not in NOT_RANKED and value < rival
        said = None if rival is None else written(name, rival)
        cards.append({"label": MEASURES[name][0], "ours": written(name, value), "theirs": said, "better": better})
    return cards


def _settings(experiment: Experiment, facts: dict[str, Any]) -> list[tuple[str, str]]:
    learnt = facts["learnt"]
    found = learnt["kernel"] if isinstance(learnt["kernel"], list) else [learnt["kernel"]]
    kernels = [short_kernel(kernel) for kernel in found]
    rows = [("C", numbers(learnt["C"]))] if "C" in learnt else []
    if "epsilon" in learnt:
        rows.append(("epsilon", numbers(learnt["epsilon"])))
    rows += [("kernel" if len(kernels) == 1 else f"kernel {k + 1}", text) for k, text in enumerate(kernels[:6])]
    if len(kernels) > 6:
        rows.append(("", f"and {len(kernels) - 6} more"))
    scales = length_scales(experiment)
    if scales is not None:
        rows.append(("length scales" if len(kernels) == 1 else "length scales 1", scales))
    if "noise_std" in learnt:
        rows.append(("noise", f"{plain(learnt['noise_std'])} (standard deviation of the targets 0 and 1)"))
    if "log_evidence" in learnt:
        rows.append(("log evidence", f"{learnt['log_evidence']:.2f} nats"))
    if not np.isnan(objective := _objective(experiment)):
        if is_joint(experiment.model):
            criterion = "leave-one-out log-likelihood"
        else:
            other = "leave-one-out or link evidence, not the naive evidence above"
            criterion = "evidence" if experiment.regression else other
        rows.append(("search objective", f"{objective:.2f} ({criterion}, plus the log density of the hyperprior)"))
    if "loo_log_loss" in learnt:
        rows.append(("leave-one-out log loss", f"{learnt['loo_log_loss']:.3f} nats a row (optimised, so optimistic)"))
    if learnt.get("support_vectors") is not None:
        rows.append(("support vectors", f"{learnt['support_vectors']} of {facts['rows']['train']}"))
    return rows


def _objective(experiment: Experiment) -> float:
    """Best objective of the last search; nan without one."""
    path = experiment.model.search_path_
    return max((float(row["objective"]) for row in path if "objective" in row), default=float("nan"))


def _hardest(experiment: Experiment) -> dict[str, Any] | None:
    """The held-out rows that surprised the model most, among those that it got wrong; None if there are none."""
    if not experiment.predictions:
        return None
    ours, table = experiment.predictions[OURS], experiment.table
    ranked = importance_by_column(experiment.model) or dict.fromkeys(table.X.columns)
    columns = list(ranked)[:COLUMNS]
    if experiment.regression:
        surprise = -ours.log_density
        hard = (experiment.truth < ours.lower) | (experiment.truth > ours.upper)
        said = [f"{plain(m, 4)} ({plain(a, 4)} to {plain(b, 4)})" for m, a, b in zip(ours.mean, ours.lower, ours.upper)]
    else:
        surprise = -np.log(np.clip(ours[np.arange(len(ours)), experiment.truth], 1e-300, None))
        best = ours.argmax(axis=1)
        hard = best != experiment.truth
        said = [f"{short(experiment.model.classes_[k])} ({p[k]:.0%})" for k, p in zip(best, ours)]
    rows = []
    for i in [i for i in np.argsort(-surprise, kind="stable") if hard[i]][:HARDEST]:
        row = experiment.test[i]
        cells = [_cell(table.X[c].iloc[row]) for c in columns]
        number, true = int(table.X.index[row]) + 1, _cell(table.y.iloc[row])
        rows.append({"row": number, "said": said[i], "true": true, "cells": cells})
    return {"columns": [short(c) for c in columns], "rows": rows} if rows else None


def _cell(value: Any) -> str:
    if value is None or value != value:
        return "missing"
    if not isinstance(value, (float, np.floating)):
        # A day without a time has midnight.
        return short(str(value).removesuffix(" 00:00:00") if isinstance(value, datetime) else value)
    # Numbers with gaps are floats, whole or not.
    number = float(value)
    return f"{number:.0f}" if number.is_integer() and abs(number) < 1e9 else plain(number)
