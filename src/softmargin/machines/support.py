"""The support vector machines in terms of the original rows: copies share their merged row's coefficient by weight."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from softmargin._linalg import Array
from softmargin.kernels import PrecomputedKernel
from softmargin.rows import TrainingRows
from softmargin.tuning import LatentModel


@dataclass(frozen=True)
class ClassSupport:
    """Support vectors of the machines of a classification."""

    indices: np.ndarray
    """Rows that are a support vector of some machine, shape (n_support,)."""
    vectors: Any = field(repr=False)
    """Their inputs; of shape (0, 0) for a precomputed kernel."""
    dual_coef: Array = field(repr=False)
    """y alpha of each machine, shape (n_machines, n_support)."""
    n_support: np.ndarray
    """Support vectors of each class, shape (n_classes,)."""
    margins: Array = field(repr=False)
    """y f of the SVM at every row, shape (n,) or (n_machines, n); nan at rows that took no part."""


class TargetSupport(NamedTuple):
    """Support vectors of a regression."""

    indices: np.ndarray
    """Training rows that are a support vector, shape (n_support,)."""
    vectors: Any
    """Their inputs; of shape (0, 0) for a precomputed kernel."""
    dual_coef: Array
    """alpha in the units of y, shape (1, n_support)."""


def target_support(model: LatentModel, scale: float) -> TargetSupport | None:
    """Collect the support vectors of a regression of a target scaled by `scale`; None through inducing points."""
    rows = model.rows
    if model.svm is None:
        return None
    dual_coef = coefficients([model], rows, len(rows.group)) / scale
    support = np.flatnonzero(np.any(dual_coef != 0, axis=0))
    precomputed = isinstance(model.kernel, PrecomputedKernel)
    vectors = np.empty((0, 0)) if precomputed else rows.X[rows.group[support]]
    return TargetSupport(support, vectors, dual_coef[:, support])


def coefficients(models: list[LatentModel], rows: TrainingRows, n: int) -> Array:
    """The SVMs' coefficients of the n original rows, shape (n_models, n)."""
    found = np.zeros((len(models), n))
    for k, model in enumerate(models):
        assert model.svm is not None
        group = model.rows.group[:n]
        inside = group >= 0
        found[k, inside] = model.svm.beta[group[inside]] * rows.share[inside]
    return found


def class_support(models: list[LatentModel], rows: TrainingRows, *, precomputed: bool) -> ClassSupport:
    """Collect the support vectors of machines on merged rows whose targets are the numbers of their classes."""
    n = len(rows.group)
    dual_coef = coefficients(models, rows, n)
    margins = np.full((len(models), n), np.nan)
    for k, model in enumerate(models):
        assert model.svm is not None
        group = model.rows.group[:n]
        inside = group >= 0
        margins[k, inside] = model.rows.y[group[inside]] * model.svm.mean[group[inside]]
    support = np.flatnonzero(np.any(dual_coef != 0, axis=0))
    merged = rows.group[support]
    return ClassSupport(
        support,
        np.empty((0, 0)) if precomputed else rows.X[merged],
        dual_coef[:, support],
        np.bincount(rows.y[merged].astype(int), minlength=int(rows.y.max()) + 1).astype(np.int32),
        margins[0] if len(margins) == 1 else margins,
    )
