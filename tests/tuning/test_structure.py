"""The search that finds structure: its candidates, its switches against brute force, and where it changes nothing."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct, Matern
from threadpoolctl import threadpool_limits

from softmargin.criteria import LeaveOneOut
from softmargin.kernels import make_kernel
from softmargin.likelihoods import Hinge
from softmargin.policy import POLICY
from softmargin.search import LBFGS, RandomWalk, StopSearch
from softmargin.tuning import Coordinates, LogParameters
from softmargin.tuning.structure.search import (
    LengthScales,
    StructureSearch,
    finds_structure,
    is_doubtful,
)

from . import problems


@pytest.fixture(autouse=True)
def one_thread():
    """Small matrices gain nothing from several BLAS threads; the estimators limit them too."""
    with threadpool_limits(1):
        yield


def ends(X, y, **kwargs):
    """Where one climb and the search with switches end, each with an objective of its own, and the latter's path."""
    plain, spread = problems.objective_for(X, y, **kwargs)
    start, bounds = plain.coordinates.start, plain.coordinates.bounds
    climb = LBFGS().maximise(plain, start, bounds)
    objective, _ = problems.objective_for(X, y, **kwargs)
    found = finds_structure(LBFGS(), objective, spread).maximise(objective, start, bounds)
    return climb, found, objective


def scales_of(d, spread=None, kernel=None):
    spread = np.ones(d) if spread is None else spread
    coordinates = Coordinates(
        make_kernel(kernel, d, spread), LogParameters(Hinge(1.0), ("C",), (POLICY.likelihood.C,)), d
    )
    return LengthScales.of(coordinates, spread), coordinates


def test_length_scales_are_in_the_units_of_their_inputs():
    scales, coordinates = scales_of(3, np.array([2.0, 0.0, 5.0]))
    assert [coordinates.names[i] for i in scales.where] == ["length_scale_0", "length_scale_2"]
    assert_allclose(scales.log_spread, np.log([2.0, 5.0]))
    moved = scales.together(coordinates.start, -1.0)
    assert_allclose(moved[scales.where], np.log([2.0, 5.0]) + np.log(2) / 2 - 1)
    unmoved = np.delete(np.arange(len(moved)), scales.where)
    assert_allclose(moved[unmoved], coordinates.start[unmoved])


def test_a_common_length_scale_is_in_units_of_the_geometric_mean():
    scales, _ = scales_of(2, np.array([1.0, 100.0]), ConstantKernel() * RBF())
    assert_allclose(scales.log_spread, np.log([10.0]))


@pytest.mark.parametrize("kernel", [ConstantKernel() * DotProduct(), "linear"])
def test_kernels_without_length_scales_have_none(kernel):
    assert len(scales_of(2, kernel=kernel)[0].where) == 0


def test_candidates_are_far_and_within_bounds():
    scales, coordinates = scales_of(3, np.array([1.0, 20.0, 0.3]))
    z = scales.together(coordinates.start, 0.5)
    z[scales.where[0]] = -1.0
    bounds = coordinates.bounds.copy()
    bounds[scales.where[2], 0] = np.log(0.3) - 1.2
    candidates = list(scales.candidates(z, bounds))
    # Of the first length scale only e^-2 and 1 are far from e^-1 (times a spread of 1).
    alone = [point for group, point in candidates if group == 0]
    assert_allclose([point[scales.where[0]] for point in alone], [-2.0, 0.0])
    assert sum(group == 1 for group, _ in candidates) == len(POLICY.structure.alone)
    assert_allclose([p[scales.where[2]] for g, p in candidates if g == 2][:2], np.log(0.3) - 1.2)
    assert sum(group == -1 for group, _ in candidates) == len(POLICY.structure.together)
    for group, point in candidates:
        moved = np.flatnonzero(point != z)
        assert set(moved) <= set(scales.where) if group == -1 else moved.tolist() == [scales.where[group]]
        assert np.max(np.abs(point - z)) >= POLICY.structure.far
        assert np.all((point >= bounds[:, 0]) & (point <= bounds[:, 1]))


