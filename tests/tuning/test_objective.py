"""The objective: criterion plus prior with its gradient, warm starts, its path, and subspaces of it."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from softmargin.criteria import Evidence, LeaveOneOut, LinkEvidence
from softmargin.inference import EP
from softmargin.kernels import make_kernel
from softmargin.likelihoods import Hinge
from softmargin.policy import POLICY
from softmargin.search import StopSearch
from softmargin.tuning import Coordinates, HyperPrior, LogParameters, Objective, Subspace

N, D = 30, 3


def make_objective(criterion=None, prior=True, weight=None, **kwargs):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, D))
    y = np.where(X[:, 0] + 0.5 * rng.standard_normal(N) > 0, 1.0, -1.0)
    spread = X.std(axis=0)
    c = Coordinates(make_kernel(None, D, spread), LogParameters(Hinge(1.0), ("C",), (POLICY.likelihood.C,)), D)
    log_prior = HyperPrior().bind(c, spread) if prior else None
    return Objective(X, y, weight, c, criterion or Evidence(), EP(tol=1e-9), log_prior, **kwargs)


@pytest.mark.parametrize("criterion", [Evidence(), LinkEvidence(), LeaveOneOut()], ids=lambda c: c.name)
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
def test_gradient(criterion, weighted):
    weight = np.random.default_rng(1).uniform(0.5, 2, N) if weighted else None
    objective = make_objective(criterion, weight=weight)
    z = objective.coordinates.start + 0.3 * np.random.default_rng(0).standard_normal(D + 3)
    gradient = objective(z).gradient
    step = 1e-3

    def difference(e):
        f = [objective(z + k * step * e).value for k in (-2, -1, 1, 2)]
        return (8 * (f[2] - f[1]) - (f[3] - f[0])) / (12 * step)

    assert_allclose(gradient, [difference(e) for e in np.eye(len(z))], rtol=1e-5, atol=1e-5 * np.abs(gradient).max())


def test_value_is_criterion_plus_prior():
    objective = make_objective()
    evaluation = objective(objective.coordinates.start + 0.1)
    assert evaluation.value == pytest.approx(evaluation.criterion + objective.log_prior(evaluation.z)[0])
    assert evaluation.criterion == evaluation.posterior.log_evidence
    assert make_objective(prior=False)(evaluation.z).value == pytest.approx(evaluation.criterion, abs=1e-6)


def test_path_records_every_evaluation_in_natural_units():
    objective = make_objective(stage="first")
    z = objective.coordinates.start
    for shift in (0.0, 0.1, 0.2):
        objective(z + shift)
    assert [row["stage"] for row in objective.path] == ["first"] * 3
    assert_allclose([row["C"] for row in objective.path], np.exp([0.0, 0.1, 0.2]))
    assert objective.path[0]["inference"] == "ep" and objective.path[0]["n_iter"] > 1


def test_the_same_point_again_is_free():
    objective = make_objective()
    z = objective.coordinates.start
    assert objective(z) is objective(z.copy())
    assert len(objective.path) == 1


def test_warm_start_for_small_moves_only():
    objective = make_objective()
    z = objective.coordinates.start
    objective(z)
    assert objective._start(z + 0.1) is not None
    assert objective._start(z + 0.8 * np.eye(len(z))[0]) is None
    cold = make_objective()(z + 0.1)
    assert objective(z + 0.1).value == pytest.approx(cold.value, abs=1e-7)
    assert objective.path[-1]["n_iter"] < cold.posterior.n_iter


@pytest.mark.parametrize("gradients", [False, True])
def test_a_search_without_gradients_starts_from_the_nearer_of_last_and_best(gradients):
    objective = make_objective(gradients=gradients)
    z = objective.coordinates.start
    better, worse = objective(z), objective(z + 0.6)
    assert better.value > worse.value
    assert objective._start(z + 0.5) is worse.posterior
    assert objective._start(z + 0.1) is (worse if gradients else better).posterior


def test_callback_sees_every_evaluation():
    seen = []
    objective = make_objective(callback=seen.append)
    objective(objective.coordinates.start)
    assert len(seen) == 1 and seen[0].value == objective.path[0]["objective"]


def test_subspace_moves_and_differentiates_along_its_directions():
    objective = make_objective()
    origin = objective.coordinates.start
    directions = np.zeros((D + 3, 2))
    directions[1:4, 0] = 1
    directions[5, 1] = 1
    space = Subspace(objective, origin, directions)
    u = np.array([0.2, -0.3])
    evaluation = space(u)
    assert_allclose(evaluation.z, origin + [0, 0.2, 0.2, 0.2, 0, -0.3])
    assert_allclose(evaluation.gradient, directions.T @ objective(evaluation.z).gradient)


def test_subspace_bounds_keep_every_coordinate_inside():
    objective = make_objective()
    full = np.tile([-1.0, 2.0], (D + 3, 1))
    origin = np.array([0.0, 0.5, 1.5, -0.5, 0.0, 0.0])
    directions = np.zeros((D + 3, 2))
    directions[1:4, 0] = [1, 1, 1]
    directions[5, 1] = -2
    bounds = Subspace(objective, origin, directions).bounds(full)
    # Common scale: up to 2 - 1.5, down to -1 - (-0.5). Reversed and stretched: [-2/2, 1/2].
    assert_allclose(bounds, [[-0.5, 0.5], [-1.0, 0.5]])


def test_subspace_bounds_always_allow_the_origin():
    objective = make_objective()
    full = np.tile([-1.0, 1.0], (D + 3, 1))
    bounds = Subspace(objective, np.full(D + 3, 1.5), np.eye(D + 3)).bounds(full)
    assert np.all(bounds[:, 0] <= 0) and np.all(bounds[:, 1] >= 0)


def test_a_search_among_points_that_do_not_converge_gives_up():
    class Lost(EP):
        def infer(self, K, y, likelihood, weight=None, start=None):
            posterior = super().infer(K, y, likelihood, weight, start)
            return replace(posterior, method="variational", converged=False)

    objective = make_objective()
    objective.inference = Lost()
    start = objective.coordinates.start
    for step in range(POLICY.search.failures):
        objective(start + 0.01 * step)
    # The same point again costs nothing.
    assert objective(start + 0.01 * step).posterior.method == "variational"
    assert len(objective.path) == POLICY.search.failures
    with pytest.raises(StopSearch):
        objective(start - 0.01)


def test_a_search_of_a_criterion_that_is_not_reliable_gives_up():
    class Unsure(Evidence):
        def __call__(self, posterior, problem):
            return replace(super().__call__(posterior, problem), is_reliable=False)

    objective = make_objective(Unsure())
    for step in range(POLICY.search.failures):
        objective(objective.coordinates.start + 0.01 * step)
    with pytest.raises(StopSearch):
        objective(objective.coordinates.start - 0.01)


def test_a_tenth_of_the_points_may_fail():
    class Sometimes(EP):
        def infer(self, K, y, likelihood, weight=None, start=None):
            posterior = super().infer(K, y, likelihood, weight, start)
            fails = len(objective.path) % 12 == 11
            return replace(posterior, method="variational", converged=False) if fails else posterior

    objective = make_objective()
    objective.inference = Sometimes(tol=1e-4)
    for step in range(12 * (POLICY.search.failures + 3)):
        objective(objective.coordinates.start + 1e-3 * step)


def test_half_of_the_points_may_fall_back():
    class FallsBack(EP):
        def infer(self, K, y, likelihood, weight=None, start=None):
            return replace(super().infer(K, y, likelihood, weight, start), method="variational")

    objective = make_objective()
    objective.inference = FallsBack(tol=1e-4)
    for step in range(POLICY.search.fallbacks):
        objective(objective.coordinates.start + 1e-3 * step)
    with pytest.raises(StopSearch):
        objective(objective.coordinates.start - 1e-3)
