"""The stages of the policy, one after the other from one start."""

from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from softmargin._linalg import Array
from softmargin.policy import POLICY
from softmargin.rows import TrainingRows
from softmargin.search import Callback, Evaluation, Search, SearchResult
from softmargin.tuning.coordinates import Coordinates
from softmargin.tuning.held_out import HeldOut, Watch
from softmargin.tuning.hyperprior import LogDensity
from softmargin.tuning.model import LatentModel
from softmargin.tuning.objective import Objective, Subspace
from softmargin.tuning.settings import Tuning
from softmargin.tuning.stages import Stage, is_doubtful, plan_stages, start_at
from softmargin.tuning.structure.search import finds_structure


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
    samples: tuple[Array, ...] = ()
    """Points to average over, if the search samples."""


@dataclass(frozen=True)
class Climb:
    """Climb from a start through all stages."""

    rows: TrainingRows = field(repr=False)
    """The rows that the search sees."""
    coordinates: Coordinates
    spread: Array = field(repr=False)
    tuning: Tuning
    search: Search
    log_prior: LogDensity | None
    held_out: HeldOut | None

    def __call__(self, z: Array, seed: int) -> End:
        """Climb from z."""
        plan = plan_stages(self.tuning.criterion, self.coordinates, self.spread)
        path: list[dict[str, Any]] = []
        watch = None if self.held_out is None else Watch(self.held_out)
        ends: list[Evaluation] = []
        for stage in plan:
            result = self._stage(self._objective(stage, path, watch), stage, z, seed)
            ends.append(_without_matrices(result.best) if watch is None or watch.best is None else watch.best)
            z = ends[-1].z
        link, last = ends[0], ends[-1]
        has_link = len(plan) > 1 and self.tuning.is_default
        if watch is not None:
            # Held-out rows have decided.
            return End(last, -watch.log_loss, path, has_link and link is last)
        return End(last, last.value, path, link=link if has_link else None, samples=result.samples)

    def _stage(self, objective: Objective, stage: Stage, z: Array, seed: int) -> SearchResult:
        box, rng = self.coordinates.bounds, np.random.RandomState(seed)
        search = self._search_for(stage)
        if stage.directions is None:
            climb = search if self.tuning.brief else finds_structure(search, objective, self.spread)
            result = climb.maximise(objective, z, box, rng)
            others = self._other_starts(stage, result.best)
            if not others:
                return result
            short, noise = (search.maximise(objective, start, box, rng) for start in others)
            best = max(result, short, noise, key=lambda r: r.best.value)
            return best if best.best.value > noise.best.value + POLICY.search.decisive else noise
        space = Subspace(objective, z, stage.directions)
        bounds = space.bounds(box)
        return search.maximise(space, np.zeros(bounds.shape[0]), bounds, rng)

    def _search_for(self, stage: Stage) -> Search:
        """The search, with a tolerance that the criterion can resolve; refuse a criterion without the gradient."""
        search, criterion = self.search, stage.criterion
        if search.needs_gradient and not criterion.smooth:
            raise ValueError(
                f"search={search.name!r} needs gradients and criterion={criterion.name!r} has none; "
                "use search='random_walk'"
            )
        return replace(search, tol=max(search.tol, criterion.resolution))  # type: ignore[type-var]

    def _other_starts(self, stage: Stage, best: Evaluation) -> list[Array]:
        """The short and the noise start, if a regression is doubtful and has length scales."""
        if self.tuning.brief or self.coordinates.is_classifier or not stage.criterion.uses_evidence:
            return []
        if not is_doubtful(best, self.rows):
            return []
        logs = (POLICY.search.short_start, POLICY.search.noise_start)
        starts = (start_at(entry, self.coordinates, self.spread) for entry in logs)
        return [start for start in starts if start is not None]

    def _objective(self, stage: Stage, path: list[dict[str, Any]], watch: Watch | None) -> Objective:
        """The stage's objective; gradients are left out where the search has no use for them."""
        criterion, gradients = stage.criterion, self.search.needs_gradient
        given = self.tuning.rougher or self.tuning.inference
        inference = criterion.inference_for(given).for_search(criterion)
        if self.search.averages_noise:
            inference = inference.with_fresh_noise()
        if not gradients:
            inference, criterion = inference.without_gradients(), criterion.without_gradients()
        return Objective(
            self.rows.X,
            self.rows.y,
            self.rows.weight,
            self.coordinates,
            criterion,
            inference,
            self.log_prior,
            stage.criterion.name,
            path,
            self._callback(path, watch),
            gradients,
            stage.units,
        )

    def _callback(self, path: list[dict[str, Any]], watch: Watch | None) -> Callback | None:
        """What happens after every evaluation: the held-out rows are predicted, the evaluation is reported."""

        def model(evaluation: Evaluation) -> LatentModel:
            z, posterior = evaluation.z, evaluation.posterior
            kernel, likelihood = self.coordinates.model(z)
            return LatentModel(self.rows, kernel, likelihood, posterior, path, evaluation.value, z, solved=posterior)

        report = None if self.tuning.report is None else self.tuning.report.of_evaluations(model)
        return report if watch is None else _Watched(self.rows, self.coordinates, path, watch, report)


@dataclass(frozen=True)
class _Watched(Callback):
    """Predicts the held-out rows after every evaluation, and ends the search where their loss no longer falls."""

    rows: TrainingRows
    coordinates: Coordinates
    path: list[dict[str, Any]]
    watch: Watch
    report: Callback | None

    def __call__(self, evaluation: Evaluation, /) -> None:
        """Note the loss of the held-out rows in the path."""
        row = self.path[-1]
        row["validation_log_loss"] = self.watch(evaluation, self.coordinates.model(evaluation.z))
        row["searched"] = float(self.rows.weight.sum())
        if self.report is not None:
            self.report(evaluation)
        self.watch.check()


def _without_matrices(evaluation: Evaluation) -> Evaluation:
    """The evaluation with the sites and cavities of its posterior alone: the next stage needs the memory."""
    return evaluation._replace(posterior=replace(evaluation.posterior, factor=None, precision_gap=None))
