"""The fit loop of one latent function when n outgrows n^3.

Three stages, each with more rows and fewer evaluations than the one before:

1. EP's full policy on a small subset finds the region (`fit_latent`);
2. the sparse bound with its exact gradient refines every hyperparameter on some thousands of rows;
3. the posterior is started on a sample whose weights stand for all rows, continued on a larger one if there are very
   many, and finished by three or four passes over all of them.

For classification with `criterion="auto"` stages 2 and 3 take the loss's normalised class probability for likelihood:
it sums to one over the labels, so that with much data its bound can be trusted with C and its posterior is calibrated.
The unnormalised hinge, whose evidence under-estimates C, is used throughout with `criterion="evidence"`.
"""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import Kernel

from softmargin._linalg import Array
from softmargin.inference import EP, Sparse, SparsePosterior, inducing_points
from softmargin.kernels import diag, gram
from softmargin.likelihoods import Likelihood, TiltedMoments
from softmargin.policy import POLICY
from softmargin.rows import RowSource, ThinnedEncoding, TrainingRows, merge_rows
from softmargin.search import LBFGS, Evaluation, Objective, Report, notify
from softmargin.tuning.coordinates import Coordinates, LikelihoodCoordinates
from softmargin.tuning.hyperprior import LogDensity, bind_prior
from softmargin.tuning.latent import fit_latent
from softmargin.tuning.model import LatentModel
from softmargin.tuning.objective import path_row
from softmargin.tuning.settings import Tuning

SIZE = POLICY.size


@dataclass(frozen=True)
class Sample:
    """Rows at hand, a random sample of all, with encoded targets."""

    X: Any
    y: Array
    weight: Array
    share: float
    """Sampled rows over all rows."""


def fit_sparse(
    source: RowSource,
    sample: Sample,
    kernel: Kernel,
    likelihood: LikelihoodCoordinates,
    spread: Array,
    tuning: Tuning,
    n_inducing: int,
    start: Array | None = None,
) -> LatentModel:
    """Learn the hyperparameters on samples and infer the sparse posterior from all rows of `source`."""
    coordinates = Coordinates(kernel, likelihood, n_features=len(spread))
    z, value = coordinates.start if start is None else start, float("nan")
    path: list[dict[str, Any]] = []
    if tuning.search is not None and len(z):
        z, value, path = learn_on_sample(sample, coordinates, spread, tuning, start)
    model = coordinates.model(z)
    chosen = model.likelihood.normalised() if tuning.criterion is None else model.likelihood
    Z = inducing_points(sample.X, model.kernel, n_inducing, tuning.seed)
    posterior = _posterior(source, sample, chosen, model.kernel, Z, tuning.seed)
    return _latent_model(model.kernel, chosen, posterior, path, value, z)


def _posterior(
    source: RowSource, sample: Sample, likelihood: Likelihood, kernel: Kernel, Z: Array, seed: int
) -> SparsePosterior:
    """Stage 3: the posterior of a sample, of a share of the rows between the two sizes, and of all rows."""
    rough = Sparse(tol=SIZE.rough_gap * len(Z), max_iter=SIZE.max_passes, dtype=_precision(source.n_rows))
    posterior = None
    if sample.share < 1:
        weight = sample.weight / sample.share
        posterior = _quietly(rough, sample.X, sample.y, likelihood, kernel, weight, Z, None)
    if sample.share < SIZE.ladder:
        thinned = source.encoded(ThinnedEncoding(source.encoding, int(sample.share**-0.5), seed))
        with _quiet():
            posterior = rough.infer_rows(thinned, likelihood, kernel, Z, posterior)
    tol = max(SIZE.gap * len(Z), SIZE.gap_per_row * (source.n_rows - SIZE.float32_above))
    return replace(rough, tol=tol).infer_rows(source, likelihood, kernel, Z, posterior)


def _precision(n_rows: int) -> str:
    return "float32" if n_rows > SIZE.float32_above else "float64"


def _latent_model(
    kernel: Kernel,
    likelihood: Likelihood,
    posterior: SparsePosterior,
    path: list[dict[str, Any]],
    value: float,
    z: Array,
) -> LatentModel:
    """A model whose rows are the inducing points: what predictions need."""
    m = len(posterior.Z)
    rows = TrainingRows(posterior.Z, np.zeros(m), np.ones(m), np.arange(m), np.full(1, -1), np.zeros(1))
    return LatentModel(rows, kernel, likelihood, posterior, path, value, z)


