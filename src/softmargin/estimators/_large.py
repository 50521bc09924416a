"""Fits that see the rows through sums only: more rows than n^3 allows, than memory holds, or than one machine has."""

import logging
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, validate_data

from softmargin._linalg import Array
from softmargin.estimators._binary import check_classes, pairs_of
from softmargin.estimators._callbacks import FitTasks
from softmargin.estimators._class_fit import as_fitted
from softmargin.estimators._class_fitted import set_learnt
from softmargin.estimators._model import LatentModel
from softmargin.estimators._multiclass import fit_temperature, temper
from softmargin.estimators._policy import classifier_prior
from softmargin.estimators._regression import TargetFit, leaves_out, log_uniform, warn_of_gross_errors
from softmargin.estimators._sparse_fit import Sample, fit_sparse, leave_one_out
from softmargin.estimators._units import GROSS, in_bulk, target_kernels, target_noise, target_units
from softmargin.kernels import make_kernel
from softmargin.rows import (
    DaskRows,
    LocalRows,
    PairEncoding,
    ScaledEncoding,
    class_weights,
    is_dask,
    merge_rows,
    spread_of,
)
from softmargin.search import HyperPrior

logger = logging.getLogger("softmargin")

SPARSE_ABOVE = 5000
"""Beyond this many rows `inference="ep"` (the default) becomes "sparse" by itself."""
INDUCING = 512
"""Inducing points with `n_inducing=None`, or a third of the rows if there are fewer than 1,536 of them."""
SAMPLE = 20_000
"""Rows held at once: for spreads, inducing points, hyperparameters and the posterior's start."""
ENOUGH_OF_A_CLASS = 50
"""A class with fewer rows in the sample gets more from the whole, if it has them."""
LEFT_OUT = 2000
"""Rows whose leave-one-out predictions set the temperature and the reported loss."""


def is_large(estimator: Any, X: Any) -> bool:
    """Whether a fit takes this path; says so in the log if the estimator was not asked to."""
    if estimator.inference == "sparse" or is_dask(X):
        return True
    n = X.shape[0] if hasattr(X, "shape") and len(X.shape) else len(X) if hasattr(X, "__len__") else 0
    if estimator.inference != "ep" or n <= SPARSE_ABOVE or estimator._is_precomputed():
        return False
    logger.info("%d rows are more than %d: inference='sparse' replaces 'ep'", n, SPARSE_ABOVE)
    return True


@dataclass(frozen=True)
class Drawn:
    """A random sample of the rows with raw targets."""

    X: Any
    y: Any
    weight: Array | None
    share: float


def open_rows(estimator: Any, X: Any, y: Any, sample_weight: Any, **kwargs: Any) -> LocalRows | DaskRows:
    """Validate without copying what is too large to copy."""
    estimator._check_parameters()
    if estimator._is_precomputed():
        raise ValueError(
            "inference='sparse' needs inputs, not a precomputed kernel matrix; use another inference or a kernel object"
        )
    if is_dask(X):
        rows = DaskRows.of(X, y, sample_weight)
        estimator.n_features_in_ = rows.n_features
        if hasattr(X, "columns"):
            estimator.feature_names_in_ = np.asarray(X.columns, dtype=object)
        # So few rows are a sample of their own: they are fetched, and the model is that of the same rows in memory.
        return _merged(*rows.take(np.arange(rows.n_rows))) if rows.n_rows <= SAMPLE else rows
    X, y = validate_data(
        estimator, X, y, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_min_samples=1, **kwargs
    )
    weight = None
    if sample_weight is not None:
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        if not np.any(weight > 0):
            raise ValueError("sample_weight is zero for every row; give at least one row a positive weight")
    return _merged(X, y, weight) if X.shape[0] <= SAMPLE else LocalRows(X, y, weight)


def _merged(X: Any, y: Any, weight: Array | None) -> LocalRows:
    """Merge identical rows and sort them: neither their order nor how weights are spread over copies matters.

    Inducing points are drawn among distinct rows, in an order of their own: a weight is exactly so many copies.
    """
    labels, index = np.unique(y, return_inverse=True)
    merged = merge_rows(X, index.astype(np.float64), weight)
    return LocalRows(merged.X, labels[merged.y.astype(int)], merged.weight)


