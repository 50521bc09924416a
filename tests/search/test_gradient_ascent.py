"""Gradient ascent: it reaches L-BFGS's optimum, and stops early when asked."""

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from softmargin.criteria import Evidence
from softmargin.inference import EP, HMC
from softmargin.likelihoods import Hinge
from softmargin.policy import POLICY
from softmargin.search import LBFGS, Evaluation, GradientAscent, PaperRule
from softmargin.tuning import Coordinates, LogParameters, Objective


def problem(n=30, inference=None):
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 3, (n, 1))
    y = np.sign(np.sin(3 * X[:, 0]) + 0.5 * rng.normal(size=n))
    kernel = ConstantKernel(1.5, (0.1, 20)) * RBF(0.8, (0.05, 20))
    coordinates = Coordinates(kernel, LogParameters(Hinge(1.0), ("C",), (POLICY.likelihood.C,)), 1)
    return Objective(X, y, None, coordinates, Evidence(), inference or EP()), coordinates


@pytest.mark.parametrize("rule", ["adam", "paper"])
def test_reaches_the_optimum_of_lbfgs(rule):
    objective, coordinates = problem()
    best = LBFGS(tol=1e-6).maximise(objective, coordinates.start, coordinates.bounds)
    found = GradientAscent(rule=rule, max_iter=80).maximise(objective, coordinates.start, coordinates.bounds)
    # There is a second optimum on the bound of the amplitude, 0.75 nat higher, that L-BFGS misses from this start.
    assert found.best.value > best.best.value - 0.05


def test_sampled_gradients_reach_the_optimum_of_ep():
    objective, coordinates = problem()
    best = LBFGS(tol=1e-6).maximise(objective, coordinates.start, coordinates.bounds)
    sampled, _ = problem(inference=HMC(n_chains=32, n_warmup=20, n_draws=40, evidence=False, check=False))
    found = GradientAscent(max_iter=30).maximise(sampled, coordinates.start, coordinates.bounds)
    # The sampled evidence has its maximum where EP's is within a tenth of a nat.
    assert objective(found.point).value > best.best.value - 0.15


def test_reaches_a_far_optimum_through_noise():
    # Like ringnorm's: the amplitude 5 units away on a soft ridge, stiff length scales, gradients with noise 0.3.
    rng = np.random.default_rng(0)
    ridge = np.concatenate([[1.0], np.full(20, 0.1)])
    hessian = 60 * (np.eye(21) - np.outer(ridge, ridge) / (ridge @ ridge)) + 0.8 * np.outer(ridge, ridge)
    optimum = 5 * ridge

    def objective(z):
        slope = hessian @ (optimum - z)
        value = -0.5 * (optimum - z) @ slope
        return Evaluation(z, value, slope + 0.3 * rng.standard_normal(21), value, None)

    found = GradientAscent(max_iter=80).maximise(objective, np.zeros(21), np.tile([-9.0, 9.0], (21, 1)))
    assert found.best.value > -0.1


def test_runs_draw_new_numbers_unless_reused():
    objective, coordinates = problem(20)
    posteriors = {}
    for reuse in (True, False):
        sampler = HMC(n_chains=4, n_warmup=5, n_draws=5, evidence=False, reuse_random_numbers=reuse, check=False)
        K, likelihood = coordinates.model(coordinates.start).kernel(objective.X), Hinge(1.0)
        first = sampler.infer(K, objective.y, likelihood)
        posteriors[reuse] = first, sampler.infer(K, objective.y, likelihood, start=first)
    # The first run is the same; the second goes on from the same positions with other numbers.
    np.testing.assert_array_equal(posteriors[True][0].draws.z, posteriors[False][0].draws.z)
    assert not np.allclose(posteriors[True][1].draws.z, posteriors[False][1].draws.z)
    assert [p.run for p in posteriors[False]] == [0, 1]


def test_bounds_hold():
    objective, coordinates = problem()
    bounds = coordinates.start[:, None] + np.array([-0.1, 0.1])
    found = GradientAscent(max_iter=30).maximise(objective, coordinates.start, bounds)
    assert np.all((found.point >= bounds[:, 0]) & (found.point <= bounds[:, 1]))


def test_early_stopping_returns_the_best_validated_point():
    objective, coordinates = problem()
    seen = []

    def score(evaluation):
        seen.append(evaluation.z)
        return -abs(len(seen) - 4)

    search = GradientAscent(max_iter=50, validation=score, patience=3)
    found = search.maximise(objective, coordinates.start, coordinates.bounds)
    assert len(seen) == 7
    np.testing.assert_array_equal(found.point, seen[3])


