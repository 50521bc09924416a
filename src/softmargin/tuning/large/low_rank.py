"""The default policy on low-rank EP: ranks and rows grow as the hyperparameters settle.

1. The first stage (link evidence for classes, evidence for regression) climbs at a small rank on few rows, then from
   there on more rows, with inducing points chosen anew for the length scales learnt so far: a classifier's default by
   the sparse bound (`refine`), which costs less for each row than EP; everything else by EP again.
2. The leave-one-out stage of a classifier goes on from there by EP, and leave-one-out chooses between the link and the
   margin model.
3. The posterior of all rows has the largest rank, and starts from the sites of the last search.
"""

import warnings
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import Kernel

from softmargin._linalg import Array, NotPositiveDefiniteError
from softmargin.criteria import Criterion
from softmargin.inference import inducing_points
from softmargin.inference.low_rank import (
    LowRankEP,
    LowRankPosterior,
    TiltedStatistic,
    WhitenedGaussian,
    WhitenedPrior,
    low_rank_leave_one_out,
)
from softmargin.likelihoods import Likelihood
from softmargin.policy import POLICY, LowRankPolicy, Rung
from softmargin.rows import LocalRows, Mappable, TrainingRows
from softmargin.search import LBFGS, Callback, Evaluation, Report, ScaledObjective, notify
from softmargin.tuning.coordinates import Coordinates, LikelihoodCoordinates
from softmargin.tuning.hyperprior import LogDensity, bind_prior
from softmargin.tuning.large.refine import Sample, refine
from softmargin.tuning.model import LatentModel
from softmargin.tuning.objective import Subspace, path_row
from softmargin.tuning.settings import Tuning
from softmargin.tuning.stages import Stage, plan_stages
from softmargin.tuning.threads import blas_threads


@dataclass
class LowRankObjective(ScaledObjective):
    """Criterion plus log hyperprior at z by low-rank EP at fixed rows and inducing points, with its gradient."""

    rows: LocalRows = field(repr=False)
    coordinates: Coordinates
    Z: Array = field(repr=False)
    criterion: Criterion
    """One that uses the evidence, or leave-one-out."""
    tol: float
    log_prior: LogDensity | None = None
    units: Array | None = None
    path: list[dict[str, Any]] = field(default_factory=list, repr=False)
    callback: Callback | None = field(default=None, repr=False)
    _last: Evaluation | None = field(default=None, repr=False)

    def __call__(self, z: Array) -> Evaluation:
        """Evaluate at z."""
        z = np.array(z, dtype=float)
        if self._last is not None and np.array_equal(z, self._last.z):
            return self._last
        model = self.coordinates.model(z)
        likelihood = self.criterion.likelihood(model.likelihood)
        value, gradient, posterior = self._evaluate(z, model.kernel, likelihood)
        prior, d_prior = (0.0, np.zeros_like(z)) if self.log_prior is None else self.log_prior(z)
        evaluation = Evaluation(z, value + prior, None if gradient is None else gradient + d_prior, value, posterior)
        if posterior.converged:
            self._last = evaluation
        self.path.append({"start": 0, **path_row(evaluation, self.criterion.name, self.coordinates)})
        notify(evaluation, self.callback)
        return evaluation

    def _evaluate(self, z: Array, kernel: Kernel, likelihood: Likelihood) -> tuple[float, Array | None, Any]:
        solver = LowRankEP(tol=self.tol, gradients=self.criterion.uses_evidence)
        try:
            prior = solver.prior(kernel, self.Z)
        except NotPositiveDefiniteError:
            return -1e10, None, replace(self._known(), converged=False)
        with warnings.catch_warnings():
            # A point on the way need not be perfect; the final fit warns.
            warnings.simplefilter("ignore", ConvergenceWarning)
            posterior = solver.infer_prior(self.rows, likelihood, prior, self._start(z))
        if posterior.residual > POLICY.low_rank.accepted_residual:
            return -1e10, None, posterior
        value, d_theta = posterior.log_evidence, posterior.d_theta
        d_params: Array | None = posterior.d_params
        if not self.criterion.uses_evidence:
            rows = self.rows
            left = low_rank_leave_one_out(
                posterior, rows.X, rows.y, likelihood, kernel, rows.weight, features=rows.features(prior)
            )
            value, d_theta, d_params = left.value, left.d_theta, left.d_params
        assert d_theta is not None and d_params is not None
        return value, self.coordinates.chain(z, d_theta, d_params), posterior

    def _known(self) -> Any:
        if self._last is None:
            raise NotPositiveDefiniteError("the Gram matrix of the inducing points is singular at the start")
        return self._last.posterior

    def _start(self, z: Array) -> LowRankPosterior | None:
        if self._last is None or np.max(np.abs(z - self._last.z), initial=0.0) > POLICY.search.warm_start_within:
            return None
        last: Any = self._last.posterior
        return last