def draw(source: Any, seed: int, classes: np.ndarray | None = None) -> Drawn:
    """Take a random sample of the rows, with some of every class; all of them if they are few."""
    n = source.n_rows
    index = np.arange(n)
    if n > SAMPLE:
        index = np.sort(np.random.RandomState(seed).choice(n, SAMPLE, replace=False))
    X, y, weight = source.take(index)
    rare = np.empty(0) if classes is None else classes[_counts(y, classes) < ENOUGH_OF_A_CLASS]
    if len(index) < n and len(rare):
        more = np.concatenate([source.find(label, ENOUGH_OF_A_CLASS) for label in rare])
        index = np.union1d(index, more)
        X, y, weight = source.take(index)
    return Drawn(X, y, weight, len(index) / n)


def _counts(y: Any, classes: np.ndarray) -> np.ndarray:
    return np.bincount(np.searchsorted(classes, y), minlength=len(classes))


def n_inducing_for(n_rows: int, asked: int | None) -> int:
    """Number of inducing points."""
    return min(n_rows, asked if asked is not None else min(INDUCING, max(n_rows // 3, 20)))


def fit_large_classifier(estimator: Any, X: Any, y: Any, sample_weight: Any) -> Any:
    """`BayesianSVC.fit` by sparse inference."""
    if estimator.probability == "map":
        raise ValueError("probability='map' needs the SVM itself, which sparse inference does not solve; use 'average'")
    source = open_rows(estimator, X, y, sample_weight)
    if isinstance(source, LocalRows):
        check_classification_targets(source.y)
    classes = source.labels()
    check_classes(classes)
    previous = [m.z for m in estimator._models] if estimator.warm_start and hasattr(estimator, "_models") else None
    estimator.classes_ = classes
    seed = int(check_random_state(estimator.random_state).randint(2**31 - 1))
    drawn = draw(source, seed, classes)
    class_weight = None
    if estimator.class_weight is not None:
        index = np.searchsorted(classes, drawn.y)
        class_weight = class_weights(estimator.class_weight, classes, index, drawn.weight)
    pairs = pairs_of(len(classes), estimator.multi_class)
    spread = spread_of(drawn.X, drawn.weight)
    kernel = make_kernel(estimator.kernel, source_features(drawn.X), spread)
    starts = previous if previous is not None and len(previous) == len(pairs) else [None] * len(pairs)
    # Callbacks see the sample, and live in this process.
    tasks = FitTasks.begin(estimator, drawn.X, drawn.y, drawn.weight)
    here = tasks if len(pairs) == 1 or effective_n_jobs(estimator.n_jobs) == 1 else None
    attributes = as_fitted if len(pairs) == 1 else None

    def fit(pair: tuple[int, int], start: Array | None) -> LatentModel:
        encoding = PairEncoding(classes, pair, class_weight)
        sample = encode(drawn, encoding)
        m = n_inducing_for(max(int(len(sample.y) / sample.share), len(sample.y)), estimator.n_inducing)
        tuning = estimator._tuning(classifier_prior(sample.y, sample.weight), here, attributes)
        return fit_sparse(source.encoded(encoding), sample, kernel, estimator._noise(), spread, tuning, m, start)

    estimator._pairs = pairs
    jobs = (delayed(fit)(pair, start) for pair, start in zip(pairs, starts))
    estimator._models = list(Parallel(n_jobs=estimator.n_jobs)(jobs))
    estimator._beta = 1.0
    set_learnt(estimator, spread)
    _leave_out(estimator, drawn, class_weight, seed)
    tasks.end()
    return estimator


def source_features(X: Any) -> int:
    """Number of inputs."""
    return int(X.shape[1])


def encode(drawn: Drawn, encoding: Any) -> Sample:
    """The sample with encoded targets."""
    keep, y, weight = encoding(drawn.y, drawn.weight)
    return Sample(drawn.X if keep is None else drawn.X[keep], y, weight, drawn.share)


def _leave_out(estimator: Any, drawn: Drawn, class_weight: Array | None, seed: int) -> None:
    """Leave-one-out loss, error and (several classes) temperature on some rows of the sample."""
    some = np.sort(np.random.RandomState(seed).permutation(len(drawn.y))[:LEFT_OUT])
    X, y = drawn.X[some], drawn.y[some]
    weight = None if drawn.weight is None else drawn.weight[some]
    truth = np.searchsorted(estimator.classes_, y)
    log_odds = np.empty((len(some), len(estimator._models)))
    for k, (model, pair) in enumerate(zip(estimator._models, estimator._pairs)):
        keep, target, w = PairEncoding(estimator.classes_, pair, class_weight)(y, weight)
        seen = np.ones(len(y), dtype=bool) if keep is None else keep
        if np.any(seen):
            up, down = (leave_one_out(model, X[seen], target, w, s * np.ones_like(target)).log_z for s in (1, -1))
            log_odds[seen, k] = up - down
        if not np.all(seen):
            log_odds[~seen, k] = model.log_odds(X[~seen], "average")
    if len(estimator.classes_) > 2:
        p = estimator._combine(log_odds)
        estimator._beta = fit_temperature(p, truth, weight)
        table = temper(p, estimator._beta)
    else:
        table = -np.logaddexp(0, np.stack([log_odds[:, 0], -log_odds[:, 0]], axis=1))
    w = np.ones(len(y)) if weight is None else weight
    estimator.loo_log_loss_ = float(-(w @ table[np.arange(len(y)), truth]) / w.sum())
    estimator.loo_error_ = float(w @ (table.argmax(axis=1) != truth) / w.sum())


def fit_large_regressor(estimator: Any, X: Any, y: Any, sample_weight: Any) -> Any:
    """`BayesianSVR.fit` by sparse inference."""
    source = open_rows(estimator, X, y, sample_weight, y_numeric=True)
    seed = int(check_random_state(estimator.random_state).randint(2**31 - 1))
    drawn = draw(source, seed)
    units = target_units(np.asarray(drawn.y, dtype=np.float64), drawn.weight)
    spread = spread_of(drawn.X, drawn.weight)
    given, scaled = target_kernels(estimator.kernel, spread, estimator.nugget, units)
    noise = target_noise(estimator.C, estimator.epsilon, units, learn=estimator.search is not None)
    shift = np.concatenate([given.theta - scaled.theta, units.shifts(noise.names)])
    previous = estimator._previous(len(shift))
    m = n_inducing_for(source.n_rows, estimator.n_inducing)
    tasks = FitTasks.begin(estimator, drawn.X, drawn.y, drawn.weight)
    tuning = estimator._tuning(HyperPrior.for_regression(), tasks)

    def fit(limit: float) -> tuple[LatentModel, Sample]:
        encoding = ScaledEncoding(units.center, units.scale, limit)
        sample = encode(drawn, encoding)
        return fit_sparse(source.encoded(encoding), sample, scaled, noise, spread, tuning, m, previous), sample

    target = (np.asarray(drawn.y, dtype=np.float64) - units.center) / units.scale
    bulk = in_bulk(target, drawn.weight)
    model, sample = fit(np.inf if np.all(bulk) or not leaves_out(estimator) else GROSS)
    estimator.gross_errors_ = np.empty(0, dtype=int)
    if len(sample.y) < len(target):
        whole = fit(np.inf)
        n_gross = float(np.sum(~bulk) if drawn.weight is None else drawn.weight[~bulk].sum()) / drawn.share
        if whole[0].posterior.log_evidence > model.posterior.log_evidence + log_uniform(n_gross, target):
            model, sample = whole
        elif not is_dask(X):
            estimator.gross_errors_ = np.flatnonzero(np.abs((np.asarray(y) - units.center) / units.scale) > GROSS)
            warn_of_gross_errors(len(estimator.gross_errors_), estimator.gross_errors_)
        else:
            warn_of_gross_errors(round(n_gross))
    log_z = leave_one_out(model, sample.X, sample.y, sample.weight, sample.y).log_z
    w = np.ones_like(sample.y) if sample.weight is None else sample.weight
    total = float(w.sum() / sample.share)
    estimator._set_learnt(TargetFit(model, units, given, spread, shift), total)
    estimator.loo_log_density_ = float(w @ log_z / w.sum() - np.log(units.scale))
    tasks.end()
    return estimator
