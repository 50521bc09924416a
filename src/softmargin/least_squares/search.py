"""The climb: leave-one-out log-likelihood plus log prior as a function of z = (kernel.theta, ln s2, ln b)."""

from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from softmargin._linalg import Array, NotPositiveDefiniteError
from softmargin.least_squares.softmax import Labels, link_value
from softmargin.least_squares.space import SearchSpace
from softmargin.search import LBFGS, Callback, Evaluation, Objective, notify


class Outputs(Protocol):
    """Leave-one-out outputs at one point."""

    @property
    def M(self) -> Array:
        """Outputs, shape (n, n_classes)."""
        ...

    def pull(self, D: Array) -> tuple[Array, float]:
        """dF/dtheta and dF/dln s2, for D = dF/dM."""
        ...


class SearchedRows(Protocol):
    """Training rows, dense or in low rank."""

    @property
    def weight(self) -> Array:
        """Copies of each row, shape (n,)."""
        ...

    def outputs(self, kernel: Kernel, noise_variance: float) -> Outputs:
        """Solve the regression at these hyperparameters."""
        ...


@dataclass
class LooObjective(Objective):
    """Leave-one-out log-likelihood of softmax(b M) plus log prior; every evaluation is recorded in `path`."""

    rows: SearchedRows = field(repr=False)
    labels: Labels = field(repr=False)
    space: SearchSpace
    stage: str = "search"
    path: list[dict[str, Any]] = field(default_factory=list, repr=False)
    callback: Callback | None = field(default=None, repr=False)

    def __call__(self, z: Array) -> Evaluation:
        """Evaluate at z, with the exact gradient."""
        z = np.array(z, dtype=np.float64)
        noise_variance, slope = np.exp(z[-2:])
        try:
            outputs = self.rows.outputs(self.space.kernel_at(z[:-2]), float(noise_variance))
        except NotPositiveDefiniteError:
            return Evaluation(z, -np.inf, None, -np.inf, None)
        link = link_value(outputs.M, float(slope), self.labels, self.rows.weight)
        d_theta, d_log_noise = outputs.pull(link.d_outputs)
        prior, gradient = self.space.log_prior(z)
        gradient = gradient + np.concatenate([d_theta, [d_log_noise, link.d_log_slope]])
        evaluation = Evaluation(z, link.value + prior, gradient, link.value, None)
        point = dict(zip(self.space.names, np.exp(z).tolist()))
        self.path.append(
            {"stage": self.stage, "objective": evaluation.value, "criterion": evaluation.criterion, **point}
        )
        notify(evaluation, self.callback)
        return evaluation


def climb(objective: LooObjective, start: Array, max_iter: int) -> Evaluation:
    """Return the best point found from `start` in at most `max_iter` iterations of L-BFGS-B."""
    space = objective.space
    return LBFGS(max_iter=max_iter, tol=space.policy.tol).maximise(objective, start, space.bounds).best
