"""The default regression is a stack: its members, weights and symmetries."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.gaussian_process.kernels import RBF

from softmargin import BayesianSVR
from softmargin.likelihoods import Gaussian

RNG = np.random.default_rng(7)
X = RNG.normal(size=(50, 2))
Y = np.exp(0.8 * np.sin(2 * X[:, 0]) + 0.4 * X[:, 1] + 0.3 * RNG.normal(size=50))
NEW = RNG.normal(size=(12, 2))
QUICK = {"max_iter": 8}


@pytest.fixture(scope="module")
def stacked():
    return BayesianSVR(**QUICK).fit(X, Y)


@pytest.fixture(scope="module")
def alone():
    return BayesianSVR(stack=False, **QUICK).fit(X, Y)


def test_members_and_weights(stacked, alone):
    assert repr(stacked.members_) == "[Member('tube'), Member('tube_warped_target'), Member('gaussian')]"
    assert stacked.weights_.sum() == pytest.approx(1) and np.all(stacked.weights_ > 0)
    assert repr(alone.members_) == "[Member('tube')]" and alone.weights_.tolist() == [1.0]


def test_names_keep_the_meaning_of_the_tube_machine(stacked, alone):
    """Up to the digits of a stack's search, which ends at gains of .001 nat: a few hundredths of a hyperparameter."""
    for name in ("y_center_", "y_scale_"):
        assert getattr(stacked, name) == getattr(alone, name)
    for name in ("C_", "epsilon_", "noise_std_", "relevance_"):
        assert_allclose(getattr(stacked, name), getattr(alone, name), rtol=0.05)
    assert_allclose(stacked.kernel_.theta, alone.kernel_.theta, atol=0.05)
    assert stacked.log_evidence_ == pytest.approx(alone.log_evidence_, abs=0.01)
    assert stacked.criterion_value("loo") == pytest.approx(alone.criterion_value("loo"), abs=0.05)
    assert len(np.setxor1d(stacked.support_, alone.support_)) <= 2


def test_better_than_the_tube_machine_on_a_skewed_target(stacked, alone):
    assert stacked.loo_log_density_ > alone.loo_log_density_ + 0.1
    rng = np.random.default_rng(8)
    fresh = rng.normal(size=(400, 2))
    y = np.exp(0.8 * np.sin(2 * fresh[:, 0]) + 0.4 * fresh[:, 1] + 0.3 * rng.normal(size=400))
    gain = stacked.log_predictive_density(fresh, y) - alone.log_predictive_density(fresh, y)
    assert gain.mean() > 0.1


def test_negative_targets(stacked):
    mirrored = BayesianSVR(**QUICK).fit(X, -Y)
    assert mirrored.y_center_ == -stacked.y_center_
    assert_allclose(mirrored.weights_, stacked.weights_, rtol=1e-6)
    assert_allclose(-mirrored.predict(NEW), stacked.predict(NEW), rtol=1e-6)
    assert_allclose(-mirrored.predict_interval(NEW)[:, ::-1], stacked.predict_interval(NEW), rtol=1e-6)


def test_weights_are_copies():
    weight = np.random.default_rng(0).integers(0, 4, size=50)
    weighted = BayesianSVR(**QUICK).fit(X, Y, sample_weight=weight)
    repeated = BayesianSVR(**QUICK).fit(np.repeat(X, weight, axis=0), np.repeat(Y, weight))
    assert len(weighted.members_) == len(repeated.members_) == 3
    assert_allclose(weighted.weights_, repeated.weights_, rtol=1e-4)
    assert_allclose(weighted.predict_quantiles(NEW, [0.1, 0.9]), repeated.predict_quantiles(NEW, [0.1, 0.9]), rtol=1e-4)
    assert weighted.loo_log_density_ == pytest.approx(repeated.loo_log_density_, rel=1e-4)


def test_intervals_are_ordered_and_nested(stacked):
    wide, narrow = stacked.predict_interval(NEW, 0.95), stacked.predict_interval(NEW, 0.5)
    assert np.all(wide[:, 0] < narrow[:, 0]) and np.all(narrow[:, 0] < narrow[:, 1])
    assert np.all(narrow[:, 1] < wide[:, 1])


def test_gross_errors_are_left_out_of_every_member():
    y = Y.copy()
    y[[3, 11]] = [4e3, 5e3]
    with pytest.warns(UserWarning, match="gross errors"):
        model = BayesianSVR(**QUICK).fit(X, y)
    assert model.gross_errors_.tolist() == [3, 11]
    assert len(model.members_) == 3 and np.all(model.predict(NEW) < 50)


@pytest.mark.parametrize(
    "chosen",
    [
        {"kernel": RBF(1.0)}, {"kernel": "linear"}, {"C": 2.0}, {"epsilon": 0.1}, {"loss": Gaussian()},
        {"inference": "variational"}, {"inference": "sparse"}, {"criterion": "loo"}, {"hyperprior": None},
        {"nugget": True}, {"search": None}, {"center": None},
    ],
    ids=str,
)  # fmt: skip
def test_a_chosen_part_gives_one_machine(chosen):
    model = BayesianSVR(**chosen, max_iter=1).fit(X, Y)
    assert len(model.members_) == 1


def test_precomputed_gives_one_machine():
    assert len(BayesianSVR("precomputed", max_iter=1).fit(RBF(1.0)(X), Y).members_) == 1


def test_a_constant_target_gives_one_machine():
    assert len(BayesianSVR(max_iter=1).fit(X, np.ones(50)).members_) == 1


def test_pickle(stacked):
    assert_array_equal(pickle.loads(pickle.dumps(stacked)).predict_interval(NEW), stacked.predict_interval(NEW))
