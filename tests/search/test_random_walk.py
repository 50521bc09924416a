"""The greedy random walk: finds maxima, stays within bounds, never accepts a loss, repeats itself."""

import numpy as np
import pytest

from softmargin import BayesianSVC
from softmargin.search import Evaluation, RandomWalk, StopSearch, get_search


class Hill:
    """A quadratic with its maximum at (1, -1), and a record of the points asked for."""

    def __init__(self, maximum=(1.0, -1.0)):
        self.maximum, self.points = np.array(maximum), []

    def __call__(self, z):
        self.points.append(z.copy())
        return Evaluation(z, -float(np.sum((z - self.maximum) ** 2)), None, 0.0, None)


BOUNDS = np.array([[-3.0, 3.0], [-3.0, 3.0]])


def test_finds_the_maximum():
    result = RandomWalk(max_iter=200, tol=1e-9).maximise(Hill(), np.zeros(2), BOUNDS, np.random.RandomState(0))
    assert result.converged
    assert np.allclose(result.point, [1, -1], atol=0.05)


@pytest.mark.parametrize("seed", range(10))
def test_never_leaves_the_bounds(seed):
    hill = Hill(maximum=(9.0, 0.0))
    result = RandomWalk(max_iter=100).maximise(hill, np.zeros(2), BOUNDS, np.random.RandomState(seed))
    points = np.array(hill.points)
    assert points.min() >= -3
    assert points.max() <= 3
    assert result.point[0] > 2.8


def test_is_greedy_and_moves_one_coordinate_at_a_time():
    hill = Hill()
    result = RandomWalk(max_iter=20).maximise(hill, np.zeros(2), BOUNDS, np.random.RandomState(1))
    best = hill.points[0]
    for point in hill.points[1:]:
        assert np.count_nonzero(point != best) == 1
        if np.sum((point - hill.maximum) ** 2) < np.sum((best - hill.maximum) ** 2):
            best = point
    assert np.array_equal(best, result.point)


def test_a_coordinate_on_which_nothing_depends_stays():
    """Rounding that differs from call to call must not move it."""
    hill, noise = Hill(), iter(np.random.default_rng(0).normal(0, 1e-13, 1000))

    def objective(z):
        value = hill(np.array([z[0], -1.0])).value - 5.0 + next(noise)
        return Evaluation(z, value, None, 0.0, None)

    result = RandomWalk(max_iter=30).maximise(objective, np.zeros(2), BOUNDS, np.random.RandomState(0))
    assert result.point[1] == 0
    assert abs(result.point[0] - 1) < 0.1


def test_a_walk_leaves_a_start_that_has_no_value():
    def objective(z):
        return Evaluation(z, -np.inf if z[0] == 0 else -abs(z[0] - 1), None, 0.0, None)

    result = RandomWalk(max_iter=30).maximise(objective, np.zeros(1), BOUNDS[:1], np.random.RandomState(0))
    assert np.isfinite(result.best.value)


def test_the_same_seed_repeats_the_walk():
    first, again, other = (
        RandomWalk(max_iter=10).maximise(Hill(), np.zeros(2), BOUNDS, np.random.RandomState(s)).point for s in (3, 3, 4)
    )
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_half_of_the_steps_on_a_slope_are_kept():
    """On a straight slope half of the steps are kept, and the step size does not die out."""

    class Slope(Hill):
        def __call__(self, z):
            self.points.append(z.copy())
            return Evaluation(z, float(z.sum()), None, 0.0, None)

    slope = Slope()
    wide = np.tile([-np.inf, np.inf], (2, 1))
    RandomWalk(max_iter=500, tol=0.0).maximise(slope, np.zeros(2), wide, np.random.RandomState(0))
    total = np.sum(slope.points, axis=1)
    kept = np.mean(total[1:] > np.maximum.accumulate(total)[:-1])
    assert len(total) == 1001
    # 1000 fair coin flips: three standard errors are 0.047.
    assert abs(kept - 0.5) < 0.05


@pytest.mark.parametrize("acceptance", [0.2, 1 / 3, 0.45])
def test_the_wanted_share_of_steps_is_kept(acceptance):
    """On a ridge across the axes, where every point is like every other, the shares settle where they should."""
    assert kept_on_a_ridge(acceptance, seed=0) == pytest.approx(acceptance, abs=0.015)


@pytest.mark.parametrize("seed", range(4))
def test_the_papers_acceptance_is_close_to_one_half(seed):
    """Gold & Sollich 2003, section 4.1. The size of the steps drifts at one half: slowly at a low rate."""
    assert 0.45 < kept_on_a_ridge(0.5, seed, rate=1.2) < 0.55


def kept_on_a_ridge(acceptance, seed, **settings):
    values = []

    def ridge(z):
        values.append(float(z.sum() - 10 * (z[0] - z[1]) ** 2))
        return Evaluation(z, values[-1], None, 0.0, None)

    wide = np.tile([-np.inf, np.inf], (2, 1))
    walk = RandomWalk(max_iter=1000, tol=0.0, min_step=0.0, acceptance=acceptance, **settings)
    walk.maximise(ridge, np.zeros(2), wide, np.random.RandomState(seed))
    return float(np.mean(np.array(values[1:]) > np.maximum.accumulate(values)[:-1]))


def test_an_acceptance_above_one_half_is_refused():
    with pytest.raises(ValueError, match=r"at most 0\.5; got 0\.6"):
        RandomWalk(acceptance=0.6)


def test_a_callback_can_stop_it():
    class Stubborn(Hill):
        def __call__(self, z):
            if len(self.points) == 7:
                raise StopSearch
            return super().__call__(z)

    result = RandomWalk().maximise(Stubborn(), np.zeros(2), BOUNDS, np.random.RandomState(0))
    assert not result.converged


def test_improves_a_criterion_without_gradient():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    y = X[:, 0] + 0.3 * rng.normal(size=40) > 0
    model = BayesianSVC(
        "rbf", inference="map", criterion="gacv", search="random_walk", hyperprior=None, max_iter=15, random_state=0
    ).fit(X, y)
    path = model.search_path_
    assert model.criterion_value("gacv") <= path[0]["criterion"]
    assert min(row["criterion"] for row in path) == pytest.approx(model.criterion_value("gacv"), rel=1e-4)


def test_C_steps_on_its_own_scale():
    """The first proposal for C is 1 + 0.5 g with g standard normal, not exp(0.5 g)."""

    class Named(Hill):
        names = ("C",)

    hill = Named(maximum=(0.0,))
    RandomWalk(max_iter=1).maximise(hill, np.zeros(1), np.array([[-3.0, 3.0]]), np.random.RandomState(0))
    rng = np.random.RandomState(0)
    rng.permutation(1)
    assert np.exp(hill.points[1][0]) == pytest.approx(1 + 0.5 * rng.standard_normal())


def test_gradient_search_refuses_a_criterion_without_gradient():
    X, y = np.random.default_rng(0).normal(size=(20, 2)), np.arange(20) % 2
    with pytest.raises(ValueError, match="use search='random_walk'"):
        BayesianSVC(criterion="gacv", search="lbfgs").fit(X, y)


def test_is_registered():
    assert get_search("random_walk") is RandomWalk
