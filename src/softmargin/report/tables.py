"""The report's tables: confusions, figures of each class, thresholds, what shuffling a column costs, filled gaps."""

from dataclasses import dataclass

import numpy as np

from softmargin.experiment import ColumnImportance, Experiment, class_figures, confusion, kernels_of, thresholds
from softmargin.kernels import column_scales
from softmargin.report.terminal import plain
from softmargin.rows import spread_of
from softmargin.tables import short

MOST_CLASSES = 12
"""Classes up to which the whole confusion matrix is shown; above, the most frequent confusions."""
MOST_COLUMNS = 15


@dataclass(frozen=True)
class Sheet:
    """A table with a title and words."""

    title: str
    words: str
    head: list[str]
    rows: list[list[str]]
    """The first cell of a row names it."""


def sheets(experiment: Experiment, importances: list[ColumnImportance]) -> list[Sheet]:
    """Every table that applies."""
    found = [_importances(experiment, importances)]
    if experiment.predictions and not experiment.regression:
        found += [_confusion(experiment), _classes(experiment), _thresholds(experiment)]
    found.append(_gaps(experiment))
    return [sheet for sheet in found if sheet is not None]


def _importances(experiment: Experiment, importances: list[ColumnImportance]) -> Sheet | None:
    if len(importances) < 2:
        return None
    held = importances[0].rise is not None
    head = ["column", "importance", *(["loss without it (nats a row)"] if held else [])]
    rows = []
    for entry in importances[:MOST_COLUMNS]:
        rise = [] if not held else ["" if entry.rise is None else f"{entry.rise:+.3f} ± {entry.error:.3f}"]
        rows.append([short(entry.name), f"{entry.importance:.1%}", *rise])
    left = len(importances) - len(rows)
    words = "Importance: share of the prediction's change along all columns, in units of each column's spread."
    if held:
        words += " Loss without it: how much worse held-out rows are predicted when the column is shuffled among them."
    return Sheet("Columns in numbers", words + (f" {left} more columns matter less." if left else ""), head, rows)


def _confusion(experiment: Experiment) -> Sheet:
    table, names = confusion(experiment), [short(c) for c in experiment.model.classes_]
    if len(names) <= MOST_CLASSES:
        rows = [[name, *map(str, counts)] for name, counts in zip(names, table.tolist())]
        words = "Held-out rows by their true class (down) and by what was said (across)."
        return Sheet("What is taken for what", words, ["true \\ said", *names], rows)
    off = table - np.diag(np.diag(table))
    order = [divmod(int(i), len(names)) for i in np.argsort(-off, axis=None, kind="stable")[:MOST_COLUMNS]]
    rows = [[names[i], names[j], str(off[i, j])] for i, j in order if off[i, j]]
    return Sheet("What is taken for what", "The most frequent confusions.", ["true", "said", "rows"], rows)


def _classes(experiment: Experiment) -> Sheet:
    rows = [
        [short(c.name), str(c.rows), _percent(c.recall), _percent(c.precision), plain(c.log_loss)]
        for c in class_figures(experiment)
    ]
    words = "Found: share of the class's held-out rows that are predicted so. Right: share of the rows predicted so."
    return Sheet("Class by class", words, ["class", "rows", "found", "right", "log loss"], rows)


def _thresholds(experiment: Experiment) -> Sheet | None:
    found = thresholds(experiment)
    if not found:
        return None
    name = short(experiment.model.classes_[1])
    rows = [
        [f"{entry.cost:g}", f"{entry.probability:.1%}", str(entry.misses), str(entry.false_alarms)] for entry in found
    ]
    words = (
        f"If missing a row of {name} costs so many false alarms, say {name} from this probability on. Misses and false "
        "alarms are those of the held-out rows."
    )
    return Sheet("Decisions at a price", words, ["cost of a miss", "threshold", "misses", "false alarms"], rows)


def _gaps(experiment: Experiment) -> Sheet | None:
    X = experiment.table.X
    counts = X.isna().sum()
    rows = []
    for name in X.columns[counts.to_numpy() > 0]:
        number = name in experiment.table.numeric
        train = X[name].iloc[experiment.train]
        filled = (
            f"the median, {plain(float(train.median()))}" if number and train.notna().any() else "a category of its own"
        )
        n = int(counts[name])
        rows.append([short(name), f"{n} of {len(X)} ({n / len(X):.0%})", filled])
    if not rows:
        return None
    words = "How gaps were filled. A gap in numbers is an input of its own beside the filled value."
    return Sheet("Gaps", words, ["column", "gaps", "filled with"], rows[:MOST_COLUMNS])


def _percent(share: float) -> str:
    return "none" if np.isnan(share) else f"{share:.1%}"


def length_scales(experiment: Experiment) -> str | None:
    """The length scales of the first kernel by name, the shortest in units of the spread first."""
    model = experiment.model
    kernel = kernels_of(model)[0]
    layout, names = model.encoder_.layout, model.encoder_.input_names
    scales = column_scales(kernel, len(layout.groups))
    if np.ndim(scales) == 0:
        return None
    scales = scales[layout.leaders]
    spread = spread_of(experiment.inputs, None, layout)[layout.leaders]
    order = np.argsort(np.where(spread > 0, scales / np.where(spread > 0, spread, 1.0), np.inf))[:8]
    said = [f"{short(names[i])} {plain(scales[i])}" for i in order]
    left = len(names) - len(said)
    return "; ".join(said) + (f"; and {left} longer ones" if left else "")
