"""The default policy: which models are made, which criterion learns what, and which model is kept.

For classification without a criterion of the user's two models are made and one is kept.

1. The *link model*: the normalised likelihood (`Link`), everything learnt by its evidence. Better where the classes
   overlap, since a normalised likelihood can attribute errors to label noise.
2. The *margin model*: the hinge itself, with the relative length scales of the first; EP leave-one-out log loss learns
   the common scale, the amplitude, the offset and C, which the evidence of an unnormalised likelihood gets wrong.
   Better where the classes are well separated.

Leave-one-out decides between them, with a handicap for the margin model, which was tuned on it. For regression the
likelihood is normalised and its evidence learns everything. There a second optimum attributes everything to noise, and
in small samples other optima fit noise. A search that does not end clearly above a constant with noise is in doubt: it
is repeated from shorter length scales and from a start where nearly everything is noise, and the latter end is kept
unless another is clearly better.
"""

from dataclasses import dataclass, replace

import numpy as np

from softmargin._linalg import Array
from softmargin.criteria import Criterion, Evidence, LeaveOneOut, LinkEvidence, Problem, leave_one_out
from softmargin.policy import POLICY, Logs
from softmargin.rows import TrainingRows
from softmargin.search import Evaluation
from softmargin.tuning.coordinates import Coordinates
from softmargin.tuning.hyperprior import HyperPrior


@dataclass(frozen=True)
class Stage:
    """One search: a criterion, the directions of the space it moves in (None: all), and the units of its steps."""

    criterion: Criterion
    directions: Array | None = None
    units: Array | None = None


def plan_stages(criterion: Criterion | None, coordinates: Coordinates, spread: Array) -> list[Stage]:
    """Return the search stages: one for a given criterion, those of the default policy without one."""
    if criterion is not None:
        return [Stage(criterion)]
    if not coordinates.is_classifier:
        return [Stage(Evidence())]
    scales = [
        i
        for i, role in enumerate(coordinates.roles)
        if role.kind == "length_scale" and role.input is not None and spread[role.input] > 0
    ]
    units = np.array([POLICY.search.units.get(kind, 1.0) for kind in coordinates.kinds])
    first = Stage(LinkEvidence(), units=units)
    if len(scales) < 2:
        return [first, Stage(LeaveOneOut(), units=units)]
    others = [i for i, name in enumerate(coordinates.names) if not name.startswith("length_scale")]
    # One direction moves all length scales together, and one each of the other coordinates.
    directions = np.zeros((len(coordinates.start), 1 + len(others)))
    directions[scales, 0] = 1
    directions[others, np.arange(1, 1 + len(others))] = 1
    return [first, Stage(LeaveOneOut(), directions, units)]


def is_contested(rows: TrainingRows, coordinates: Coordinates) -> bool:
    """Whether so many inputs carry both labels that leave-one-out cannot choose a model."""
    return coordinates.is_classifier and rows.contested() > POLICY.search.contested


def is_better_link(link: Evaluation, margin: Evaluation, coordinates: Coordinates, rows: TrainingRows) -> bool:
    """Whether leave-one-out prefers the link model, given the handicap of the margin model."""
    if link.posterior.cavity_mean is None:
        return False
    likelihood = coordinates.model(link.z).likelihood.normalised()
    left_out = leave_one_out(link.posterior, Problem(np.empty((0, 0)), rows.y, likelihood))
    return float(rows.weight @ left_out.log_z) > margin.criterion - POLICY.search.handicap


def is_doubtful(best: Evaluation, rows: TrainingRows) -> bool:
    """Whether a regression is not decisively better than a constant with the best noise for it.

    The constant and the noise have maximum likelihood, and the noise is the best of Laplace, normal and uniform, the
    corners of the epsilon-insensitive family; the regression has its evidence less what the hyperprior takes.
    """
    y, w = rows.y, rows.weight
    if np.ptp(y) == 0:
        return False
    n, mean = w.sum(), w @ y / w.sum()
    median = np.quantile(y, 0.5, weights=w, method="inverted_cdf")
    laplace = np.log(2 * (w @ np.abs(y - median)) / n) + 1
    normal = 0.5 * (np.log(2 * np.pi * (w @ (y - mean) ** 2) / n) + 1)
    return bool(best.value < POLICY.search.decisive - n * min(laplace, normal, np.log(np.ptp(y))))


def start_at(logs: Logs, coordinates: Coordinates, spread: Array) -> Array | None:
    """The deterministic start with these logarithms in the place of its own; None if there is no length scale."""
    log_unit, z = _log_units(spread), coordinates.start.copy()
    common = float(log_unit[spread > 0].mean()) if np.any(spread > 0) else 0.0
    for i, kind in enumerate(coordinates.kinds):
        z[i] = logs.get(kind, z[i])
        if kind == "length_scale":
            # One that all inputs share is in the units of their mean, as in the hyperprior.
            a = coordinates.roles[i].input
            z[i] += common if a is None else log_unit[a]
    return np.clip(z, *coordinates.bounds.T) if "length_scale" in coordinates.kinds else None


def _log_units(spread: Array) -> Array:
    """ln of sqrt(d) times the spread of each of the d inputs that vary, shape (n_features,)."""
    varying = spread > 0
    log_units: Array = np.log(np.where(varying, spread, 1.0)) + 0.5 * np.log(max(int(varying.sum()), 1))
    return log_units


def classifier_prior(y: Array, weight: Array) -> HyperPrior:
    """The default hyperprior of a binary problem; a rare class gets a wider prior on the offset."""
    share = float(weight @ (y > 0) / weight.sum())
    if min(share, 1 - share) >= POLICY.search.rare_class:
        return HyperPrior()
    return replace(HyperPrior(), offset=POLICY.search.rare_offset)
