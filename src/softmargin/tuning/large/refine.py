"""The climb on thousands of rows: every hyperparameter by the sparse bound and its exact gradient.

It starts where a smaller search ended and is the same for a posterior of low rank and for a sparse one. The likelihood
is the caller's: for a classifier's default the normalised class probability, which sums to one over the labels, so that
with much data its bound can be trusted with C.
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
from softmargin.inference import Sparse, SparsePosterior, inducing_points
from softmargin.likelihoods import Likelihood
from softmargin.policy import POLICY
from softmargin.rows import TrainingRows
from softmargin.search import LBFGS, Evaluation, Objective, Report, notify
from softmargin.tuning.coordinates import Coordinates
from softmargin.tuning.hyperprior import LogDensity
from softmargin.tuning.model import LatentModel
from softmargin.tuning.objective import path_row

SIZE = POLICY.size


@dataclass(frozen=True)
class Sample:
    """Rows at hand, a random sample of all, with encoded targets."""

    X: Any
    y: Array
    weight: Array
    share: float
    """Sampled rows over all rows."""

    def some(self, index: np.ndarray) -> "Sample":
        """The rows with these numbers."""
        share = self.share * len(index) / len(self.y)
        return Sample(self.X[index], self.y[index], self.weight[index], share)


def refine(
    z: Array,
    part: Sample,
    coordinates: Coordinates,
    log_prior: LogDensity | None,
    path: list[dict[str, Any]],
    *,
    hint: Array | None = None,
    max_iter: int | None = None,
    seed: int = 0,
    report: Report | None = None,
) -> Evaluation:
    """Climb from z, or from a hint if that is higher after one iteration.

    Parameters
    ----------
    z : ndarray of shape (n_z,)
    part : Sample
        The rows of the climb.
    coordinates : Coordinates
        With the likelihood to climb by.
    log_prior : callable, optional
        z to log density and gradient.
    path : list
        Every evaluation is recorded in it.
    hint : ndarray of shape (n_z,), optional
    max_iter : int, optional
        The iteration cap of the search asked for.
    seed : int
        Of the inducing points.
    report : Report, optional
    """
    iterations = SIZE.refine_iterations if max_iter is None else min(max_iter, SIZE.refine_iterations)
    search = LBFGS(max_iter=iterations, tol=SIZE.refine_tol)
    objective = _SparseObjective.at(z, part, coordinates, log_prior, path, seed, report)
    if hint is not None:
        other = _SparseObjective.at(hint, part, coordinates, log_prior, path, seed, report)
        here, there = (
            replace(search, max_iter=1).maximise(o, x, coordinates.bounds).best
            for o, x in ((objective, z), (other, hint))
        )
        objective, z = (other, there.z) if there.value > here.value else (objective, here.z)
    return search.maximise(objective, z, coordinates.bounds).best


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
        path: list[dict[str, Any]],
        seed: int,
        report: Report | None,
    ) -> "_SparseObjective":
        """With inducing points for the length scales of z."""
        Z = inducing_points(part.X, coordinates.model(z).kernel, min(SIZE.refine_inducing, len(part.y)), seed)
        dtype = "float32" if len(part.y) > SIZE.refine_float32_above else "float64"
        solver = Sparse(tol=SIZE.gap * len(Z), max_iter=SIZE.max_passes, dtype=dtype, gradient=True)
        return cls(part, coordinates, Z, solver, log_prior, path, report)

    def __call__(self, z: Array) -> Evaluation:
        """Evaluate at z."""
        model, part = self.coordinates.model(z), self.part
        posterior = quietly(self.solver, part, model.likelihood, model.kernel, self.Z, self.last)
        # A likelihood with initial sites of its own is better started from them.
        self.last = posterior if model.likelihood.initial_sites(np.zeros(1)) is None else None
        prior, d_prior = (0.0, np.zeros_like(z)) if self.log_prior is None else self.log_prior(z)
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
        return sparse_model(*self.coordinates.model(z), evaluation.posterior, self.path, evaluation.value, z)


def sparse_model(
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


def quietly(
    solver: Sparse,
    part: Sample,
    likelihood: Likelihood,
    kernel: Kernel,
    Z: Array,
    start: SparsePosterior | None = None,
) -> SparsePosterior:
    """Infer the posterior of a part of the rows without warnings."""
    with quiet():
        return solver.infer_inputs(part.X, part.y, likelihood, kernel, part.weight, Z, start)


@contextmanager
def quiet() -> Iterator[None]:
    """A posterior on the way need not be perfect; the final one warns."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield
