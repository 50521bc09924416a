"""Fit the binary problems of a classification and the one temperature that joins them."""

from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from threadpoolctl import threadpool_limits

from softmargin._linalg import Array
from softmargin.criteria import Problem, leave_one_out
from softmargin.estimators._binary import pairs_of, rows_of, seen_by
from softmargin.estimators._callbacks import FitTasks
from softmargin.estimators._model import LatentModel
from softmargin.estimators._multiclass import fit_temperature
from softmargin.estimators._policy import classifier_prior
from softmargin.estimators._tuning import fit_latent
from softmargin.rows import TrainingRows


def fit_problems(
    estimator: Any, rows: TrainingRows, kernel: Any, spread: Array, previous: list[Array] | None, tasks: FitTasks
) -> None:
    """Fit one model for each binary problem of a `BayesianSVC`, from those of an earlier fit if they are given."""
    pairs = pairs_of(len(estimator.classes_), estimator.multi_class)
    parts = [rows_of(rows, pair, precomputed=estimator._is_precomputed()) for pair in pairs]
    starts = previous if previous is not None and len(previous) == len(pairs) else [None] * len(pairs)
    noise = estimator._noise()
    one = len(pairs) == 1
    # Callbacks live in this process.
    here = tasks if one or effective_n_jobs(estimator.n_jobs) == 1 else None

    def fit(part: TrainingRows, start: Array | None) -> LatentModel:
        tuning = estimator._tuning(classifier_prior(part.y, part.weight), here, as_fitted if one else None)
        return fit_latent(part, kernel, noise, spread, tuning, start)

    estimator._pairs = pairs
    if one:
        estimator._models = [fit(parts[0], starts[0])]
    else:
        jobs = (delayed(fit)(part, start) for part, start in zip(parts, starts))
        with threadpool_limits(1):
            estimator._models = list(Parallel(n_jobs=estimator.n_jobs)(jobs))
    estimator._beta = 1.0
    estimator._loo_probability = None
    if len(estimator.classes_) > 2:
        _join(estimator, rows)


def _join(estimator: Any, rows: TrainingRows) -> None:
    """One temperature on the multi-class leave-one-out probabilities; pairs that never saw a row predict it."""
    if estimator._is_precomputed() or any(m.posterior.site_precision is None for m in estimator._models):
        return
    log_odds = np.empty((len(rows.y), len(estimator._models)))
    for k, (model, pair) in enumerate(zip(estimator._models, estimator._pairs)):
        seen = seen_by(pair, rows.y)
        log_odds[seen, k] = loo_log_odds(model)
        if not np.all(seen):
            log_odds[~seen, k] = model.log_odds(rows.X[~seen], "average")
    p = estimator._combine(log_odds)
    estimator._loo_probability = p
    estimator._beta = fit_temperature(p, rows.y.astype(int), rows.weight)


def as_fitted(model: LatentModel) -> dict[str, Any]:
    """The attributes with which a two-class estimator predicts from a model."""
    return {"_models": [model], "_pairs": [(0, 1)], "_beta": 1.0}


def loo_log_odds(model: LatentModel) -> Array:
    """Leave-one-out log-odds of the training rows (of the +1 class), shape (n,)."""
    rows = model.rows
    up = leave_one_out(model.posterior, Problem(np.empty((0, 0)), np.ones_like(rows.y), model.likelihood)).log_z
    down = leave_one_out(model.posterior, Problem(np.empty((0, 0)), -np.ones_like(rows.y), model.likelihood)).log_z
    return up - down