@pytest.mark.parametrize(("d", "each"), [(20, 5), (25, 4), (50, 2), (60, 1), (101, 0)])
def test_many_inputs_have_few_candidates_each(d, each):
    scales, coordinates = scales_of(d)
    z = scales.together(coordinates.start, 2.0)
    groups = [group for group, _ in scales.candidates(z, coordinates.bounds)]
    assert sum(group >= 0 for group in groups) == d * each <= POLICY.structure.most
    assert all(groups.count(j) == each for j in range(d))
    assert groups.count(-1) == len(POLICY.structure.together)


def test_one_input_has_no_candidate_twice():
    scales, coordinates = scales_of(1)
    points = [point for _, point in scales.candidates(scales.together(coordinates.start, 2.0), coordinates.bounds)]
    assert len(points) == len(np.unique(points, axis=0)) == len(POLICY.structure.alone)


@pytest.mark.parametrize(
    ("problem", "gain"),
    [
        (problems.checkerboard, 30.0),
        (problems.two_waves, 10.0),
        (problems.product, 50.0),
        (problems.fast_labels, 30.0),
        (problems.fast_targets, 80.0),
    ],
    ids=lambda p: getattr(p, "__name__", ""),
)
def test_finds_structure_that_a_climb_misses(problem, gain):
    climb, found, _ = ends(*problem(101))
    assert found.best.value > climb.best.value + gain
    assert found.converged and not found.stopped


@pytest.mark.parametrize(
    "kernel", [Matern(1.0, nu=2.5), Matern([1.0, 1.0], nu=1.5) + RBF([1.0, 1.0]), RBF(1.0)], ids=str
)
def test_any_kernel_with_length_scales_switches(kernel):
    X, y = problems.checkerboard(101)
    climb, found, _ = ends(X, y, kernel=ConstantKernel(1.0) * kernel)
    assert found.best.value > -0.8 * np.log(2) * len(y)
    assert found.best.value >= climb.best.value


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("problem", [problems.noise_labels, problems.noise_targets], ids=lambda p: p.__name__)
def test_pure_noise_is_unchanged(problem, seed):
    climb, found, _ = ends(*problem(seed))
    assert found.best.value == pytest.approx(climb.best.value, abs=1e-2)
    assert_allclose(found.best.posterior.mean, climb.best.posterior.mean, atol=0.02)


def everywhere(X, y):
    """The best end of climbs from a grid of length scales, e^-2 to e^1 of the spread each."""
    objective, spread = problems.objective_for(X, y)
    scales, bounds = LengthScales.of(objective.coordinates, spread), objective.coordinates.bounds
    best = -np.inf
    for logs in itertools.product([-2.0, -1.0, 0.0, 1.0], repeat=len(scales.where)):
        z = objective.coordinates.start.copy()
        z[scales.where] = scales.log_spread + logs
        best = max(best, LBFGS().maximise(objective, z, bounds).best.value)
    return best