def learn_on_sample(
    sample: Sample, coordinates: Coordinates, spread: Array, tuning: Tuning, start: Array | None
) -> tuple[Array, float, list[dict[str, Any]]]:
    """Stages 1 and 2: coordinates, objective and path."""
    order = np.random.RandomState(tuning.seed).permutation(len(sample.y))
    z, hint, path = start, None, []
    if z is None:
        subset = _some(sample, np.sort(_with_both_signs(order, sample.y)))
        rows = merge_rows(subset.X, subset.y, subset.weight)
        first = fit_latent(rows, coordinates.kernel, coordinates.likelihood, spread, replace(tuning, inference=EP()))
        z, path, hint = first.z, first.path, coordinates.hinted(first.z, tuning.hint)
    if tuning.criterion is None:
        coordinates = coordinates.with_likelihood(coordinates.likelihood.normalised())
    part = _some(sample, np.sort(order[: SIZE.refine_rows]))
    log_prior = bind_prior(tuning.hyperprior, coordinates, spread, part.X)
    search = LBFGS(max_iter=min(_iterations(tuning), SIZE.refine_iterations), tol=SIZE.refine_tol)
    objective = _SparseObjective.at(z, part, coordinates, log_prior, tuning, path)
    if hint is not None:
        other = _SparseObjective.at(hint, part, coordinates, log_prior, tuning, path)
        here, there = (
            replace(search, max_iter=1).maximise(o, x, coordinates.bounds).best
            for o, x in ((objective, z), (other, hint))
        )
        objective, z = (other, there.z) if there.value > here.value else (objective, here.z)
    result = search.maximise(objective, z, coordinates.bounds)
    return result.best.z, result.best.value, path


@dataclass
class _SparseObjective(Objective):
    """The sparse bound plus log hyperprior at z, at fixed rows and inducing points, with its gradient."""

    part: Sample
    coordinates: Coordinates
    Z: Array
    solver: Sparse
    log_prior: LogDensity | None
    path: list[dict[str, Any]]
    report: Report | None
    last: SparsePosterior | None = None

    @classmethod
    def at(
        cls,
        z: Array,
        part: Sample,
        coordinates: Coordinates,
        log_prior: LogDensity | None,
        tuning: Tuning,
        path: list[dict[str, Any]],
    ) -> "_SparseObjective":
        """With inducing points for the length scales of z."""
        Z = inducing_points(part.X, coordinates.model(z).kernel, min(SIZE.refine_inducing, len(part.y)), tuning.seed)
        dtype = "float32" if len(part.y) > SIZE.refine_float32_above else "float64"
        solver = Sparse(tol=SIZE.gap * len(Z), max_iter=SIZE.max_passes, dtype=dtype, gradient=True)
        return cls(part, coordinates, Z, solver, log_prior, path, tuning.report)

    def __call__(self, z: Array) -> Evaluation:
        """Evaluate at z."""
        model, part = self.coordinates.model(z), self.part
        posterior = _quietly(
            self.solver, part.X, part.y, model.likelihood, model.kernel, part.weight, self.Z, self.last
        )
        # A likelihood with initial sites of its own is better started from them.
        self.last = posterior if model.likelihood.initial_sites(np.zeros(1)) is None else None
        prior, d_prior = (0.0, 0.0) if self.log_prior is None else self.log_prior(z)
        assert posterior.d_theta is not None
        gradient = self.coordinates.chain(z, posterior.d_theta, posterior.d_params) + d_prior
        value = posterior.log_evidence + prior
        evaluation = Evaluation(np.array(z), value, gradient, posterior.log_evidence, posterior)
        self.path.append({"start": 0, **path_row(evaluation, "sparse", self.coordinates)})
        notify(evaluation, None if self.report is None else self.report.of_evaluations(self._model))
        return evaluation

    def _model(self, evaluation: Evaluation) -> LatentModel:
        """The model as if the search had ended there."""
        z = evaluation.z
        return _latent_model(*self.coordinates.model(z), evaluation.posterior, self.path, evaluation.value, z)


def _iterations(tuning: Tuning) -> int:
    """The iteration cap of the search asked for."""
    return int(getattr(tuning.search, "max_iter", SIZE.refine_iterations))


def _quietly(solver: Sparse, *args: Any) -> SparsePosterior:
    with _quiet():
        return solver.infer_inputs(*args)


@contextmanager
def _quiet() -> Iterator[None]:
    """A posterior on the way need not be perfect; the final one warns."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


def _some(sample: Sample, index: np.ndarray) -> Sample:
    return Sample(sample.X[index], sample.y[index], sample.weight[index], sample.share * len(index) / len(sample.y))


def _with_both_signs(order: np.ndarray, y: Array) -> np.ndarray:
    """The first rows of a random order, and of each sign (class) at least a tenth if there are so many."""
    chosen = [order[: SIZE.subset]]
    for sign in (y > 0, y <= 0):
        of_sign = order[sign[order]]
        chosen.append(of_sign[: int(SIZE.subset_share * SIZE.subset)])
    return np.unique(np.concatenate(chosen))


def leave_rows_out(model: LatentModel, X: Any, y: Array, weight: Array, target: Array) -> TiltedMoments:
    """Predict training rows without themselves: log_z is ln P(target_i | all rows but i), shape (n,).

    The cavity divides the row's own site out of its marginal, v = s/(1 - w s), m = mean - v g, which needs only the
    derivatives g and w = -2 h of its expected log-probability. `y` are the rows' true targets.
    """
    posterior, likelihood = model.posterior, model.likelihood
    K, k_diag = gram(model.kernel, X, model.rows.X), diag(model.kernel, X)
    mean, variance = posterior.latent_mean(K), posterior.latent_variance(K, k_diag)
    expected = likelihood.expected_log_prob(y, mean, variance, weight)
    v = variance / np.clip(1 + 2 * expected.d_var * variance, 0.05, 1)
    normalised: Likelihood = likelihood.normalised()
    return normalised.tilted_moments(target, mean - v * expected.d_mean, v)
