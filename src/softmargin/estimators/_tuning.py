"""The fit loop of one latent function: search stages, then the posterior at the learnt hyperparameters."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from sklearn.gaussian_process.kernels import Kernel
from threadpoolctl import threadpool_limits

from softmargin._linalg import Array, keep_freed_memory
from softmargin.criteria import get_criterion
from softmargin.estimators._model import LatentModel
from softmargin.estimators._policy import (
    DECISIVE,
    QUIET_START,
    SHORT_START,
    SMALL,
    Stage,
    bind_prior,
    is_better_link,
    is_classifier,
    is_contested,
    is_doubtful,
    normalised,
    second_start,
    stages,
    start_at,
)
from softmargin.estimators._validation import HeldOut, Watch, hold_out
from softmargin.inference import Inference, Variational
from softmargin.inference.map import MAP
from softmargin.kernels import PrecomputedKernel, evaluate
from softmargin.rows import TrainingRows
from softmargin.search import (
    Coordinates,
    Evaluation,
    HyperPrior,
    NoiseCoordinates,
    Objective,
    SearchResult,
    Subspace,
    get_search,
)
from softmargin.search.hyperprior import LogDensity

ONE_THREAD_UP_TO = 1000
"""Rows up to which one BLAS thread is used."""


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


class End(NamedTuple):
    """Where the climb from one start ended."""

    evaluation: Evaluation
    score: float
    """The objective, or the negative held-out log loss."""
    path: list[dict[str, Any]]
    is_link: bool = False
    """Whether the model is the link model."""
    link: Evaluation | None = None
    """The link model, where leave-one-out has still to choose."""


def fit_latent(
    rows: TrainingRows,
    kernel: Kernel,
    noise: NoiseCoordinates,
    spread: Array,
    tuning: Tuning,
    start: Array | None = None,
) -> LatentModel:
    """Learn the hyperparameters of one latent function and infer its posterior."""
    keep_freed_memory()
    # Small matrices gain nothing from several BLAS threads, and on a busy machine the threads wait for each other.
    with threadpool_limits(1 if len(rows.y) <= ONE_THREAD_UP_TO else None):
        return _fit_latent(rows, kernel, noise, spread, tuning, start)


def _fit_latent(
    rows: TrainingRows, kernel: Kernel, noise: NoiseCoordinates, spread: Array, tuning: Tuning, start: Array | None
) -> LatentModel:
    svm_noise, asked = noise, tuning
    is_default = tuning.criterion == "auto" and tuning.inference.name == "ep" and tuning.search is not None
    if is_default and is_contested(rows, noise):
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
    inference = tuning.inference if tuning.inference.name != "ep" else tuning.inference.without_gradients()
    posterior = inference.infer(K, rows.y, likelihood, rows.weight, first)
    loss, naive, svm = svm_noise.likelihood(z[coordinates.n_theta :]), posterior.log_evidence, posterior
    if likelihood != loss:
        naive = asked.inference.without_gradients().infer(K, rows.y, loss, rows.weight).log_evidence
    if posterior.method != "map":
        svm = MAP(gradients=False).infer(K, rows.y, loss, rows.weight)
    # Inferences that cannot leave their gradient out: n^2 numbers less to keep.
    posterior, svm = replace(posterior, d_gram=None), replace(svm, d_gram=None)
    return LatentModel(rows, model.kernel, loss, posterior, svm, path, value, z, likelihood, naive)


def _search(
    rows: TrainingRows,
    coordinates: Coordinates,
    spread: Array,
    tuning: Tuning,
    start: Array,
    path: list[dict[str, Any]],
) -> End:
    """Run the stages from every start and return the best end."""
    held_out = None
    if tuning.validation_fraction is not None:
        held_out = hold_out(
            rows,
            tuning.validation_fraction,
            tuning.seed,
            stratify=is_classifier(coordinates.noise),
            precomputed=isinstance(coordinates.kernel, PrecomputedKernel),
        )
        rows = held_out.train
    log_prior = bind_prior(tuning.hyperprior, coordinates, spread, rows.X)
    rng = np.random.RandomState(tuning.seed)
    starts = [start, *(_random_start(coordinates, start, rng) for _ in range(tuning.n_restarts))]
    if len(starts) > 1 and effective_n_jobs(tuning.n_jobs) > 1:
        # Callbacks live in this process.
        tuning = replace(tuning, callback=None)
    climb = Climb(rows, coordinates, spread, tuning, log_prior, held_out)
    if len(starts) == 1:
        ends = [climb(start, tuning.seed)]
    else:
        with threadpool_limits(1):
            ends = Parallel(n_jobs=tuning.n_jobs)(delayed(climb)(z, tuning.seed + k) for k, z in enumerate(starts))
    for k, end in enumerate(ends):
        path.extend({"start": k, **row} for row in end.path)
    return _choose(ends, coordinates, rows)


def _choose(ends: list[End], coordinates: Coordinates, rows: TrainingRows) -> End:
    """The best end; leave-one-out compares the best link model of all starts with the best margin model."""
    best = max(ends, key=lambda end: end.score)
    link = max((end.link for end in ends if end.link is not None), key=lambda link: link.value, default=None)
    if link is None or not is_better_link(link, best.evaluation, coordinates, rows):
        return best
    return best._replace(evaluation=link, is_link=True)


@dataclass(frozen=True)
class Climb:
    """The stages of the policy, one after the other from one start."""

    rows: TrainingRows = field(repr=False)
    """The rows that the search sees."""
    coordinates: Coordinates
    spread: Array = field(repr=False)
    tuning: Tuning
    log_prior: LogDensity | None
    held_out: HeldOut | None

    def __call__(self, z: Array, seed: int) -> End:
        """Climb from z."""
        plan = stages(self.tuning.criterion, self.coordinates, self.spread)
        path: list[dict[str, Any]] = []
        watch = None if self.held_out is None else Watch(self.held_out)
        ends: list[Evaluation] = []
        for stage in plan:
            best = self._stage(self._objective(stage, path, watch), stage, z, seed).best
            ends.append(_without_matrices(best) if watch is None or watch.best is None else watch.best)
            z = ends[-1].z
        link, last = ends[0], ends[-1]
        has_link = len(plan) > 1 and self.tuning.inference.name == "ep"
        if watch is not None:
            # Held-out rows have decided.
            return End(last, -watch.log_loss, path, has_link and link is last)
        return End(last, last.value, path, link=link if has_link else None)

    def _stage(self, objective: Objective, stage: Stage, z: Array, seed: int) -> SearchResult:
        tuning, box = self.tuning, self.coordinates.bounds
        tol = max(tuning.tol, objective.criterion.resolution)
        search = get_search(tuning.search or "lbfgs")(max_iter=tuning.max_iter, tol=tol)
        if search.needs_gradient and not objective.criterion.smooth:
            raise ValueError(
                f"search={search.name!r} needs gradients and criterion={objective.criterion.name!r} has none; "
                "use search='random_walk'"
            )
        objective.gradients = search.needs_gradient
        if search.name == "gradient_ascent":
            objective.inference = objective.inference.with_fresh_noise()
        if not search.needs_gradient:
            objective.inference = objective.inference.without_gradients()
            objective.criterion = objective.criterion.without_gradients()
        rng = np.random.RandomState(seed)
        if stage.directions is None:
            result = search.maximise(objective, z, box, rng)
            others = self._other_starts(stage, result.best)
            if not others:
                return result
            short, quiet = (search.maximise(objective, start, box, rng) for start in others)
            best = max(result, short, quiet, key=lambda r: r.best.value)
            return best if best.best.value > quiet.best.value + DECISIVE else quiet
        space = Subspace(objective, z, stage.directions)
        bounds = space.bounds(box)
        result = search.maximise(space, np.zeros(bounds.shape[0]), bounds, rng)
        if len(self.rows.y) <= SMALL and tuning.criterion == "auto":
            second = np.clip(second_start(space, self.coordinates, self.spread), bounds[:, 0], bounds[:, 1])
            other = search.maximise(space, second, bounds, rng)
            result = max(result, other, key=lambda r: r.best.value)
        return result

    def _other_starts(self, stage: Stage, best: Evaluation) -> list[Array]:
        """The short and the quiet start, if a regression is doubtful and has length scales."""
        if is_classifier(self.coordinates.noise) or stage.criterion != "evidence" or not is_doubtful(best, self.rows):
            return []
        starts = (start_at(logs, self.coordinates, self.spread) for logs in (SHORT_START, QUIET_START))
        return [start for start in starts if start is not None]

    def _objective(self, stage: Stage, path: list[dict[str, Any]], watch: Watch | None) -> Objective:
        rows, coordinates, tuning = self.rows, self.coordinates, self.tuning
        chosen = get_criterion(stage.criterion)()
        inference = chosen.inference_for(tuning.inference).for_search(chosen)

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
        parts = (rows.X, rows.y, rows.weight, coordinates, chosen, inference, self.log_prior, stage.criterion)
        return Objective(*parts, path, callback, units=stage.units)


def _without_matrices(evaluation: Evaluation) -> Evaluation:
    """The evaluation with the sites and cavities of its posterior alone: the next stage needs the memory."""
    return evaluation._replace(posterior=replace(evaluation.posterior, factor=None, precision_gap=None))


def _random_start(coordinates: Coordinates, start: Array, rng: np.random.RandomState) -> Array:
    """A draw around the deterministic start, wide enough to find another basin if there is one."""
    low, high = coordinates.bounds.T
    return np.clip(start + rng.standard_normal(len(start)), low, high)
