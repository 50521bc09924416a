"""Streams: a fitted sparse model is updated by one batch of rows at a time, at the cost of the batch alone.

The rows seen so far are remembered as one Gaussian factor over the whitened inducing values,
exp(b'v - v'Av/2)/Z with I + A = S^-1 and b = S^-1 mu of the posterior they left, so that prior times factor is that
posterior. Kernel, C and inducing points stay, unless `follow` learns the hyperparameters again on a sample: in terms of
the function values at the inducing points, u = L v, the factor does not depend on the kernel, so that it stands for the
old rows at the new one too (Bui, Nguyen & Turner 2017).
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from softmargin._linalg import Array
from softmargin.inference import Sparse, SparsePosterior
from softmargin.policy import POLICY
from softmargin.rows import Summable
from softmargin.tuning.coordinates import Coordinates, LikelihoodCoordinates
from softmargin.tuning.large.refine import Sample
from softmargin.tuning.large.sparse import learn_on_sample
from softmargin.tuning.model import LatentModel
from softmargin.tuning.settings import Tuning


@dataclass
class RememberedRows:
    """New rows together with a Gaussian factor that stands for the old ones."""

    rows: Summable
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


def update(model: LatentModel, rows: Summable) -> LatentModel:
    """Update a model by the rows of a batch; `log_evidence` grows by the bound on ln p(batch | rows before)."""
    old = model.posterior
    assert isinstance(old, SparsePosterior)
    solver = Sparse(tol=POLICY.size.gap * len(old.Z), max_iter=POLICY.size.max_passes)
    new = solver.infer_rows(RememberedRows(rows, old), model.likelihood, model.kernel, old.Z, old)
    return replace(model, posterior=replace(new, log_evidence=old.log_evidence + new.log_evidence))


def follow(
    model: LatentModel,
    sample: Sample,
    kernel: Kernel,
    likelihood: LikelihoodCoordinates,
    spread: Array,
    tuning: Tuning,
) -> LatentModel:
    """Learn the hyperparameters of a model again on a sample of its rows, starting from its own.

    The model stays as it is if its memory of the rows cannot be expressed at the new kernel.
    """
    coordinates = Coordinates(kernel, likelihood, n_features=len(spread))
    if len(coordinates.start) != len(model.z):
        return model
    old = model.posterior
    assert isinstance(old, SparsePosterior)
    z, value, path = learn_on_sample(sample, coordinates, spread, tuning, model.z)
    learnt = coordinates.model(z)
    chosen = learnt.likelihood.normalised() if tuning.criterion is None else learnt.likelihood
    posterior = old.with_kernel(learnt.kernel)
    if posterior is None:
        return model
    path = [*model.path, *path]
    return replace(model, kernel=learnt.kernel, likelihood=chosen, posterior=posterior, path=path, objective=value, z=z)
