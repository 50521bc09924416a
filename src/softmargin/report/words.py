"""What was learnt, in sentences for someone who has never heard of a Gaussian process."""

from typing import Any

import numpy as np

from softmargin.experiment import OURS, THEIRS, ColumnImportance, Experiment, is_joint, support_count
from softmargin.report.terminal import baseline_name, numbers, plain
from softmargin.tables import short

ALIKE = 0.7
"""Importances above this share of the largest are "about equal"."""
FAINT = 0.1


def sentences(experiment: Experiment, importances: list[ColumnImportance]) -> list[str]:
    """A handful of plain sentences."""
    said = [
        _verdict(experiment), _importance(importances), _noise(experiment), _support(experiment), _search(experiment),
    ]  # fmt: skip
    return [text for text in said if text]


def _verdict(experiment: Experiment) -> str:
    if not experiment.scores:
        return "No rows were held out, so nothing is known about how well the model predicts new ones."
    ours, theirs = experiment.scores[OURS], experiment.scores.get(THEIRS)
    n = len(experiment.test)
    if experiment.regression:
        text = (
            f"On {n} held-out rows the typical error is {plain(ours['rmse'])}, and {ours['coverage_95']:.0%} of the "
            "true values lie inside their 95 % intervals."
        )
        measure, gap = "negative_log_density", 0.02
    else:
        wrong = round(ours["error"] * n)
        text = f"The model is wrong on {wrong} of {n} held-out rows ({ours['error']:.1%})."
        measure, gap = "log_loss", 0.01
    if theirs is None:
        return text
    what = "Its predictive densities" if experiment.regression else "Its probabilities"
    difference = ours[measure] - theirs[measure]
    rival = f"a tuned {baseline_name(experiment.regression)}"
    if abs(difference) < gap:
        return f"{text} {what} are about as good as those of {rival}."
    better = "better" if difference < 0 else "worse"
    return f"{text} {what} are {better} than those of {rival} (by {abs(difference):.3f} nats a row)."


def _importance(importances: list[ColumnImportance]) -> str:
    if len(importances) < 2:
        return ""
    names = [f"“{short(entry.name)}”" for entry in importances]
    shares = [entry.importance for entry in importances]
    if shares[-1] > ALIKE * shares[0]:
        return f"All columns matter about equally; {names[0]} a little more than the others."
    strong = [name for name, share in zip(names, shares) if share > ALIKE * shares[0]][:4]
    faint = [name for name, share in zip(names, shares) if share < FAINT * shares[0]]
    text = f"{_join(strong)} {'matters' if len(strong) == 1 else 'matter'} most."
    if faint:
        shown = _join(faint[:4]) if len(faint) <= 4 else f"{len(faint)} columns"
        text += f" Along {shown} the prediction hardly changes."
    return text


def _noise(experiment: Experiment) -> str:
    if is_joint(experiment.model):
        return _joint(experiment.model)
    C = np.asarray(experiment.model.C_)
    if experiment.regression:
        return (
            f"The noise was learnt from the data (C = {numbers(C.tolist())}, "
            f"epsilon = {plain(experiment.model.epsilon_)}): it sets how wide the intervals are."
        )
    return f"C = {numbers(C.tolist())} was learnt from the data.{_overlap(experiment.model)}"


def _joint(model: Any) -> str:
    members = {
        "least_squares": "on the columns as they are",
        "least_squares_warped": "on columns with shorter tails",
        "least_squares_additive": "on columns that act mostly one by one",
    }
    shares = [f"{weight:.0%} {members[member.name]}" for member, weight in zip(model.members_, model.weights_)]
    mixed = f": two machines, {_join(shares)}" if len(shares) > 1 else ""
    return f"The {len(model.classes_)} classes are told apart by least squares, all at once{mixed}."


def _overlap(model: Any) -> str:
    """What the choice between the default policy's two models says of the classes."""
    if model.criterion != "auto" or model.inference_ not in ("ep", "variational"):
        return ""
    if not isinstance(model.likelihood_, list):
        overlap = model.likelihood_.is_normalised
        return " The classes overlap." if overlap else " The classes are well apart."
    count = sum(likelihood.is_normalised for likelihood in model.likelihood_)
    return f" In {count} of {len(model.likelihood_)} binary problems the classes overlap."


def _support(experiment: Experiment) -> str:
    n, count = len(experiment.train), support_count(experiment.model)
    if is_joint(experiment.model):
        return ""
    if count is None:
        return f"{n} rows are many, so the posterior rests on inducing points chosen among them."
    return f"{count} of {n} training rows ({count / n:.0%}) are support vectors; the others could be left out."


def _search(experiment: Experiment) -> str:
    evaluations = int(np.sum(experiment.model.n_iter_))
    return (
        f"All of this took one search of {evaluations} evaluations ({experiment.seconds:.1f} s); "
        "no cross-validation was needed."
    )


def _join(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
