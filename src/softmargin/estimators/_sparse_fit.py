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
from softmargin.estimators._model import LatentModel
from softmargin.estimators._policy import bind_prior, normalised
from softmargin.estimators._tuning import Tuning, fit_latent
from softmargin.inference import Sparse, SparsePosterior
from softmargin.inference._inducing import inducing_points
from softmargin.kernels import diag, gram
from softmargin.likelihoods import Likelihood, TiltedMoments
from softmargin.rows import RowSource, ThinnedEncoding, TrainingRows, merge_rows
from softmargin.search import Coordinates, Evaluation, NoiseCoordinates, get_search, notify, path_row

SUBSET = 300
"""Rows of stage 1."""
REFINE_ROWS, REFINE_INDUCING, REFINE_ITERATIONS = 8000, 256, 12
"""Rows, inducing points and iterations of stage 2."""
REFINE_TOL = 0.1
"""Stage 2 ends when an iteration gains less than this many nats: the first steps can be short, with much to come."""
SINGLE_ABOVE = 20_000
"""Beyond this many rows the blocks of stage 3 are in single precision."""
GAP = 1e-4
"""Distance from the best posterior, in nats per inducing point, that ends an inference: a mean within 0.02 sd."""
ROUGH_GAP = 1e-2
"""The same for posteriors of samples: sampling has moved them by more."""
LADDER = 0.05
"""A sample that is a smaller share of the rows is followed by a larger one."""
MAX_PASSES = 60


@dataclass(frozen=True)
class Sample:
    """Rows at hand, a random sample of all, with encoded targets."""

    X: Any
    y: Array
    weight: Array | None
    share: float
    """Sampled rows over all rows."""


def fit_sparse(
    source: RowSource,
    sample: Sample,
    kernel: Kernel,
    noise: NoiseCoordinates,
    spread: Array,
    tuning: Tuning,
    n_inducing: int,
    start: Array | None = None,
) -> LatentModel:
    """Learn the hyperparameters on samples and infer the sparse posterior from all rows of `source`."""
    coordinates = Coordinates(kernel, noise, n_features=len(spread))
    z, value = coordinates.start if start is None else start, float("nan")
    path: list[dict[str, Any]] = []
    if tuning.search is not None and len(z):
        z, value, path = _learn(sample, kernel, noise, spread, tuning, start)
    model = coordinates.model(z)
    likelihood = model.likelihood.normalised() if tuning.criterion == "auto" else model.likelihood
    Z = inducing_points(sample.X, model.kernel, n_inducing, tuning.seed)
    posterior = _posterior(source, sample, likelihood, model.kernel, Z, tuning.seed)
    return _latent_model(model.kernel, likelihood, posterior, path, value, z)


def _posterior(
    source: RowSource, sample: Sample, likelihood: Likelihood, kernel: Kernel, Z: Array, seed: int
) -> SparsePosterior:
    """Stage 3: the posterior of a sample, of a share of the rows between the two sizes, and of all rows."""
    rough = Sparse(tol=ROUGH_GAP * len(Z), max_iter=MAX_PASSES, dtype=_precision(source.n_rows))
    posterior = None
    if sample.share < 1:
        weight = (np.ones_like(sample.y) if sample.weight is None else sample.weight) / sample.share
        posterior = _quietly(rough, sample.X, sample.y, likelihood, kernel, weight, Z, None)
    if sample.share < LADDER:
        thinned = source.encoded(ThinnedEncoding(source.encoding, int(sample.share**-0.5), seed))
        with _quiet():
            posterior = rough.infer_rows(thinned, likelihood, kernel, Z, posterior)
    return replace(rough, tol=GAP * len(Z)).infer_rows(source, likelihood, kernel, Z, posterior)


def _precision(n_rows: int) -> str:
    return "float32" if n_rows > SINGLE_ABOVE else "float64"


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
    rows = TrainingRows(posterior.Z, np.zeros(m), None, np.arange(m), np.full(1, -1), np.zeros(1))
    return LatentModel(rows, kernel, likelihood, posterior, None, path, value, z)