class Learnt(NamedTuple):
    """Where the search ended."""

    z: Array
    kernel: Kernel
    likelihood: Likelihood
    """The one to infer with: the link, or the loss itself."""
    value: float
    posterior: LowRankPosterior
    """Of the last search's rows."""
    index: Any
    """Numbers of these rows."""


def learn(
    X: Any,
    y: Array,
    weight: Array | None,
    coordinates: Coordinates,
    stages: list[Stage],
    log_prior: LogDensity | None = None,
    schedule: LowRankPolicy | None = None,
    seed: int = 0,
    start: Array | None = None,
    hint: Array | None = None,
    path: list[dict[str, Any]] | None = None,
    callback: Callback | None = None,
    report: Report | None = None,
) -> Learnt:
    """Learn the hyperparameters of one latent function.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
        A random sample of the rows, or all of them.
    y : ndarray of shape (n,)
    weight : ndarray of shape (n,), optional
    coordinates : Coordinates
    stages : list of Stage
        As `plan_stages` returns them: one by evidence or link evidence, then perhaps one by leave-one-out.
    log_prior : callable, optional
        z to log density and gradient.
    schedule : LowRankPolicy, optional
    seed : int
    start : ndarray of shape (n_z,), optional
    hint : ndarray of shape (n_z,), optional
        Another start of the first climb: the better of both ends is kept.
    path : list, optional
        Every evaluation is recorded in it.
    callback : callable, optional
        Called after every evaluation by EP ...
    report : Report, optional
        ... and after every one of the sparse bound.
    """
    schedule = POLICY.low_rank if schedule is None else schedule
    sample = Sample(X, y, np.ones(len(y)) if weight is None else weight, 1.0)
    climbs = _Climbs(
        sample, coordinates, stages[0], log_prior, schedule, seed, [] if path is None else path, callback, report
    )
    z = coordinates.start if start is None else start
    best, objective = climbs.highest([z] if hint is None else [z, hint], schedule.first)
    last = stages[0]
    if len(stages) == 1:
        best, objective = climbs.highest([best.z], schedule.second)
    else:
        best, objective = climbs.refined(best.z)
        margin = _leave_one_out_stage(replace(objective, _last=None), best.z, stages[1], schedule)
        if not _is_better_link(best, margin, coordinates, objective.rows):
            best, last = margin, stages[1]
    model = coordinates.model(best.z)
    likelihood = last.criterion.likelihood(model.likelihood)
    posterior: Any = best.posterior
    return Learnt(best.z, model.kernel, likelihood, best.value, posterior, climbs.index(schedule.second.rows))


@dataclass
class _Climbs:
    """What the climbs of the first stage share: each sees the first rows of one random order."""

    sample: Sample
    coordinates: Coordinates
    stage: Stage
    log_prior: LogDensity | None
    schedule: LowRankPolicy
    seed: int
    path: list[dict[str, Any]]
    callback: Callback | None
    report: Report | None

    def index(self, n: int) -> np.ndarray:
        """Numbers of the first n rows of the order, or of all."""
        order = np.random.RandomState(self.seed).permutation(len(self.sample.y))
        return np.sort(order[:n])

    def objective(self, z: Array, rung: Rung) -> LowRankObjective:
        """The stage's objective, with inducing points for the length scales of z."""
        part = self.sample.some(self.index(rung.rows))
        rows = LocalRows(part.X, part.y, part.weight)
        kernel = self.coordinates.model(z).kernel
        Z = inducing_points(part.X, kernel, min(rung.rank, len(part.y)), self.seed)
        return LowRankObjective(
            rows,
            self.coordinates,
            Z,
            self.stage.criterion,
            self.schedule.evidence_tol,
            self.log_prior,
            self.stage.units,
            self.path,
            self.callback,
        )

    def highest(self, starts: list[Array], rung: Rung) -> tuple[Evaluation, LowRankObjective]:
        """The highest end of climbs from some starts, with its objective."""
        search, bounds = LBFGS(max_iter=rung.max_iter, tol=rung.gain), self.coordinates.bounds
        objectives = [self.objective(z, rung) for z in starts]
        ends = [(search.maximise(f, z, bounds).best, f) for z, f in zip(starts, objectives)]
        return max(ends, key=lambda end: end[0].value)

    def refined(self, z: Array) -> tuple[Evaluation, LowRankObjective]:
        """The end of a climb of the sparse bound from z, by EP on the rows and rank of the leave-one-out."""
        coordinates = self.coordinates.with_likelihood(self.coordinates.likelihood.normalised())
        part = self.sample.some(self.index(POLICY.size.refine_rows))
        end = refine(z, part, coordinates, self.log_prior, self.path, seed=self.seed, report=self.report).z
        objective = self.objective(end, self.schedule.second)
        best = objective(end)
        # EP can fail where the bound does not: then it climbs itself.
        return (best, objective) if best.gradient is not None else self.highest([z], self.schedule.second)


