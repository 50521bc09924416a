"""The fit loop of one latent function when n outgrows n^3.

Three stages, each with more rows and fewer evaluations than the one before:

1. EP's full policy on a small subset finds the region (`fit_latent`);
2. the sparse bound with its exact gradient refines every hyperparameter on some thousands of rows (`refine`);
3. the posterior is started on a sample whose weights stand for all rows, continued on a larger one if there are very
   many, and finished by three or four passes over all of them.

For classification with `criterion="auto"` stages 2 and 3 take the loss's normalised class probability for likelihood:
it sums to one over the labels, so that with much data its bound can be trusted with C and its posterior is calibrated.
The unnormalised hinge, whose evidence under-estimates C, is used throughout with `criterion="evidence"`.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from softmargin._linalg import Array
from softmargin.inference import EP, Sparse, SparsePosterior, inducing_points
from softmargin.kernels import diag, gram
from softmargin.likelihoods import Likelihood, TiltedMoments
from softmargin.policy import POLICY
from softmargin.rows import RowSource, ThinnedEncoding, merge_rows
from softmargin.tuning.coordinates import Coordinates, LikelihoodCoordinates
from softmargin.tuning.hyperprior import bind_prior
from softmargin.tuning.large.refine import Sample, quiet, quietly, refine, sparse_model
from softmargin.tuning.latent import fit_latent
from softmargin.tuning.model import LatentModel
from softmargin.tuning.settings import Tuning

SIZE = POLICY.size


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
    return sparse_model(model.kernel, chosen, posterior, path, value, z)


def _posterior(
    source: RowSource, sample: Sample, likelihood: Likelihood, kernel: Kernel, Z: Array, seed: int
) -> SparsePosterior:
    """Stage 3: the posterior of a sample, of a share of the rows between the two sizes, and of all rows."""
    rough = Sparse(tol=SIZE.rough_gap * len(Z), max_iter=SIZE.max_passes, dtype=_precision(source.n_rows))
    posterior = None
    if sample.share < 1:
        everything = replace(sample, weight=sample.weight / sample.share)
        posterior = quietly(rough, everything, likelihood, kernel, Z)
    if sample.share < SIZE.ladder:
        thinned = source.encoded(ThinnedEncoding(source.encoding, int(sample.share**-0.5), seed))
        with quiet():
            posterior = rough.infer_rows(thinned, likelihood, kernel, Z, posterior)
    tol = max(SIZE.gap * len(Z), SIZE.gap_per_row * (source.n_rows - SIZE.float32_above))
    return replace(rough, tol=tol).infer_rows(source, likelihood, kernel, Z, posterior)


def _precision(n_rows: int) -> str:
    return "float32" if n_rows > SIZE.float32_above else "float64"


def learn_on_sample(
    sample: Sample, coordinates: Coordinates, spread: Array, tuning: Tuning, start: Array | None
) -> tuple[Array, float, list[dict[str, Any]]]:
    """Stages 1 and 2: coordinates, objective and path."""
    order = np.random.RandomState(tuning.seed).permutation(len(sample.y))
    z, hint, path = start, None, []
    if z is None:
        subset = sample.some(np.sort(_with_both_signs(order, sample.y)))
        rows = merge_rows(subset.X, subset.y, subset.weight)
        first = fit_latent(rows, coordinates.kernel, coordinates.likelihood, spread, replace(tuning, inference=EP()))
        z, path, hint = first.z, first.path, coordinates.hinted(first.z, tuning.hint)
    if tuning.criterion is None:
        coordinates = coordinates.with_likelihood(coordinates.likelihood.normalised())
    part = sample.some(np.sort(order[: SIZE.refine_rows]))
    log_prior = bind_prior(tuning.hyperprior, coordinates, spread, part.X)
    max_iter = getattr(tuning.search, "max_iter", None)
    best = refine(
        z, part, coordinates, log_prior, path, hint=hint, max_iter=max_iter, seed=tuning.seed, report=tuning.report
    )
    return best.z, best.value, path


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
