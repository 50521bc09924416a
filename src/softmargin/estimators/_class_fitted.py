"""The fitted names of a classifier: what was learnt, its leave-one-out scores, the SVM at the learnt values."""

from typing import Any

import numpy as np
from scipy.special import log_expit

from softmargin._linalg import Array
from softmargin.estimators._base import relevance
from softmargin.estimators._class_fit import loo_log_odds
from softmargin.estimators._multiclass import temper
from softmargin.rows import TrainingRows


def set_learnt(estimator: Any, spread: Array) -> None:
    """Name what the search found."""
    for optional in ("relevance_", "pair_relevance_", "loo_log_loss_", "loo_error_"):
        # Not every kernel and inference gives them: forget those of an earlier fit.
        estimator.__dict__.pop(optional, None)
    models = estimator._models
    one = len(models) == 1
    estimator.kernel_ = models[0].kernel if one else [m.kernel for m in models]
    likelihoods = [m.posterior_likelihood or m.likelihood for m in models]
    estimator.likelihood_ = likelihoods[0] if one else likelihoods
    C = [m.likelihood.C for m in models]
    estimator.C_ = C[0] if one else np.array(C)
    estimator.posterior_ = models[0].posterior if one else [m.posterior for m in models]
    estimator.inference_ = models[0].posterior.method
    estimator.log_evidence_ = float(sum(m.log_evidence for m in models))
    estimator.search_path_ = [
        {"pair": pair, **row} if not one else row for m, pair in zip(models, estimator._pairs) for row in m.path
    ]
    estimator.n_iter_ = max(len(estimator.search_path_), 1)
    relevances = [relevance(m, spread) for m in models]
    if all(r is not None for r in relevances):
        estimator.pair_relevance_ = np.array(relevances)
        estimator.relevance_ = estimator.pair_relevance_.mean(axis=0)


def set_leave_one_out(estimator: Any, rows: TrainingRows) -> None:
    """Set `loo_log_loss_` and `loo_error_`, where the posterior has cavities."""
    if any(m.posterior.variance is None or m.posterior.site_precision is None for m in estimator._models):
        return
    if len(estimator._models) == 1:
        margin = estimator._models[0].rows.y * loo_log_odds(estimator._models[0])
        log_p, right = log_expit(margin), margin > 0
    elif estimator._loo_probability is not None:
        table = temper(estimator._loo_probability, estimator._beta)
        truth = rows.y.astype(int)
        log_p, right = table[np.arange(len(truth)), truth], table.argmax(axis=1) == truth
    else:
        return
    w = np.ones(len(log_p)) if rows.weight is None else rows.weight
    estimator.loo_log_loss_ = float(-(w @ log_p) / w.sum())
    estimator.loo_error_ = float(w @ ~right / w.sum())


def set_support(estimator: Any, X: Any, index: np.ndarray, rows: TrainingRows) -> None:
    """Express the SVMs in the original rows: copies share their merged row's coefficient by weight."""
    n = len(index)
    coefficients = estimator._coefficients(estimator._models, rows, n)
    margins = np.full((len(estimator._models), n), np.nan)
    for k, model in enumerate(estimator._models):
        group = model.rows.group[:n]
        inside = group >= 0
        margins[k, inside] = model.rows.y[group[inside]] * model.svm.mean[group[inside]]
    estimator.support_ = np.flatnonzero(np.any(coefficients != 0, axis=0))
    estimator.support_vectors_ = X[estimator.support_] if not estimator._is_precomputed() else np.empty((0, 0))
    estimator.dual_coef_ = coefficients[:, estimator.support_]
    estimator.n_support_ = np.bincount(index[estimator.support_], minlength=len(estimator.classes_)).astype(np.int32)
    estimator.margins_ = margins[0] if len(margins) == 1 else margins