def test_another_searchs_checkpoint_is_refused(tmp_path):
    objective, coordinates = problem()
    path = tmp_path / "run"
    GradientAscent(max_iter=2, checkpoint=path).maximise(objective, coordinates.start, coordinates.bounds)
    with pytest.raises(ValueError, match="another search"):
        GradientAscent(max_iter=3, checkpoint=path).maximise(objective, coordinates.start, coordinates.bounds)


class Valley:
    """-(a z^2)/2 in each coordinate, with names, and a record of the points."""

    def __init__(self, names, curvature):
        self.names, self.curvature, self.points = names, np.array(curvature), []

    def __call__(self, z):
        self.points.append(z.copy())
        value = -0.5 * float(self.curvature @ z**2)
        return Evaluation(z, value, -self.curvature * z, value, None)


@pytest.mark.parametrize(
    ("gradient", "last", "bad"),
    [
        ([3.0], [1.0], True),  # a sharp increase alone
        ([1.5], [1.0], False),
        ([-1.5], [1.0], False),  # a scalar has no direction but its sign
        ([0.5, -0.9], [0.5, 0.9], True),  # a change of direction alone
        ([0.5, 0.9], [0.9, 0.5], False),
        ([0.05, -0.01], [0.01, 0.05], False),  # noise
    ],
)
def test_a_sharp_increase_or_a_change_of_direction_discards_the_step(gradient, last, bad):
    assert PaperRule().is_bad(np.array(gradient), np.array(last), peak=1.0) is bad


def test_length_scales_are_one_vector_and_a_discarded_step_is_redone_from_where_it_began():
    names = ["length_scale_0", "length_scale_1", "C"]
    valley = Valley(names, [1.0, 40.0, 0.01])
    start, bounds = np.array([0.1, 0.1, 0.1]), np.tile([-9.0, 9.0], (3, 1))
    GradientAscent(rule="paper", rate=0.4, max_iter=3).maximise(valley, start, bounds)
    # The first step overshoots along the stiff length scale, so that the vector's direction turns; half of it is taken.
    first, second = valley.points[1] - start, valley.points[2] - start
    assert first @ valley.curvature * start @ np.array([0, 1, 0]) != 0 and valley.points[1][1] < 0
    np.testing.assert_allclose(second, 0.5 * first)
    # Three scalars instead: nothing has grown sharply, and the step stands.
    scalars = Valley(["a", "b", "c"], [1.0, 40.0, 0.01])
    GradientAscent(rule=PaperRule(growth=4.0), rate=0.4, max_iter=3).maximise(scalars, start, bounds)
    assert not np.allclose(scalars.points[2] - start, 0.5 * (scalars.points[1] - start))


def test_C_moves_on_its_own_scale_if_asked():
    valley = Valley(["length_scale_0", "C"], [1.0, 1.0])
    start, bounds = np.log([2.0, 2.0]), np.tile([-9.0, 9.0], (2, 1))
    GradientAscent(rule="paper", rate=0.1, linear=("C",), max_iter=2).maximise(valley, start, bounds)
    # The first step is the rate: of ln l, and of C.
    assert valley.points[1][0] == pytest.approx(np.log(2.0) - 0.1)
    assert np.exp(valley.points[1][1]) == pytest.approx(2.0 - 0.1)
    found = GradientAscent(rule="paper", linear=("C",)).maximise(valley, start, bounds)
    np.testing.assert_allclose(found.point, 0, atol=0.02)


def test_the_search_ends_at_a_fraction_of_the_largest_gradient():
    valley = Valley(["a"], [1.0])
    rule = PaperRule(fraction=0.5)
    found = GradientAscent(rule=rule, rate=0.01).maximise(valley, np.array([1.0]), np.array([[-9.0, 9.0]]))
    assert found.converged and 0.3 < found.point[0] < 0.5


def test_unknown_rule_is_named():
    with pytest.raises(ValueError, match="newton"):
        GradientAscent(rule="newton")


def test_a_step_clipped_at_a_bound_is_redone_from_where_it_began():
    class Wall(Valley):
        """A slope down to -0.15, rising sharply below it."""

        def __call__(self, z):
            self.points.append(z.copy())
            slope = np.where(z < -0.18, 9.0, -1.0)
            return Evaluation(z, 0.0, slope, 0.0, None)

    wall = Wall(["a"], [1.0])
    GradientAscent(rule="paper", rate=0.15, max_iter=4).maximise(wall, np.zeros(1), np.array([[-0.2, 5.0]]))
    # The second step would be 1.2 x 0.15 long; the bound cuts it to 0.05. Half of the planned one is taken from -0.15,
    # and meets the bound again; then a quarter.
    np.testing.assert_allclose(np.ravel(wall.points[:5]), [0.0, -0.15, -0.2, -0.2, -0.195])
