"""The function that a search climbs: criterion plus hyperprior at z, with the exact gradient, and its path."""

import warnings
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from softmargin._linalg import Array
from softmargin.criteria import Criterion, Problem
from softmargin.inference import Inference, Posterior
from softmargin.kernels import evaluate
from softmargin.policy import POLICY
from softmargin.search import Callback, Evaluation, ScaledObjective, StopSearch, notify
from softmargin.search.checkpoint import digest
from softmargin.tuning.coordinates import Coordinates
from softmargin.tuning.hyperprior import LogDensity


def path_row(evaluation: Evaluation, stage: str, coordinates: Coordinates) -> dict[str, Any]:
    """What the path tells of an evaluation."""
    return {
        "stage": stage,
        "objective": evaluation.value,
        "criterion": evaluation.criterion,
        "inference": evaluation.posterior.method,
        "n_iter": evaluation.posterior.n_iter,
        **dict(zip(coordinates.names, np.exp(evaluation.z).tolist())),
    }


@dataclass
class Objective(ScaledObjective):
    """Criterion plus log hyperprior as a function of z.

    Every call is recorded in `path`; the nearest of the posteriors kept (the last converged one, and without gradients
    the best one too) warm-starts the next inference.
    """

    X: Any = field(repr=False)
    y: Array = field(repr=False)
    weight: Array | None = field(repr=False)
    coordinates: Coordinates
    criterion: Criterion
    inference: Inference
    log_prior: LogDensity | None = None
    stage: str = "search"
    path: list[dict[str, Any]] = field(default_factory=list, repr=False)
    callback: Callback | None = field(default=None, repr=False)
    gradients: bool = True
    """Whether the search wants gradients."""
    units: Array | None = field(default=None, repr=False)
    """The unit of each entry of z in which a search should measure its steps, shape (n_z,); None: its logarithm."""
    _last: Evaluation | None = field(default=None, repr=False)
    _best: Evaluation | None = field(default=None, repr=False)
    """Kept for searches without gradients, which go back to it after every failed step."""
    _failed: Evaluation | None = field(default=None, repr=False)
    """The last one whose inference fell back: a climb that starts there asks for it twice."""
    _calls: int = field(default=0, repr=False)
    _failures: int = field(default=0, repr=False)
    """Calls whose inference did not converge, nor what it fell back to, or whose criterion is not reliable."""
    _fallbacks: int = field(default=0, repr=False)
    """Calls whose inference fell back."""

    @property
    def names(self) -> list[str]:
        """Names of the coordinates."""
        return self.coordinates.names

    def __call__(self, z: Array) -> Evaluation:
        """Evaluate at z."""
        z = np.array(z, dtype=float)
        for known in (self._last, self._failed):
            if known is not None and np.array_equal(z, known.z):
                return known
        model = self.coordinates.model(z)
        kernel = evaluate(model.kernel, self.X)
        likelihood = self.criterion.likelihood(model.likelihood)
        with warnings.catch_warnings():
            # A point on the way need not be perfect; the final fit warns.
            warnings.simplefilter("ignore", ConvergenceWarning)
            posterior = self.inference.infer(kernel.K, self.y, likelihood, self.weight, self._start(z))
        problem = Problem(kernel.K, self.y, likelihood, self.weight)
        result = self.criterion(posterior, problem)
        sign = 1.0 if self.criterion.greater_is_better else -1.0
        value, gradient = sign * float(result.value), None
        if self.gradients and result.d_gram is not None and result.d_params is not None:
            gradient = sign * self.coordinates.chain(z, kernel.contract(result.d_gram), result.d_params)
        if self.log_prior is not None:
            prior, d_prior = self.log_prior(z)
            value += float(prior)
            gradient = None if gradient is None else gradient + d_prior
        # The gradient with respect to K has done its work: n^2 numbers less to remember.
        evaluation = Evaluation(z, value, gradient, result.value, replace(posterior, d_gram=None))
        self._record(evaluation, posterior.converged and result.is_reliable)
        return evaluation

    def memory(self) -> Any:
        """What later evaluations depend on (a checkpoint keeps it)."""
        counts = self._calls, self._failures, self._fallbacks
        return self._last, self._best, list(self.path), self._failed, counts

    def restore(self, memory: Any) -> None:
        """Go on as if the evaluations before `memory` had been made here."""
        self._last, self._best, path, self._failed, counts = memory
        self._calls, self._failures, self._fallbacks = counts
        self.path[:] = path

    def fingerprint(self) -> str:
        """Return a hash of all that the values depend on: the data, the criterion, the model and the inference."""
        parts = self.X, self.y, self.weight, self.coordinates, self.criterion, self.inference, self.log_prior
        return digest(*parts, self.gradients, self.stage)

    def _start(self, z: Array) -> Posterior | None:
        known = [evaluation for evaluation in (self._last, self._best) if evaluation is not None]
        distance = [float(np.max(np.abs(z - evaluation.z), initial=0.0)) for evaluation in known]
        if not known or min(distance) > POLICY.search.warm_start_within:
            return None
        return known[int(np.argmin(distance))].posterior

    def _record(self, evaluation: Evaluation, is_sound: bool) -> None:
        posterior = evaluation.posterior
        if posterior.converged and posterior.method == self.inference.name:
            self._last = evaluation
            if not self.gradients and (self._best is None or evaluation.value > self._best.value):
                self._best = evaluation
        else:
            self._failed = evaluation
        self.path.append(path_row(evaluation, self.stage, self.coordinates))
        notify(evaluation, self.callback)
        self._give_up(evaluation, is_sound)

    def _give_up(self, evaluation: Evaluation, is_sound: bool) -> None:
        """End a search among points at which nothing converges, each of which costs as much as a hundred others."""
        posterior, policy = evaluation.posterior, POLICY.search
        self._calls += 1
        self._failures += not is_sound
        self._fallbacks += posterior.method != self.inference.name
        failed = self._failures > max(policy.failures, self._calls // 10)
        if failed or self._fallbacks > max(policy.fallbacks, self._calls // 2):
            stop = StopSearch()
            stop.evaluation = evaluation
            raise stop


@dataclass
class Subspace(ScaledObjective):
    """An objective restricted to z = origin + directions @ u.

    Parameters
    ----------
    objective : Objective
        Function of all coordinates.
    origin : ndarray of shape (n_z,)
        Point at which the subspace is attached.
    directions : ndarray of shape (n_z, n_u)
        One direction per column.
    """

    objective: Objective
    origin: Array
    directions: Array

    def __call__(self, u: Array) -> Evaluation:
        """Evaluate at u; the evaluation's z is that of the full space, its gradient that of the subspace."""
        full = self.objective(self.z(u))
        gradient = None if full.gradient is None else self.directions.T @ full.gradient
        return full._replace(gradient=gradient)

    @property
    def names(self) -> list[str]:
        """One for each direction, which is no single hyperparameter."""
        return [f"direction_{k}" for k in range(self.directions.shape[1])]

    @property
    def units(self) -> Array | None:
        """The smallest unit of the entries of z that each direction moves by one, shape (n_u,)."""
        if self.objective.units is None:
            return None
        with np.errstate(divide="ignore"):
            units: Array = np.min(self.objective.units[:, None] / np.abs(self.directions), axis=0)
        return units

    def memory(self) -> Any:
        """See `Objective.memory`."""
        return self.objective.memory()

    def restore(self, memory: Any) -> None:
        """See `Objective.restore`."""
        self.objective.restore(memory)

    def fingerprint(self) -> str:
        """See `Objective.fingerprint`."""
        return digest(self.objective.fingerprint(), self.origin, self.directions)

    def z(self, u: Array) -> Array:
        """Return the point of the full space."""
        return self.origin + self.directions @ u

    def bounds(self, full: Array) -> Array:
        """Bounds on u so that every entry of z that a single direction moves stays within the full bounds."""
        bounds = np.tile([-np.inf, np.inf], (self.directions.shape[1], 1))
        for i, j in zip(*np.nonzero(self.directions)):
            a, b = sorted((full[i] - self.origin[i]) / self.directions[i, j])
            bounds[j] = max(bounds[j, 0], a), min(bounds[j, 1], b)
        # The origin itself is always allowed.
        return np.stack([np.minimum(bounds[:, 0], 0), np.maximum(bounds[:, 1], 0)], axis=1)
