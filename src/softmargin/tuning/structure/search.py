"""A search that finds structure: climb, ask a score test which length scale should be another one, try it, repeat.

The evidence of a function that turns often in one input has an optimum without that input, or with everything called
noise, and a climb from long length scales ends there: the gradient with respect to a length scale says nothing of one
ten times shorter. `ScoreTest` says at the end of a climb what a component with that length scale would gain.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from softmargin._linalg import Array
from softmargin.kernels import gram, gram_float32
from softmargin.policy import POLICY
from softmargin.rows import is_heavy_tailed
from softmargin.search import LBFGS, Evaluation, Search, SearchResult
from softmargin.tuning.coordinates import Coordinates
from softmargin.tuning.objective import Objective
from softmargin.tuning.structure.score_test import ScoreTest

STRUCTURE = POLICY.structure
EVIDENCES = ("evidence", "link_evidence")
"""Criteria that are a Gaussian posterior's ln Z, which the score test differentiates."""


@dataclass(frozen=True)
class LengthScales:
    """The entries of z that are length scales of inputs that vary, in the data's own units."""

    where: NDArray[np.intp]
    """Their indices in z, shape (n_scales,)."""
    log_spread: Array
    """ln of the spread of its input, or of the inputs' geometric mean if it is common to all; shape (n_scales,)."""
    half_log_d: float
    """ln of sqrt(d) for d inputs that vary."""
    alone: NDArray[np.bool_] | None = None
    """Which of them may be switched alone, shape (n_scales,); None: all."""

    @classmethod
    def of(cls, coordinates: Coordinates, spread: Array) -> "LengthScales":
        """Find them in the coordinates, for inputs of the given spread of shape (n_features,)."""
        varying = spread > 0
        logs = np.log(np.where(varying, spread, 1.0))
        common = float(logs[varying].mean()) if varying.any() else 0.0
        found = [
            (i, common if role.input is None else logs[role.input])
            for i, role in enumerate(coordinates.roles)
            if role.kind == "length_scale" and varying.any() and (role.input is None or varying[role.input])
        ]
        where, log_spread = np.array([i for i, _ in found], dtype=np.intp), np.array([unit for _, unit in found])
        return cls(where, log_spread, 0.5 * float(np.log(max(int(varying.sum()), 1))))

    def together(self, z: Array, log_factor: float) -> Array:
        """z with every length scale at e^log_factor sqrt(d) times its spread."""
        moved = z.copy()
        moved[self.where] = self.log_spread + self.half_log_d + log_factor
        return moved

    def candidates(self, z: Array, bounds: Array) -> Iterator[tuple[int, Array]]:
        """Yield (group, point): one length scale changed (its number is the group), or all of them (-1).

        Points are within the bounds of shape (n_z, 2) and `far` from z.
        """
        low, high = bounds.T
        for j, i in enumerate(self.where):
            if self.alone is not None and not self.alone[j]:
                continue
            for log_factor in _thinned(STRUCTURE.alone, STRUCTURE.most // len(self.where)):
                point = z.copy()
                point[i] = np.clip(self.log_spread[j] + log_factor, low[i], high[i])
                if abs(point[i] - z[i]) >= STRUCTURE.far:
                    yield j, point
        # With one input and one length scale these are among those above.
        if len(self.where) > 1 or self.half_log_d > 0:
            for log_factor in STRUCTURE.together:
                point = np.clip(self.together(z, log_factor), low, high)
                if np.max(np.abs(point - z)) >= STRUCTURE.far:
                    yield -1, point


def _thinned(values: tuple[float, ...], most: int) -> tuple[float, ...]:
    """At most so many of the values, evenly spread and centred."""
    if most >= len(values):
        return values
    # The middles of `most` equal parts.
    return tuple(values[int((k + 0.5) * len(values) / most)] for k in range(most))


class Switch(NamedTuple):
    """A candidate and the nats it is expected to gain, less the hyperprior's share."""

    gain: float
    point: Array
    """Shape (n_z,)."""
    group: int
    """The number of the length scale that is changed; -1 for all of them."""


@dataclass(frozen=True)
class StructureSearch:
    """A climb, followed by rounds of switches that the score test recommends.

    Each round takes the best candidate of every length scale, lets the `tries` that expect most climb for
    `trial_iter` iterations, and climbs from the best of them to the end if it is above the point reached so far.

    Parameters
    ----------
    search : LBFGS
        What climbs.
    scales : LengthScales
    max_rounds : int
    tries : int
    trial_iter : int
    least : float
        Nats that a switch must be expected to gain to be tried.
    sure : float
        Nats from which the trials' best end is climbed from even if it is not above yet.

    Examples
    --------
    >>> import numpy as np
    >>> from softmargin import BayesianSVR
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-3, 3, size=(160, 2))
    >>> y = 0.5 * X[:, 0] + np.sin(4 * X[:, 1]) + 0.2 * rng.normal(size=160)
    >>> bool(BayesianSVR().fit(X[:60], y[:60]).score(X[60:], y[60:]) > 0.8)
    True
    """

    search: LBFGS
    scales: LengthScales
    max_rounds: int = 6
    tries: int = 2
    trial_iter: int = 4
    least: float = 1.0
    sure: float = 10.0

    def maximise(
        self, objective: Objective, start: Array, bounds: Array, random_state: np.random.RandomState | None = None
    ) -> SearchResult:
        """Climb from `start` of shape (n_z,) within `bounds` of shape (n_z, 2), and switch while that gains.

        A classifier that is not clearly better than one probability for all rows does so from short length scales too.
        """
        best = self._with_switches(objective, start, bounds)
        if best.stopped or not len(self.scales.where) or not is_doubtful(best.best, objective):
            return best
        return _best(best, self._with_switches(objective, self.scales.together(start, STRUCTURE.short), bounds))

    def _with_switches(self, objective: Objective, start: Array, bounds: Array) -> SearchResult:
        short = replace(self.search, max_iter=min(self.trial_iter, self.search.max_iter))
        best = self.search.maximise(objective, start, bounds)
        # Who asks for few iterations does not ask for many climbs.
        for _ in range(min(self.max_rounds, self.search.max_iter)):
            switches = [] if best.stopped else self.switches(objective, best.best, bounds)[: self.tries]
            trials: list[SearchResult] = []
            for switch in switches:
                trials.append(short.maximise(objective, switch.point, bounds))
                if trials[-1].stopped:
                    return _best(best, *trials)
            enough = best.best.value + self.search.tol
            if not trials or (_best(*trials).best.value <= enough and switches[0].gain < self.sure):
                return best
            climbed = self.search.maximise(objective, _best(*trials).point, bounds)
            if climbed.stopped or climbed.best.value <= enough:
                return _best(best, climbed)
            best = climbed
        return best

    def switches(self, objective: Objective, at: Evaluation, bounds: Array) -> list[Switch]:
        """The best candidate of every length scale that expects to gain enough, largest expected gain first."""
        test = score_test(objective, at)
        if test is None:
            return []
        candidates = self.scales.candidates(at.z, bounds)
        if len(test.beta) < STRUCTURE.screen_from:
            return self._ranked(objective, at, test, candidates)
        # The estimate is within about a factor of two of the truth: let that decide between the leaders.
        leaders = self._ranked(objective, at, test, candidates, screen=True)[: 2 * self.tries]
        return self._ranked(objective, at, test, ((switch.group, switch.point) for switch in leaders))

    def _ranked(
        self,
        objective: Objective,
        at: Evaluation,
        test: ScoreTest,
        candidates: Iterable[tuple[int, Array]],
        *,
        screen: bool = False,
    ) -> list[Switch]:
        prior, X = objective.log_prior, objective.X
        best: dict[int, Switch] = {}
        for group, point in candidates:
            kernel = objective.coordinates.model(point).kernel
            gain = test.estimated_gain(gram_float32(kernel, X, X)) if screen else test.expected_gain(gram(kernel, X))
            if prior is not None:
                gain += STRUCTURE.prior_share * min(prior(point)[0] - prior(at.z)[0], 0.0)
            if gain > (0.5 * self.least if screen else self.least) and (group not in best or gain > best[group].gain):
                best[group] = Switch(gain, point, group)
        return sorted(best.values(), key=lambda switch: -switch.gain)


def finds_structure(search: Search, objective: Objective, spread: Array) -> Search | StructureSearch:
    """The search that climbs an objective over all of z: with switches where it is an evidence with length scales.

    Parameters
    ----------
    search : Search
        Returned as it is if it is not LBFGS, or if there is nothing to switch.
    objective : Objective
    spread : ndarray of shape (n_features,)
        Standard deviation of each input.
    """
    scales = LengthScales.of(objective.coordinates, spread)
    if not isinstance(search, LBFGS) or objective.criterion.name not in EVIDENCES or not len(scales.where):
        return search
    # A short length scale of a heavy-tailed input fits its bulk and leaves its tail to the prior: the evidence gains
    # and predictions lose.
    tailed = is_heavy_tailed(objective.X, np.ones(len(objective.y)) if objective.weight is None else objective.weight)
    inputs = [objective.coordinates.roles[i].input for i in scales.where]
    alone = np.array([a is None or not tailed[a] for a in inputs])
    return StructureSearch(search, replace(scales, alone=alone))


def score_test(objective: Objective, at: Evaluation) -> ScoreTest | None:
    """The score test at an evaluation; that of a regression has normal noise. None if its inference has none."""
    test, (kernel, likelihood) = ScoreTest.of(at.posterior), objective.coordinates.model(at.z)
    sites = None if likelihood.is_classifier else likelihood.initial_sites(objective.y, objective.weight)
    if test is None or sites is None:
        return test
    # Noise of the same variance; targets far away from all others have no site.
    return ScoreTest.normal(gram(kernel, objective.X), *sites)


def is_doubtful(best: Evaluation, objective: Objective) -> bool:
    """Whether a classifier is not decisively better than the best single probability for all rows; else False."""
    y = objective.y
    if not objective.coordinates.is_classifier:
        return False
    weight = np.ones_like(y) if objective.weight is None else objective.weight
    n = np.array([weight @ (y > 0), weight @ (y <= 0)])
    constant = float(n @ np.log(np.maximum(n / n.sum(), np.finfo(float).tiny)))
    return bool(best.value < constant + STRUCTURE.decisive)


def _best(*results: SearchResult) -> SearchResult:
    """The result with the highest value, which was stopped if any of them was."""
    best = max(results, key=lambda result: result.best.value)
    return best._replace(stopped=any(result.stopped for result in results))
