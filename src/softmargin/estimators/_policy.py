"""The default policy: which models are made, which criterion learns what, and which model is kept.

For classification `criterion="auto"` makes two models and keeps one.

1. The *link model*: the normalised likelihood (`Link`), everything learnt by its evidence. The best one where the
   classes overlap, since a normalised likelihood knows what noise is.
2. The *margin model*: the hinge itself, with the relative length scales of the first; EP leave-one-out log loss learns
   the common scale, the amplitude, the offset and C, which the evidence of an unnormalised likelihood gets wrong. The
   best one where the classes are well apart.

Leave-one-out decides between them, with a handicap for the margin model, which was fitted to it. For regression the
likelihood is normalised and its evidence learns everything. There a second optimum calls everything noise, and in small
samples others make much of chance. A climb that does not end clearly above a constant with noise is doubted: it is made
again from shorter length scales and from where nearly everything is noise, and the latter end is kept unless another is
clearly better.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from softmargin._linalg import Array
from softmargin.criteria import Problem, leave_one_out
from softmargin.kernels import contract_diag
from softmargin.rows import TrainingRows
from softmargin.search import (
    Coordinates,
    Evaluation,
    FixedNoise,
    HyperPrior,
    LogParameter,
    NoiseCoordinates,
    Subspace,
)
from softmargin.search.hyperprior import LogDensity

SMALL = 100
"""Up to so many rows the second stage gets a second start: with little data the optimum can have two basins."""
RARE = 0.15
"""A class rarer than this needs a wider prior on the offset."""
HANDICAP = 1.0
"""Nats of leave-one-out by which the margin model, which was fitted to it, must beat the link model."""
CONTESTED = 0.2
"""Share of the weight on inputs that carry both labels above which the link model is kept without a contest: leaving a
merged row out then leaves rows of the other label at the same input and measures nothing. Its posterior is the
variational one, since EP's cavities are improper where one label's site outweighs the prior."""
SECOND_START = {"length_scale": -0.4, "amplitude": 1.0, "offset": -1.0, "C": 0.5}
"""ln of the second start; the length scale relative to sqrt(d) times the spread."""
UNITS = {"length_scale": 0.3, "amplitude": 1.5, "C": 0.3}
"""How far a logarithm typically moves before the objective of a default classifier falls by a nat; 1 if not here."""
SHORT_START = {"length_scale": -1.0}
QUIET_START = {"length_scale": 0.5, "amplitude": float(np.log(0.5)), "sigma": 0.0}
"""The same of the two starts from which a doubted regression climbs again: one that sees what turns often, and one
where nearly everything is noise."""
DECISIVE = 5.0
"""Nats by which a regression must beat a constant with noise not to be doubted, and by which it must then beat the
quiet start's end ("very strong" for Kass & Raftery 1995): where there is nothing to find chance often wins by less, and
predicts worse."""


@dataclass(frozen=True)
class Stage:
    """One search: a criterion, the directions of the space it moves in (None: all), and the units of its steps."""

    criterion: str
    directions: Array | None = None
    units: Array | None = None


def stages(criterion: str, coordinates: Coordinates, spread: Array) -> list[Stage]:
    """Spell the policy out."""
    if criterion != "auto":
        return [Stage(criterion)]
    if not is_classifier(coordinates.noise):
        return [Stage("evidence")]
    scales = [
        i
        for i, role in enumerate(coordinates.roles)
        if role.kind == "length_scale" and role.input is not None and spread[role.input] > 0
    ]
    kinds = [*(role.kind for role in coordinates.roles), *coordinates.noise.names]
    units = np.array([UNITS.get(kind, 1.0) for kind in kinds])
    if len(scales) < 2:
        return [Stage("link_evidence", units=units), Stage("loo", units=units)]
    n_z = len(coordinates.start)
    common = np.zeros(n_z)
    common[scales] = 1
    others = [np.eye(n_z)[i] for i, name in enumerate(coordinates.names) if not name.startswith("length_scale")]
    return [Stage("link_evidence", units=units), Stage("loo", np.stack([common, *others], axis=1), units)]


def is_contested(rows: TrainingRows, noise: NoiseCoordinates) -> bool:
    """Whether so many inputs carry both labels that leave-one-out cannot choose a model."""
    return is_classifier(noise) and rows.contested() > CONTESTED


def is_better_link(link: Evaluation, margin: Evaluation, coordinates: Coordinates, rows: TrainingRows) -> bool:
    """Whether leave-one-out prefers the link model, given the handicap of the margin model."""
    if link.posterior.method != "ep":
        return False
    weight = np.ones_like(rows.y) if rows.weight is None else rows.weight
    likelihood = coordinates.model(link.z).likelihood.normalised()
    loo = float(weight @ leave_one_out(link.posterior, Problem(np.empty((0, 0)), rows.y, likelihood)).log_z)
    return loo > margin.criterion - HANDICAP


def is_doubtful(best: Evaluation, rows: TrainingRows) -> bool:
    """Whether a regression is not decisively better than a constant with the best noise for it.

    The constant and the noise have maximum likelihood, and the noise is the best of Laplace, normal and uniform, the
    corners of the epsilon-insensitive family; the regression has its evidence less what the hyperprior takes.
    """
    y, w = rows.y, np.ones_like(rows.y) if rows.weight is None else rows.weight
    if np.ptp(y) == 0:
        return False
    n, mean = w.sum(), w @ y / w.sum()
    median = np.quantile(y, 0.5, weights=w, method="inverted_cdf")
    laplace = np.log(2 * (w @ np.abs(y - median)) / n) + 1
    normal = 0.5 * (np.log(2 * np.pi * (w @ (y - mean) ** 2) / n) + 1)
    return bool(best.value < DECISIVE - n * min(laplace, normal, np.log(np.ptp(y))))


def start_at(logs: dict[str, float], coordinates: Coordinates, spread: Array) -> Array | None:
    """The deterministic start with these logarithms in the place of its own; None if there is no length scale."""
    log_unit, z = _log_units(spread), coordinates.start.copy()
    common = float(log_unit[spread > 0].mean()) if np.any(spread > 0) else 0.0
    kinds = [*(role.kind for role in coordinates.roles), *coordinates.noise.names]
    for i, kind in enumerate(kinds):
        z[i] = logs.get(kind, z[i])
        if kind == "length_scale":
            # One that all inputs share is in the units of their mean, as in the hyperprior.
            a = coordinates.roles[i].input
            z[i] += common if a is None else log_unit[a]
    return np.clip(z, *coordinates.bounds.T) if "length_scale" in kinds else None


def second_start(space: Subspace, coordinates: Coordinates, spread: Array) -> Array:
    """The u of `SECOND_START`: for the common length scale as a mean over inputs."""
    log_unit = _log_units(spread)
    target = space.origin.copy()
    for i, name in enumerate(coordinates.names):
        kind = name.split("_")[0] if not name.startswith("length_scale") else "length_scale"
        if kind not in SECOND_START:
            continue
        target[i] = SECOND_START[kind]
        if kind == "length_scale":
            target[i] += log_unit[coordinates.roles[i].input or 0]
    weight = space.directions / np.maximum(np.sum(space.directions**2, axis=0), 1e-300)
    return weight.T @ (target - space.origin)


def _log_units(spread: Array) -> Array:
    """ln of sqrt(d) times the spread of each of the d inputs that vary, shape (n_features,)."""
    varying = spread > 0
    log_units: Array = np.log(np.where(varying, spread, 1.0)) + 0.5 * np.log(max(int(varying.sum()), 1))
    return log_units


def normalised(noise: NoiseCoordinates) -> NoiseCoordinates:
    """The same coordinates of the normalised likelihood, which has the same parameters."""
    if isinstance(noise, FixedNoise):
        return FixedNoise(noise.fixed.normalised())
    if isinstance(noise, LogParameter):
        return replace(noise, loss=type(noise.likelihood(noise.start).normalised()))
    return noise


def is_classifier(noise: NoiseCoordinates) -> bool:
    """Whether the targets are labels."""
    return bool(noise.likelihood(noise.start).is_classifier)


def classifier_prior(y: Array, weight: Array | None) -> HyperPrior:
    """The default hyperprior of a binary problem; a rare class gets a wider prior on the offset."""
    w = np.ones_like(y) if weight is None else weight
    share = float(w @ (y > 0) / w.sum())
    return replace(HyperPrior(), offset=(0.0, 2.0)) if min(share, 1 - share) < RARE else HyperPrior()


def bind_prior(hyperprior: HyperPrior | None, coordinates: Coordinates, spread: Array, X: Any) -> LogDensity | None:
    """The log density of a hyperprior in units of the data X; None without one."""
    return None if hyperprior is None else hyperprior.bind(coordinates, spread, _amplitude_units(coordinates, X))


def _amplitude_units(coordinates: Coordinates, X: Any) -> Array:
    """ln of amplitude over the mean variance that it gives to f: 0 for a stationary kernel; shape (n_theta,)."""
    n = X.shape[0]
    # d mean k(x, x)/d ln k0 is the mean variance of the term that k0 multiplies.
    given = contract_diag(coordinates.kernel, X, np.full(n, 1 / n))
    with np.errstate(divide="ignore"):
        unit = coordinates.kernel.theta - np.log(np.maximum(given, 0))
    return np.where(np.isfinite(unit), unit, 0.0)
