"""Restarts: within the hyperprior's range and the bounds, evenly spread, and able to leave a hopeless start."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from softmargin import BayesianSVC
from softmargin.kernels import make_kernel
from softmargin.likelihoods import Hinge
from softmargin.policy import POLICY
from softmargin.search import LBFGS
from softmargin.tuning import Coordinates, HyperPrior, LogParameters, NoiseShape
from softmargin.tuning.structure.restarts import restart_points

from . import problems

SPREAD = np.array([1.0, 20.0, 0.3])
CLASSIFIER, REGRESSOR = LogParameters(Hinge(1.0), ("C",), (POLICY.likelihood.C,)), NoiseShape()


def coordinates(kernel=None, noise=CLASSIFIER, spread=SPREAD):
    return Coordinates(make_kernel(kernel, len(spread), spread), noise, len(spread))


@pytest.mark.parametrize(
    ("prior", "noise"),
    [(HyperPrior(), CLASSIFIER), (HyperPrior.for_regression(), REGRESSOR)],
    ids=["labels", "targets"],
)
def test_points_fill_two_standard_deviations_of_the_prior(prior, noise):
    c = coordinates(noise=noise)
    points = restart_points(c, SPREAD, prior, 64, seed=0)
    assert points.shape == (64, len(c.start))
    for i, name in enumerate(c.names):
        if not name.startswith("length_scale"):
            mean, sd = getattr(prior, name)
            low, high = np.clip([mean - 2 * sd, mean + 2 * sd], *c.bounds[i])
            assert np.all((points[:, i] >= low - 1e-12) & (points[:, i] <= high + 1e-12))
            # 64 points of a balanced sequence leave no gap of 1/16.
            assert np.ptp(points[:, i]) > 0.9 * (high - low)
    lengths = points[:, 1:4] - np.log(SPREAD) - np.log(3) / 2
    mean, sd = prior.length_scale
    assert_allclose([lengths.mean(axis=1).min(), lengths.mean(axis=1).max()], [mean - 2 * sd, mean + 2 * sd], atol=0.2)
    deviations = np.abs(lengths - lengths.mean(axis=1, keepdims=True))
    assert prior.shrinkage[0] < deviations.max() < 2 * 2 * prior.shrinkage[0]


def test_the_unit_of_an_amplitude_moves_its_range():
    c, unit = coordinates(), np.array([4.0, 0, 0, 0, 0])
    here, there = (restart_points(c, SPREAD, HyperPrior(amplitude=(0.0, 1.0)), 4, 0, u) for u in (None, unit))
    assert_allclose(there[:, 0], here[:, 0] + 4.0)
    assert_allclose(there[:, 1:], here[:, 1:])


def test_points_are_within_the_bounds():
    c = coordinates(ConstantKernel(1.0, (0.5, 2.0)) * RBF([1.0, 1.0, 1.0], (0.9, 3.0)))
    points = restart_points(c, SPREAD, HyperPrior(), 16, seed=0)
    assert np.all((points >= c.bounds[:, 0]) & (points <= c.bounds[:, 1]))


def test_a_flat_prior_has_the_middle_of_the_bounds():
    c = coordinates()
    points = restart_points(c, SPREAD, None, 64, seed=0)
    low, high = c.bounds[0]
    assert np.all(np.abs(points[:, 0] - (low + high) / 2) <= (high - low) / 4 + 1e-12)
    assert np.ptp(points[:, 0]) > 0.9 * (high - low) / 2
    common = (points[:, 1:4] - np.log(SPREAD) - np.log(3) / 2).mean(axis=1)
    assert_allclose([common.min(), common.max()], POLICY.structure.flat_lengths, atol=0.2)


def test_an_input_that_does_not_vary_stays():
    c = coordinates(spread=np.array([1.0, 0.0]))
    points = restart_points(c, np.array([1.0, 0.0]), HyperPrior(), 4, seed=0)
    assert_allclose(points[:, 2], c.start[2])
    assert len(np.unique(points[:, 1])) == 4


def test_a_length_scale_of_all_inputs_has_no_deviation():
    c = coordinates(ConstantKernel() * RBF(1.0))
    points = restart_points(c, SPREAD, HyperPrior(), 32, seed=0)
    unit = np.log(SPREAD).mean() + np.log(3) / 2
    assert_allclose([points[:, 1].min(), points[:, 1].max()], [unit + 0.5 - 2, unit + 0.5 + 2], atol=0.2)


def test_eight_points_have_one_in_every_eighth():
    points = restart_points(coordinates(), SPREAD, HyperPrior(), 8, seed=3)
    rank = (points[:, 4] + 3.5) / 4
    assert sorted((8 * rank).astype(int)) == list(range(8))


def test_seeds_repeat_and_differ():
    one, same, other = (restart_points(coordinates(), SPREAD, HyperPrior(), 5, seed) for seed in (0, 0, 1))
    assert_allclose(one, same, rtol=0)
    assert not np.allclose(one, other)


def test_no_restarts():
    assert restart_points(coordinates(), SPREAD, HyperPrior(), 0, seed=0).shape == (0, 6)


@pytest.mark.filterwarnings("ignore:.* its upper bound")
def test_one_restart_leaves_scikit_learns_hopeless_start():
    """`test_random_starts` of scikit-learn's GPC: at length scales of 1e-3 every row is alone and the gradient is 0.

    One restart of GaussianProcessClassifier finds the optimum of its own evidence too.
    """
    rng = np.random.RandomState(42)
    X = rng.randn(25, 2) * 2 - 1
    y = np.where(np.sin(X).sum(axis=1) + np.sin(3 * X).sum(axis=1) > 0, 1.0, -1.0)
    kernel = ConstantKernel(1.0, (1e-2, 1e2)) * RBF([1e-3] * 2, [(1e-4, 1e2)] * 2)
    model = BayesianSVC(kernel, criterion="evidence", hyperprior=None, n_restarts=1, random_state=42).fit(X, y)
    assert model.log_evidence_ == pytest.approx(-12.28, abs=0.01)
    objective, spread = problems.objective_for(X, y, kernel=kernel, prior=False)
    (point,) = restart_points(objective.coordinates, spread, None, 1, seed=42)
    stuck, found = (
        LBFGS().maximise(objective, z, objective.coordinates.bounds) for z in (objective.coordinates.start, point)
    )
    assert stuck.best.value == pytest.approx(-25 * np.log(2), abs=0.01)
    assert found.best.value > stuck.best.value + 4
