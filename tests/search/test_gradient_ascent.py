"""Gradient ascent: it reaches L-BFGS's optimum, and stops early when asked."""

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from softmargin.criteria import Evidence
from softmargin.inference import EP, HMC
from softmargin.likelihoods import Hinge
from softmargin.policy import POLICY
from softmargin.search import LBFGS, Evaluation, GradientAscent
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


def test_unknown_rule_is_named():
    with pytest.raises(ValueError, match="newton"):
        GradientAscent(rule="newton")
