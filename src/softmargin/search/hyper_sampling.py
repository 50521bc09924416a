"""Hyperparameters sampled under the evidence instead of maximising it: Sollich 2002, section 4, below eq. 16.

"In a fully Bayesian treatment, the hyperparameters should be integrated over, with a weight proportional to the
evidence." The objective, criterion plus log hyperprior, is the logarithm of that density over the coordinates z, the
logarithms of the hyperparameters. After a climb to a maximum, Hamiltonian Monte Carlo with the objective's gradient
draws from it; predictions average over the models at the draws.
"""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from softmargin._linalg import Array
from softmargin._parts import Part
from softmargin.policy import POLICY
from softmargin.sampling import adaptation
from softmargin.search._protocol import Evaluation, Objective, SearchResult
from softmargin.search.lbfgs import LBFGS
from softmargin.search.watch import StopSearch


class _Move(NamedTuple):
    """Where a trajectory leads, and the probability to accept it."""

    evaluation: Evaluation
    acceptance: float


@dataclass(frozen=True, repr=False)
class HyperparameterSampling(Part):
    """Sample the hyperparameters; predictions average over the samples.

    Parameters
    ----------
    n_samples : int
        Samples that are kept: as many models are averaged.
    n_warmup : int
        Trajectories before, which adapt the step size to an acceptance of 80 %.
    thin : int
        Trajectories for each sample that is kept.
    n_leapfrog : int
        Steps of a trajectory, each one evaluation with its gradient.
    step : float
        First step size, in units of the logarithm of a hyperparameter.
    max_iter : int
        Iterations of the climb before.
    tol : float
        The climb stops when it gains less than this many nats in an iteration.

    See Also
    --------
    LBFGS : One point in the place of samples.

    References
    ----------
    Sollich (2002), Bayesian methods for support vector machines, eq. 16 and the text below it.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from softmargin import BayesianSVC
    >>> X, y = make_moons(30, noise=0.2, random_state=0)
    >>> search = HyperparameterSampling(n_samples=3, n_warmup=2, n_leapfrog=2)
    >>> BayesianSVC("rbf", criterion="evidence", search=search, random_state=0).fit(X, y).predict_proba(X[:2]).shape
    (2, 2)
    """

    n_samples: int = 20
    n_warmup: int = 20
    thin: int = 2
    n_leapfrog: int = 4
    step: float = 0.3
    max_iter: int = 60
    tol: float = 1e-2

    name: ClassVar[str] = "sample"
    needs_gradient: ClassVar[bool] = True
    averages_noise: ClassVar[bool] = False
    gives_samples: ClassVar[bool] = True

    def __post_init__(self) -> None:
        for name in ("n_samples", "thin", "n_leapfrog", "step"):
            if getattr(self, name) <= 0:
                raise ValueError(f"{name} must be positive; got {getattr(self, name)}")

    def maximise(
        self,
        objective: Objective,
        start: Array,
        bounds: Array,
        random_state: np.random.RandomState | None = None,
    ) -> SearchResult:
        """Climb from `start` of shape (n,) within `bounds` of shape (n, 2), then sample; `samples` holds the draws."""
        rng = np.random.RandomState(0) if random_state is None else random_state
        mode = LBFGS(self.max_iter, self.tol).maximise(objective, start, bounds)
        if mode.stopped or len(start) == 0 or mode.best.gradient is None:
            return mode._replace(samples=(mode.point,))
        best, here, samples = mode.best, mode.best, []
        size = adaptation.start(self.step)
        try:
            for k in range(self.n_warmup + self.n_samples * self.thin):
                warm = k < self.n_warmup
                move = self._trajectory(objective, here, bounds, size.current if warm else size.final, rng)
                if rng.random_sample() < move.acceptance:
                    here = move.evaluation
                if warm:
                    size = adaptation.update(size, move.acceptance, POLICY.sampling.acceptance)
                elif (k - self.n_warmup) % self.thin == self.thin - 1:
                    samples.append(here.z)
                best = max(best, here, key=lambda evaluation: evaluation.value)
        except StopSearch:
            samples = samples or [here.z]
        return SearchResult(best.z, best, len(samples), len(samples) == self.n_samples, samples=tuple(samples))

    def _trajectory(
        self, objective: Objective, here: Evaluation, bounds: Array, size: float, rng: np.random.RandomState
    ) -> _Move:
        """A leapfrog trajectory with a fresh momentum; one that leaves the bounds, or its gradient, is rejected."""
        momentum = rng.standard_normal(len(here.z))
        # Against periodic orbits.
        e = size * (0.8 + 0.4 * rng.random_sample())
        before = here.value - 0.5 * float(momentum @ momentum)
        there = here
        for _ in range(self.n_leapfrog):
            assert there.gradient is not None
            momentum = momentum + 0.5 * e * there.gradient
            z = there.z + e * momentum
            if np.any(z < bounds[:, 0]) or np.any(z > bounds[:, 1]):
                return _Move(here, 0.0)
            there = objective(z)
            if there.gradient is None or not np.isfinite(there.value):
                return _Move(here, 0.0)
            momentum = momentum + 0.5 * e * there.gradient
        after = there.value - 0.5 * float(momentum @ momentum)
        return _Move(there, float(np.exp(min(after - before, 0.0))))