def _leave_one_out_stage(objective: LowRankObjective, z: Array, stage: Stage, schedule: LowRankPolicy) -> Evaluation:
    objective.criterion, objective.tol, objective.units = stage.criterion, schedule.loo_tol, stage.units
    search, box = LBFGS(max_iter=schedule.loo_max_iter, tol=schedule.loo_gain), objective.coordinates.bounds
    if stage.directions is None:
        return search.maximise(objective, z, box).best
    space = Subspace(objective, z, stage.directions)  # type: ignore[arg-type]
    bounds = space.bounds(box)
    return search.maximise(space, np.zeros(len(bounds)), bounds).best


def _is_better_link(link: Evaluation, margin: Evaluation, coordinates: Coordinates, rows: LocalRows) -> bool:
    """Whether leave-one-out prefers the link model, given the handicap of the margin model."""
    model, posterior = coordinates.model(link.z), link.posterior
    likelihood = model.likelihood.normalised()
    left = low_rank_leave_one_out(posterior, rows.X, rows.y, likelihood, model.kernel, rows.weight, gradients=False)
    return left.value > margin.criterion - POLICY.search.handicap


def final_posterior(
    source: Mappable, learnt: Learnt, X: Any, schedule: LowRankPolicy | None = None, seed: int = 0
) -> LowRankPosterior:
    """The posterior of all rows at learnt hyperparameters.

    Parameters
    ----------
    source : Mappable
        All rows, with encoded targets.
    learnt : Learnt
    X : array or CSR matrix
        A sample of the inputs, for the inducing points.
    schedule : LowRankPolicy, optional
    seed : int
    """
    schedule = POLICY.low_rank if schedule is None else schedule
    Z = inducing_points(X, learnt.kernel, min(schedule.final_rank, X.shape[0]), seed)
    dtype = "float32" if source.n_rows > schedule.float32_above else "float64"
    solver = LowRankEP(tol=schedule.final_tol, dtype=dtype)
    start = learnt.posterior
    if len(learnt.index) < source.n_rows:
        start = predicted_sites(source, learnt)
    return solver.infer_rows(source, learnt.likelihood, learnt.kernel, Z, start)


def predicted_sites(source: Mappable, learnt: Learnt) -> LowRankPosterior:
    """The posterior of the search's rows with sites for all rows: those that match moments at its predictions."""
    p = learnt.posterior
    prior = WhitenedPrior(learnt.kernel, p.Z, p.prior_factor, p.jitter, "float64")
    q = WhitenedGaussian(p.whitened_mean, p.precision_factor)
    rows = source.map_rows(TiltedStatistic(prior, q, learnt.likelihood), np.zeros((2, source.n_rows))).rows
    assert rows is not None
    return replace(p, a=rows[0], c=rows[1], D=rows[5])


def fit_low_rank(
    rows: TrainingRows,
    kernel: Kernel,
    likelihood: LikelihoodCoordinates,
    spread: Array,
    tuning: Tuning,
    start: Array | None = None,
) -> LatentModel:
    """Fit one latent function by the default policy when n^3 is too much; see `fit_latent`.

    The posterior lives on inducing points. Up to `svm_rows` rows the support vector machine itself can be solved too.
    """
    coordinates = Coordinates(kernel, likelihood, n_features=len(spread))
    stages = plan_stages(tuning.criterion, coordinates, spread)
    log_prior = bind_prior(tuning.hyperprior, coordinates, spread, rows.X)
    usable = start if start is not None and len(start) == len(coordinates.start) else None
    path: list[dict[str, Any]] = []
    hint = coordinates.hinted(coordinates.start, tuning.hint) if usable is None else None
    with blas_threads(POLICY.search.blas_threads):
        learnt = learn(
            rows.X, rows.y, rows.weight, coordinates, stages, log_prior, seed=tuning.seed, start=usable, hint=hint,
            path=path, callback=_callback(rows, coordinates, tuning, path), report=tuning.report,
        )  # fmt: skip
        source = LocalRows(rows.X, rows.y, rows.weight)
        posterior = final_posterior(source, learnt, rows.X, seed=tuning.seed)
        loss = likelihood.at(learnt.z[coordinates.n_theta :])
    solved: Literal["later"] | None = "later" if len(rows.y) <= POLICY.size.svm_rows else None
    return LatentModel(
        rows,
        learnt.kernel,
        loss,
        posterior,
        path,
        learnt.value,
        learnt.z,
        learnt.likelihood,
        basis=posterior.Z,
        solved=solved,
    )


def _callback(
    rows: TrainingRows, coordinates: Coordinates, tuning: Tuning, path: list[dict[str, Any]]
) -> Callback | None:
    def model(evaluation: Evaluation) -> LatentModel:
        z, posterior = evaluation.z, evaluation.posterior
        kernel, likelihood = coordinates.model(z)
        return LatentModel(rows, kernel, likelihood, posterior, path, evaluation.value, z, basis=posterior.Z)

    return None if tuning.report is None else tuning.report.of_evaluations(model)