def small(kind, seed):
    """Fifty rows and two inputs."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3, 3, size=(50, 2))
    f = {
        "waves": np.sin(2.5 * X[:, 0]) + 0.7 * np.cos(2 * X[:, 1]),
        "fast": 0.5 * X[:, 0] + np.sin(4 * X[:, 1]),
        "slow": X[:, 0] + 0.3 * X[:, 1] ** 2,
    }[kind]
    y = f + 0.2 * rng.normal(size=50)
    return X, (y - np.median(y)) / y.std() if seed % 2 else np.where(y > np.median(f), 1.0, -1.0)


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("kind", ["waves", "fast", "slow"])
def test_expected_gains_tell_where_climbs_from_everywhere_gain(kind, seed):
    """Where a climb misses nats, a switch expects some; where no climb gains, following the switches neither does."""
    X, y = small(kind, seed)
    climb, found, objective = ends(X, y)
    search = finds_structure(LBFGS(), objective, X.std(axis=0))
    expected = [switch.gain for switch in search.switches(objective, climb.best, objective.coordinates.bounds)]
    best = everywhere(X, y)
    assert found.best.value > best - 0.5
    if best > climb.best.value + 5:
        assert max(expected) > 1
    if kind == "slow":
        assert best < climb.best.value + 0.1
        assert max(expected, default=0.0) < 10


def test_switches_are_ranked_by_what_they_expect():
    X, y = problems.fast_labels(101)
    objective, spread = problems.objective_for(X, y)
    climb = LBFGS().maximise(objective, objective.coordinates.start, objective.coordinates.bounds)
    switches = finds_structure(LBFGS(), objective, spread).switches(objective, climb.best, objective.coordinates.bounds)
    gains = [switch.gain for switch in switches]
    assert switches[0].group == 1
    assert gains == sorted(gains, reverse=True) and gains[-1] > 1
    assert len({switch.group for switch in switches}) == len(switches)


def test_half_of_what_the_hyperprior_takes_is_charged():
    X, y = problems.fast_labels(101)
    (charged, spread), (free, _) = (problems.objective_for(X, y, prior=prior) for prior in (True, False))
    at, bounds, prior = charged(charged.coordinates.start), charged.coordinates.bounds, charged.log_prior
    search = finds_structure(LBFGS(), charged, spread)
    with_prior, without = (search.switches(objective, at, bounds) for objective in (charged, free))
    expected = {switch.group: switch for switch in without}
    assert len(with_prior) < len(without)
    for switch in with_prior:
        if np.array_equal(switch.point, expected[switch.group].point):
            loss = prior(at.z)[0] - prior(switch.point)[0]
            assert loss > 0
            assert switch.gain == pytest.approx(expected[switch.group].gain - loss / 2)
    assert np.array_equal(with_prior[0].point, without[0].point)


def test_the_path_has_every_evaluation():
    _, found, objective = ends(*problems.two_waves(101))
    values = [row["objective"] for row in objective.path]
    assert max(values) == found.best.value
    assert len(values) > 20


def test_repeats_itself():
    first, second = (ends(*problems.checkerboard(101))[1] for _ in range(2))
    assert_allclose(first.best.z, second.best.z, rtol=0, atol=0)


@pytest.mark.parametrize("at", [1, 5, 11, 15, 20, 25])
def test_a_callback_stops_the_whole_search(at):
    """Also in a trial, and in the climb after one: no evaluation follows the one that was stopped at."""
    X, y = problems.checkerboard(101)
    seen = []

    def callback(evaluation):
        seen.append(evaluation.value)
        if len(seen) >= at:
            raise StopSearch

    objective, spread = problems.objective_for(X, y, callback=callback)
    start, bounds = objective.coordinates.start, objective.coordinates.bounds
    result = finds_structure(LBFGS(), objective, spread).maximise(objective, start, bounds)
    assert result.stopped
    assert len(seen) == at
    assert result.best.value == max(seen)


def test_what_cannot_switch_is_left_alone():
    X, y = problems.checkerboard(101)
    plain, spread = problems.objective_for(X, y)
    assert isinstance(finds_structure(LBFGS(), plain, spread), StructureSearch)
    walk, climb = RandomWalk(), LBFGS()
    assert finds_structure(walk, plain, spread) is walk
    assert finds_structure(climb, problems.objective_for(X, y, criterion=LeaveOneOut())[0], spread) is climb
    assert finds_structure(climb, problems.objective_for(X, y, kernel="linear")[0], spread) is climb
    assert finds_structure(climb, plain, np.zeros(2)) is climb


@pytest.mark.parametrize("weight", [None, np.array([1.0, 2.0, 1.0, 4.0])], ids=["plain", "weighted"])
def test_doubts_end_five_nats_above_one_probability_for_all(weight):
    X, y = np.arange(8.0).reshape(4, 2), np.array([1.0, -1.0, -1.0, 1.0])
    objective, _ = problems.objective_for(X, y, weight=weight)
    share = 0.5 if weight is None else 5 / 8
    n = 4 if weight is None else 8
    constant = n * (share * np.log(share) + (1 - share) * np.log(1 - share))
    evaluation = objective(objective.coordinates.start)
    assert is_doubtful(evaluation._replace(value=constant + 0.99 * POLICY.structure.decisive), objective)
    assert not is_doubtful(evaluation._replace(value=constant + 1.01 * POLICY.structure.decisive), objective)


def test_regressions_are_not_doubted_here():
    objective, _ = problems.objective_for(*problems.noise_targets(0))
    assert not is_doubtful(objective(objective.coordinates.start)._replace(value=-1e9), objective)