def _learn(
    sample: Sample, kernel: Kernel, noise: NoiseCoordinates, spread: Array, tuning: Tuning, start: Array | None
) -> tuple[Array, float, list[dict[str, Any]]]:
    """Stages 1 and 2: coordinates, objective and path."""
    order = np.random.RandomState(tuning.seed).permutation(len(sample.y))
    z, path = start, []
    if z is None:
        subset = _some(sample, np.sort(_with_both_signs(order, sample.y)))
        rows = merge_rows(subset.X, subset.y, subset.weight)
        criterion = tuning.criterion if tuning.criterion in ("auto", "loo", "link_evidence") else "evidence"
        first = fit_latent(rows, kernel, noise, spread, replace(tuning, criterion=criterion))
        z, path = first.z, first.path
    part = _some(sample, np.sort(order[:REFINE_ROWS]))
    coordinates = Coordinates(kernel, normalised(noise) if tuning.criterion == "auto" else noise, len(spread))
    log_prior = bind_prior(tuning.hyperprior, coordinates, spread, part.X)
    Z = inducing_points(part.X, coordinates.model(z).kernel, min(REFINE_INDUCING, len(part.y)), tuning.seed)
    dtype = "float32" if len(part.y) > 2000 else "float64"
    solver = Sparse(tol=GAP * len(Z), max_iter=MAX_PASSES, dtype=dtype, gradient=True)
    last: list[SparsePosterior] = []
    told = tuning.callback or (lambda evaluation, made: None)

    def objective(z: Array) -> Evaluation:
        model = coordinates.model(z)
        posterior = _quietly(
            solver, part.X, part.y, model.likelihood, model.kernel, part.weight, Z, last[-1] if last else None
        )
        # A likelihood with initial sites of its own is better started from them.
        last[:] = [] if hasattr(model.likelihood, "initial_sites") else [posterior]
        prior, d_prior = (0.0, 0.0) if log_prior is None else log_prior(z)
        assert posterior.d_theta is not None
        gradient = coordinates.pull(z, posterior.d_theta, posterior.d_params) + d_prior
        value = posterior.log_evidence + prior
        evaluation = Evaluation(np.array(z), value, gradient, posterior.log_evidence, posterior)  # type: ignore[arg-type]
        path.append({"start": 0, **path_row(evaluation, "sparse", coordinates)})
        notify(evaluation, lambda e: told(e, lambda: _latent_model(*model, posterior, path, value, z)))
        return evaluation

    search = get_search("lbfgs")(max_iter=min(tuning.max_iter, REFINE_ITERATIONS), tol=REFINE_TOL)
    result = search.maximise(objective, z, coordinates.bounds)
    return result.best.z, result.best.value, path


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
    weight = None if sample.weight is None else sample.weight[index]
    return Sample(sample.X[index], sample.y[index], weight, sample.share * len(index) / len(sample.y))


def _with_both_signs(order: np.ndarray, y: Array) -> np.ndarray:
    """The first rows of a random order, and of each sign (class) at least a tenth if there are so many."""
    chosen = [order[:SUBSET]]
    for sign in (y > 0, y <= 0):
        of_sign = order[sign[order]]
        chosen.append(of_sign[: SUBSET // 10])
    return np.unique(np.concatenate(chosen))


def leave_one_out(model: LatentModel, X: Any, y: Array, weight: Array | None, target: Array) -> TiltedMoments:
    """Predict training rows without themselves: log_z is ln P(target_i | all rows but i), shape (n,).

    The cavity divides the row's own site out of its marginal, v = s/(1 - w s), m = mean - v g, which needs only the
    derivatives g and w = -2 h of its expected log-probability. `y` are the rows' true targets.
    """
    posterior, likelihood = model.posterior, model.likelihood
    K, k_diag = gram(model.kernel, X, posterior.Z), diag(model.kernel, X)
    mean, variance = posterior.latent_mean(K), posterior.latent_variance(K, k_diag)
    expected = likelihood.expected_log_prob(y, mean, variance, weight)
    v = variance / np.clip(1 + 2 * expected.d_var * variance, 0.05, 1)
    normalised: Likelihood = likelihood.normalised()
    return normalised.tilted_moments(target, mean - v * expected.d_mean, v)
