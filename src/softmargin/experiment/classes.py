"""A classification on held-out rows, class by class: confusions, figures of each class, thresholds for given costs."""

from dataclasses import dataclass

import numpy as np

from softmargin._linalg import Array
from softmargin.experiment.run import OURS, Experiment

COSTS = (1.0, 2.0, 5.0, 10.0)
"""What a missed row of the second class costs, in units of a false alarm."""


@dataclass(frozen=True)
class ClassFigures:
    """One class of the held-out rows."""

    name: str
    rows: int
    recall: float
    """Share of its rows that are predicted so; nan without rows."""
    precision: float
    """Share of the rows predicted so that are; nan if none is."""
    log_loss: float
    """Of its rows, in nats."""


@dataclass(frozen=True)
class Threshold:
    """The best decision where a missed row costs `cost` false alarms."""

    cost: float
    probability: float
    """From which probability of the second class on to say so: 1/(1 + cost)."""
    misses: int
    false_alarms: int


def confusion(experiment: Experiment) -> np.ndarray:
    """Held-out rows by true (row) and predicted class, shape (n_classes, n_classes)."""
    p, truth = experiment.predictions[OURS], experiment.truth
    table = np.zeros((p.shape[1], p.shape[1]), dtype=int)
    np.add.at(table, (truth, p.argmax(axis=1)), 1)
    return table


def class_figures(experiment: Experiment) -> list[ClassFigures]:
    """The figures of every class."""
    table, p, truth = confusion(experiment), experiment.predictions[OURS], experiment.truth
    losses = -np.log(np.clip(p[np.arange(len(truth)), truth], 1e-15, None))
    found = []
    for k, name in enumerate(experiment.model.classes_):
        rows, said, right = int(table[k].sum()), int(table[:, k].sum()), int(table[k, k])
        found.append(
            ClassFigures(
                str(name),
                rows,
                _share(right, rows),
                _share(right, said),
                float(losses[truth == k].mean()) if rows else float("nan"),
            )
        )
    return found


def _share(part: int, whole: int) -> float:
    return part / whole if whole else float("nan")


def thresholds(experiment: Experiment) -> list[Threshold]:
    """What the held-out rows say of decisions at several costs; of two classes only."""
    p: Array = experiment.predictions[OURS]
    if p.shape[1] != 2:
        return []
    truth, found = experiment.truth == 1, []
    for cost in COSTS:
        # Say so where the expected cost of silence, cost p, exceeds that of a false alarm, 1 - p.
        limit = 1 / (1 + cost)
        said = p[:, 1] >= limit
        found.append(Threshold(cost, limit, int(np.sum(truth & ~said)), int(np.sum(~truth & said))))
    return found
