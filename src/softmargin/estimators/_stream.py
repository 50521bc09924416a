"""Streams: a fitted sparse model is updated by one batch of rows at a time, at the cost of the batch alone.

The rows seen so far are remembered as one Gaussian factor over the whitened inducing values,
exp(b'v - v'Av/2)/Z with I + A = S^-1 and b = S^-1 mu of the posterior they left, so that prior times factor is that
posterior. Kernel, C and inducing points are those of the first batch.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from softmargin._linalg import Array
from softmargin.estimators._large import open_rows
from softmargin.estimators._model import LatentModel
from softmargin.estimators._sparse_fit import GAP, MAX_PASSES
from softmargin.inference import Sparse, SparsePosterior
from softmargin.rows import PairEncoding, ScaledEncoding


@dataclass
class RememberedRows:
    """New rows together with a Gaussian factor that stands for the old ones."""

    rows: Any
    old: SparsePosterior

    @property
    def n_rows(self) -> int:
        """Number of new rows."""
        return int(self.rows.n_rows)

    def total(self, statistic: Any) -> Any:
        """Add up the new rows' sums and what the factor contributes to them."""
        sums = self.rows.total(statistic)
        M, b = self.old.precision_factor, self._shift()
        A = M @ M.T - np.eye(len(M))
        mu = statistic.q.mean
        S = np.linalg.inv(statistic.q.factor @ statistic.q.factor.T)
        # E[b'v - v'Av/2] - ln Z, ln Z = (b'S_old b - ln det S_old^-1)/2
        log_z = 0.5 * float(b @ self.old.whitened_mean) - float(np.sum(np.log(np.diag(M))))
        value = float(b @ mu - 0.5 * mu @ A @ mu - 0.5 * np.vdot(A, S)) - log_z
        return replace(sums, value=sums.value + value, force=sums.force + b - A @ mu, precision=sums.precision + A)

    def _shift(self) -> Array:
        M = self.old.precision_factor
        return M @ (M.T @ self.old.whitened_mean)


def update(model: LatentModel, rows: Any) -> LatentModel:
    """Update a model by the rows of a batch; `log_evidence` grows by the bound on ln p(batch | rows before)."""
    old = model.posterior
    solver = Sparse(tol=GAP * len(old.Z), max_iter=MAX_PASSES)
    new = solver.infer_rows(RememberedRows(rows, old), model.likelihood, model.kernel, old.Z, old)
    return replace(model, posterior=replace(new, log_evidence=old.log_evidence + new.log_evidence))


def can_stream(estimator: Any) -> bool:
    """Whether the estimator has `partial_fit`; the error says what it needs."""
    if estimator.inference != "sparse":
        raise AttributeError(f"partial_fit needs inference='sparse', got inference={estimator.inference!r}")
    return True


def partial_fit_classifier(estimator: Any, X: Any, y: Any, classes: Any, sample_weight: Any) -> Any:
    """`BayesianSVC.partial_fit`."""
    labels = np.unique(np.asarray(y))
    if not hasattr(estimator, "_models"):
        missing = [] if classes is None else np.setdiff1d(classes, labels).tolist()
        if missing:
            raise ValueError(f"the first batch must have rows of every class; it has none of {missing}")
        return estimator.fit(X, y, sample_weight)
    unknown = np.setdiff1d(labels, estimator.classes_).tolist()
    if unknown:
        raise ValueError(f"classes {unknown} were not in the first batch; fit again with rows of every class")
    source = open_rows(estimator, X, y, sample_weight, reset=False)
    models = []
    for model, pair in zip(estimator._models, estimator._pairs):
        encoding = PairEncoding(estimator.classes_, pair)
        seen = encoding(np.asarray(y), None)
        models.append(update(model, source.encoded(encoding)) if len(seen.target) else model)
    one = len(models) == 1
    estimator._models = models
    estimator.posterior_ = models[0].posterior if one else [m.posterior for m in models]
    estimator.log_evidence_ = float(sum(m.posterior.log_evidence for m in models))
    return estimator


def partial_fit_regressor(estimator: Any, X: Any, y: Any, sample_weight: Any) -> Any:
    """`BayesianSVR.partial_fit`."""
    if not hasattr(estimator, "_model"):
        return estimator.fit(X, y, sample_weight)
    source = open_rows(estimator, X, y, sample_weight, y_numeric=True, reset=False)
    before = estimator._model.posterior.log_evidence
    model = update(estimator._model, source.encoded(ScaledEncoding(estimator.y_center_, estimator.y_scale_)))
    total = float(source.n_rows if sample_weight is None else np.sum(sample_weight))
    estimator._model, estimator._smooth, estimator.posterior_ = model, model.without_nugget(), model.posterior
    estimator.log_evidence_ += model.posterior.log_evidence - before - total * np.log(estimator.y_scale_)
    return estimator
