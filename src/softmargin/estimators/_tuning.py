"""The fit loop of one latent function: search stages, then the posterior at the learnt hyperparameters.

The default policy for classification (`criterion="auto"`) makes two models and keeps one.

1. The *link model*: the normalised likelihood (`Link`), everything learnt by its evidence. The best one where the
   classes overlap, since a normalised likelihood knows what noise is.
2. The *margin model*: the hinge itself, with the relative length scales of the first; EP leave-one-out log loss learns
   the common scale, the amplitude, the offset and C, which the evidence of an unnormalised likelihood gets wrong. The
   best one where the classes are well apart.

Leave-one-out decides between them, with a handicap for the margin model, which was fitted to it. For regression the
likelihood is normalised and its evidence learns everything.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from sklearn.gaussian_process.kernels import Kernel
from threadpoolctl import threadpool_limits

from softmargin._linalg import Array
from softmargin.criteria import Problem, get_criterion, leave_one_out
from softmargin.estimators._model import LatentModel
from softmargin.estimators._rows import Rows
from softmargin.estimators._validation import Watch, hold_out
from softmargin.inference import EP, Inference, Variational, get_inference
from softmargin.inference.map import MAP
from softmargin.kernels import PrecomputedKernel, contract_diag, evaluate
from softmargin.search import (
    Coordinates,
    Evaluation,
    FixedNoise,
    HyperPrior,
    LogParameter,
    NoiseCoordinates,
    Objective,
    SearchResult,
    Subspace,
    get_search,
)

logger = logging.getLogger(__name__)

SMALL = 100
"""Up to so many rows the second stage gets a second start: with little data the optimum can have two basins."""
ONE_THREAD_UP_TO = 1000
"""Rows up to which one BLAS thread is used."""
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


@dataclass(frozen=True)
class Tuning:
    """What the estimator was asked to do."""

    inference: Inference
    criterion: str
    search: str | None
    hyperprior: HyperPrior | None
    n_restarts: int
    max_iter: int
    tol: float
    n_jobs: int | None
    seed: int
    validation_fraction: float | None = None
    callback: Callable[[Evaluation, Callable[[], LatentModel]], None] | None = None
    """Told of every evaluation, with a function that makes the model as if the search had ended there."""


@dataclass(frozen=True)
class Stage:
    """One search: a criterion, and the directions of the space it moves in (None: all)."""

    criterion: str
    directions: Array | None = None


class End(NamedTuple):
    """Where the climb from one start ended."""

    evaluation: Evaluation
    score: float
    """The objective, or the negative held-out log loss."""
    path: list[dict[str, Any]]
    is_link: bool
    """Whether the model is the link model."""


def fit_latent(
    rows: Rows, kernel: Kernel, noise: NoiseCoordinates, spread: Array, tuning: Tuning, start: Array | None = None
) -> LatentModel:
    """Learn the hyperparameters of one latent function and infer its posterior."""
    # Small matrices gain nothing from several BLAS threads, and on a busy machine the threads wait for each other.
    with threadpool_limits(1 if len(rows.y) <= ONE_THREAD_UP_TO else None):
        return _fit_latent(rows, kernel, noise, spread, tuning, start)


def _fit_latent(
    rows: Rows, kernel: Kernel, noise: NoiseCoordinates, spread: Array, tuning: Tuning, start: Array | None
) -> LatentModel:
    svm_noise, asked = noise, tuning
    if _is_contested(rows, noise, tuning):
        noise, tuning = normalised(noise), replace(tuning, criterion="evidence", inference=Variational())
    coordinates = Coordinates(kernel, noise, n_features=len(spread))
    path: list[dict[str, Any]] = []
    usable = start is not None and len(start) == len(coordinates.start)
    z, value, end = start if usable and start is not None else coordinates.start, float("nan"), None
    if tuning.search is not None and len(z):
        end = _search(rows, coordinates, spread, tuning, z, path)
        z, value = end.evaluation.z, end.evaluation.value
    model = coordinates.model(z)
    K = evaluate(model.kernel, rows.X).K
    # The search runs with fewer digits, without held-out rows, or on another likelihood: this is the last word.
    first = end.evaluation.posterior if end and end.evaluation.posterior.beta.shape == rows.y.shape else None
    likelihood = model.likelihood.normalised() if end and end.is_link else model.likelihood
    posterior = tuning.inference.infer(K, rows.y, likelihood, rows.weight, first)
    loss, naive, svm = svm_noise.likelihood(z[coordinates.n_theta :]), posterior.log_evidence, posterior
    if likelihood != loss:
        naive = asked.inference.infer(K, rows.y, loss, rows.weight).log_evidence
    if posterior.method != "map":
        svm = MAP(gradients=False).infer(K, rows.y, loss, rows.weight)
    # The gradient has done its work: n^2 numbers less to keep.
    posterior, svm = replace(posterior, d_gram=None), replace(svm, d_gram=None)
    return LatentModel(rows, model.kernel, loss, posterior, svm, path, value, z, likelihood, naive)


def _is_contested(rows: Rows, noise: NoiseCoordinates, tuning: Tuning) -> bool:
    """Whether the default policy meets inputs that carry both labels."""
    if tuning.criterion != "auto" or tuning.inference.name != "ep" or tuning.search is None:
        return False
    return _is_classifier(noise) and rows.contested() > CONTESTED


def stages(criterion: str, coordinates: Coordinates, spread: Array, is_classifier: bool) -> list[Stage]:
    """Spell the policy out."""
    if criterion != "auto":
        return [Stage(criterion)]
    if not is_classifier:
        return [Stage("evidence")]
    scales = [
        i
        for i, role in enumerate(coordinates.roles)
        if role.kind == "length_scale" and role.input is not None and spread[role.input] > 0
    ]
    if len(scales) < 2:
        return [Stage("link_evidence"), Stage("loo")]
    n_z = len(coordinates.start)
    common = np.zeros(n_z)
    common[scales] = 1
    others = [np.eye(n_z)[i] for i, name in enumerate(coordinates.names) if not name.startswith("length_scale")]
    return [Stage("link_evidence"), Stage("loo", np.stack([common, *others], axis=1))]


def _search(
    rows: Rows, coordinates: Coordinates, spread: Array, tuning: Tuning, start: Array, path: list[dict[str, Any]]
) -> End:
    """Run the stages from every start and return the best end."""
    held_out = None
    if tuning.validation_fraction is not None:
        held_out = hold_out(
            rows,
            tuning.validation_fraction,
            tuning.seed,
            stratify=_is_classifier(coordinates.noise),
            precomputed=isinstance(coordinates.kernel, PrecomputedKernel),
        )
        rows = held_out.train
    log_prior = None
    if tuning.hyperprior is not None:
        log_prior = tuning.hyperprior.bind(coordinates, spread, _amplitude_units(coordinates, rows.X))
    rng = np.random.RandomState(tuning.seed)
    starts = [start, *(_random_start(coordinates, start, rng) for _ in range(tuning.n_restarts))]
    if len(starts) > 1 and effective_n_jobs(tuning.n_jobs) > 1:
        # Callbacks live in this process.
        tuning = replace(tuning, callback=None)

    plan = stages(tuning.criterion, coordinates, spread, _is_classifier(coordinates.noise))
    has_link = len(plan) > 1 and tuning.inference.name == "ep"

    def climb(z: Array, seed: int) -> End:
        own: list[dict[str, Any]] = []
        watch = None if held_out is None else Watch(held_out)
        ends: list[Evaluation] = []
        for stage in plan:
            objective = _objective(rows, coordinates, stage.criterion, tuning, log_prior, own, watch)
            best = _climb_stage(objective, stage, z, coordinates, rows, spread, tuning, seed).best
            ends.append(_without_matrices(best) if watch is None or watch.best is None else watch.best)
            z = ends[-1].z
        first, last = ends[0], ends[-1]
        score = last.value if watch is None else -watch.log_loss
        # Held-out rows have decided if there are any.
        is_link = has_link and (first is last or (watch is None and _is_better_link(first, last, coordinates, rows)))
        return End(first if is_link else last, score, own, is_link)

    if len(starts) == 1:
        ends = [climb(start, tuning.seed)]
    else:
        with threadpool_limits(1):
            ends = Parallel(n_jobs=tuning.n_jobs)(delayed(climb)(z, tuning.seed + k) for k, z in enumerate(starts))
    for k, end in enumerate(ends):
        path.extend({"start": k, **row} for row in end.path)
    return max(ends, key=lambda end: end.score)


def _without_matrices(evaluation: Evaluation) -> Evaluation:
    """The evaluation with the sites and cavities of its posterior alone: the next stage needs the memory."""
    return evaluation._replace(posterior=replace(evaluation.posterior, factor=None, pull=None))


def _is_better_link(link: Evaluation, margin: Evaluation, coordinates: Coordinates, rows: Rows) -> bool:
    """Whether leave-one-out prefers the link model, given the handicap of the margin model."""
    if link.posterior.method != "ep":
        return False
    weight = np.ones_like(rows.y) if rows.weight is None else rows.weight
    likelihood = coordinates.model(link.z).likelihood.normalised()
    loo = float(weight @ leave_one_out(link.posterior, Problem(np.empty((0, 0)), rows.y, likelihood)).log_z)
    return loo > margin.criterion - HANDICAP


def _amplitude_units(coordinates: Coordinates, X: Any) -> Array:
    """ln of amplitude over the mean variance that it gives to f: 0 for a stationary kernel; shape (n_theta,)."""
    n = X.shape[0]
    # d mean k(x, x)/d ln k0 is the mean variance of the term that k0 multiplies.
    given = contract_diag(coordinates.kernel, X, np.full(n, 1 / n))
    with np.errstate(divide="ignore"):
        unit = coordinates.kernel.theta - np.log(np.maximum(given, 0))
    return np.where(np.isfinite(unit), unit, 0.0)


def _climb_stage(
    objective: Objective,
    stage: Stage,
    z: Array,
    coordinates: Coordinates,
    rows: Rows,
    spread: Array,
    tuning: Tuning,
    seed: int,
) -> SearchResult:
    search = get_search(tuning.search or "lbfgs")(max_iter=tuning.max_iter, tol=tuning.tol)
    if search.needs_gradient and not objective.criterion.smooth:
        raise ValueError(
            f"search={search.name!r} needs gradients and criterion={objective.criterion.name!r} has none; "
            "use search='random_walk'"
        )
    objective.gradients = search.needs_gradient
    if not search.needs_gradient:
        objective.inference, objective.criterion = map(_without_gradients, (objective.inference, objective.criterion))
    rng = np.random.RandomState(seed)
    if stage.directions is None:
        return search.maximise(objective, z, coordinates.bounds, rng)
    space = Subspace(objective, z, stage.directions)
    bounds = space.bounds(coordinates.bounds)
    result = search.maximise(space, np.zeros(bounds.shape[0]), bounds, rng)
    if len(rows.y) <= SMALL and tuning.criterion == "auto":
        second = np.clip(_second_start(space, coordinates, spread), bounds[:, 0], bounds[:, 1])
        other = search.maximise(space, second, bounds, rng)
        result = max(result, other, key=lambda r: r.best.value)
    return result


def _without_gradients(part: Any) -> Any:
    """An inference or a criterion that leaves its gradient out, if it can."""
    return replace(part, gradients=False) if hasattr(part, "gradients") else part


def _second_start(space: Subspace, coordinates: Coordinates, spread: Array) -> Array:
    """The u of `SECOND_START`: for the common length scale as a mean over inputs."""
    varying = spread > 0
    log_unit = np.log(np.where(varying, spread, 1.0)) + 0.5 * np.log(max(int(varying.sum()), 1))
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


def _objective(
    rows: Rows,
    coordinates: Coordinates,
    criterion: str,
    tuning: Tuning,
    log_prior: Any,
    path: list[dict[str, Any]],
    watch: Watch | None,
) -> Objective:
    chosen = get_criterion(criterion)()
    name = chosen.inference or tuning.inference.name
    inference = tuning.inference if name != "ep" else EP(tol=search_tolerance(criterion))
    if name not in ("ep", tuning.inference.name):
        inference = get_inference(name)()

    def told(evaluation: Evaluation) -> None:
        def made() -> LatentModel:
            z, posterior, model = evaluation.z, evaluation.posterior, coordinates.model(evaluation.z)
            return LatentModel(rows, *model, posterior, posterior, path, evaluation.value, z)

        if watch is not None:
            path[-1]["validation_log_loss"] = watch(evaluation, coordinates.model(evaluation.z))
            path[-1]["searched"] = float(len(rows.y) if rows.weight is None else rows.weight.sum())
        if tuning.callback is not None:
            tuning.callback(evaluation, made)
        if watch is not None:
            watch.check()

    callback = None if watch is None and tuning.callback is None else told
    return Objective(rows.X, rows.y, rows.weight, coordinates, chosen, inference, log_prior, criterion, path, callback)


def search_tolerance(criterion: str) -> float:
    """EP's tolerance during a search, which needs fewer digits than the final posterior.

    ln Z is stationary in the sites, so its error is the square of this; the adjoint of leave-one-out needs more.
    """
    return 1e-6 if criterion == "loo" else 5e-5


def normalised(noise: NoiseCoordinates) -> NoiseCoordinates:
    """The same coordinates of the normalised likelihood, which has the same parameters."""
    if isinstance(noise, FixedNoise):
        return FixedNoise(noise.fixed.normalised())
    if isinstance(noise, LogParameter):
        return replace(noise, loss=type(noise.likelihood(noise.start).normalised()))
    return noise


def _is_classifier(noise: NoiseCoordinates) -> bool:
    return bool(noise.likelihood(noise.start).is_classifier)


def _random_start(coordinates: Coordinates, start: Array, rng: np.random.RandomState) -> Array:
    """A draw around the deterministic start, wide enough to find another basin if there is one."""
    low, high = coordinates.bounds.T
    return np.clip(start + rng.standard_normal(len(start)), low, high)


def classifier_prior(y: Array, weight: Array | None) -> HyperPrior:
    """The default hyperprior of a binary problem; a rare class gets a wider prior on the offset."""
    w = np.ones_like(y) if weight is None else weight
    share = float(w @ (y > 0) / w.sum())
    return replace(HyperPrior(), offset=(0.0, 2.0)) if min(share, 1 - share) < RARE else HyperPrior()
