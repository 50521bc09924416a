"""ROC and precision-recall curves of held-out rows, with bands from resampled rows."""

from dataclasses import dataclass, field

import numpy as np

from softmargin._linalg import Array
from softmargin.experiment.run import Experiment

GRID = 101
DRAWS, LEVEL = 400, 0.95
"""Resamples of the held-out rows, and the share of them that a band holds."""
CLASSES = 6
"""Classes that have a curve of their own: the most frequent ones."""


@dataclass(frozen=True)
class Curve:
    """One curve over `GRID` values between 0 and 1, with its band."""

    x: Array = field(repr=False)
    y: Array = field(repr=False)
    lower: Array = field(repr=False)
    upper: Array = field(repr=False)
    area: float
    area_lower: float
    area_upper: float


@dataclass(frozen=True)
class Ranking:
    """How well a score predicts an event."""

    roc: Curve
    """Share of the events that are found against the share of the others that are (false alarms)."""
    precision: Curve
    """Share of what is found that is right against the share of the events that are found."""
    share: float
    """Share of the rows that have the event: the precision of an uninformative score."""


def rank_events(score: Array, event: np.ndarray, seed: int = 0) -> Ranking:
    """Draw both curves of a score for an event that some rows have and others do not.

    Rows are resampled within the events and within the others, so that every resample has both.

    Parameters
    ----------
    score : ndarray of shape (n,)
        Higher where the event is more probable.
    event : ndarray of bool, shape (n,)
    seed : int
    """
    order = np.argsort(-score, kind="stable")
    score, event = score[order], event[order]
    rng, n = np.random.default_rng(seed), len(score)
    # The number of times that each row is drawn; the first line is the rows themselves.
    counts = np.zeros((DRAWS + 1, n))
    for rows in (np.flatnonzero(event), np.flatnonzero(~event)):
        counts[0, rows] = 1
        counts[1:, rows] = rng.multinomial(len(rows), np.full(len(rows), 1 / len(rows)), size=DRAWS)
    # Rows of the same score are found together.
    ends = np.append(np.flatnonzero(np.diff(score)), n - 1)
    found = np.cumsum(counts * event, axis=1)[:, ends] / event.sum()
    alarms = np.cumsum(counts * ~event, axis=1)[:, ends] / (~event).sum()
    right = found * event.sum() / np.maximum(found * event.sum() + alarms * (~event).sum(), 1e-300)
    # The step before anything is found: areas of trapezia (ROC), and of steps (average precision).
    before = np.column_stack([np.zeros(DRAWS + 1), found[:, :-1]])
    steps = found - before
    auc = np.sum(np.diff(alarms, axis=1, prepend=0.0) * (found + before) / 2, axis=1)
    grid = np.linspace(0, 1, GRID)
    roc = np.stack([np.interp(grid, [0.0, *a], [0.0, *f]) for a, f in zip(alarms, found)])
    # The precision of the fewest rows that have so many of the events, and at least one.
    wanted = np.maximum(grid - 1e-12, 1e-12)
    first = [np.minimum(np.searchsorted(f, wanted), len(f) - 1) for f in found]
    precision = np.stack([r[at] for r, at in zip(right, first)])
    return Ranking(_curve(grid, roc, auc), _curve(grid, precision, np.sum(steps * right, axis=1)), float(event.mean()))


def _curve(grid: Array, lines: Array, areas: Array) -> Curve:
    """The first line with the band of the others."""
    ends = [(1 - LEVEL) / 2, (1 + LEVEL) / 2]
    lower, upper = np.quantile(lines[1:], ends, axis=0)
    low, high = np.quantile(areas[1:], ends)
    return Curve(grid, lines[0], lower, upper, float(areas[0]), float(low), float(high))


def rankings(experiment: Experiment) -> dict[str, Ranking]:
    """A ranking for each model where there are two classes, else for each of the most frequent classes by ours.

    Classes without held-out rows have none.
    """
    truth, classes = experiment.truth, experiment.model.classes_
    if not experiment.predictions:
        return {}
    if len(classes) == 2:
        known = 0 < np.sum(truth == 1) < len(truth)
        return {name: rank_events(p[:, 1], truth == 1) for name, p in experiment.predictions.items()} if known else {}
    (ours, *_) = experiment.predictions.values()
    counts = np.bincount(truth, minlength=len(classes))
    chosen = [k for k in np.argsort(-counts, kind="stable")[:CLASSES] if 0 < counts[k] < len(truth)]
    return {str(classes[k]): rank_events(ours[:, k], truth == k) for k in sorted(chosen)}
