"""BayesianSVR(noise=...): when the noise varies with x, and everything that follows from it."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

import softmargin
from softmargin import BayesianSVR
from softmargin.policy import POLICY

from .cases import even, growing

NEW = np.linspace(0.02, 0.98, 9)[:, None]


@pytest.fixture(scope="module")
def model():
    return BayesianSVR().fit(*growing(120))


@pytest.fixture(scope="module")
def constant():
    return BayesianSVR(noise="constant").fit(*growing(120))


def test_auto_finds_noise_that_varies(model, constant):
    assert model.noise_ == "varying"
    assert constant.noise_ == "constant"
    assert [member.name for member in model.members_] == ["tube_varying", "gaussian_varying"]
    assert model.weights_.sum() == pytest.approx(1)
    assert 120 * (model.loo_log_density_ - constant.loo_log_density_) >= POLICY.noise.gain
    X, y = growing(1000, seed=1)
    assert model.log_predictive_density(X, y).mean() > constant.log_predictive_density(X, y).mean() + 0.1


def test_the_noise_and_the_intervals_follow_x(model):
    truth = 0.05 + 0.5 * NEW[:, 0]
    assert np.all(np.abs(np.log(model.predict_noise_std(NEW) / truth)) < 0.5)
    low, high = model.predict_interval(NEW, 0.8).T
    assert (high - low)[-1] > 3 * (high - low)[0]
    X, y = growing(3000, seed=2)
    low, high = model.predict_interval(X, 0.8).T
    third = np.digitize(X[:, 0], [1 / 3, 2 / 3])
    for k in range(3):
        inside = ((low <= y) & (y <= high))[third == k]
        assert 0.7 < inside.mean() < 0.9


def test_auto_keeps_noise_that_does_not_vary():
    X, y = even(100)
    auto, constant = (BayesianSVR(noise=noise).fit(X, y) for noise in ("auto", "constant"))
    assert auto.noise_ == "constant"
    assert_allclose(auto.predict_interval(NEW), constant.predict_interval(NEW), rtol=1e-12)


def test_a_gain_that_is_not_clear_is_not_kept(monkeypatch):
    # The policy is frozen; a threshold that no gain reaches.
    monkeypatch.setitem(POLICY.noise.__dict__, "gain", 1e9)
    assert BayesianSVR().fit(*growing(120)).noise_ == "constant"


def test_noise_that_is_asked_for_varies_and_does_little_harm():
    X, y = even(100)
    model = BayesianSVR(noise="varying").fit(X, y)
    assert model.noise_ == "varying"
    std = model.predict_noise_std(NEW)
    assert std.max() < 1.5 * std.min()


def test_constant_noise_is_the_same_everywhere(constant):
    single = BayesianSVR(stack=False, noise="constant").fit(*growing(60))
    assert_allclose(single.predict_noise_std(NEW), single.noise_std_, rtol=1e-6)


def test_all_answers_belong_together(model):
    mean, std = model.predict(NEW, return_std=True)
    again, covariance = model.predict(NEW, return_cov=True)
    latent, variance = model.latent_mean_and_variance(NEW)
    assert_allclose(again, mean)
    assert_allclose(latent, mean)
    assert_allclose(np.diag(covariance), std**2)
    assert_allclose(model.predict_noise_std(NEW) ** 2 + variance, std**2)
    draws = model.sample_y(NEW, 4000, random_state=0)
    assert_allclose(draws.mean(axis=1), mean, atol=0.08)
    inside = (draws > model.predict_quantiles(NEW, 0.1)) & (draws < model.predict_quantiles(NEW, 0.9))
    assert_allclose(inside.mean(axis=1), 0.8, atol=0.03)
    assert model.sample_latent(NEW, 5, random_state=0).shape == (9, 5)
    assert model.importance_.shape == (1,)


def test_the_units_of_y_do_not_matter(model):
    X, y = growing(120)
    other = BayesianSVR().fit(X, 1000 * y - 5)
    assert_allclose(other.predict_interval(NEW), 1000 * model.predict_interval(NEW) - 5, rtol=1e-4, atol=1e-2)
    assert_allclose(other.predict_noise_std(NEW), 1000 * model.predict_noise_std(NEW), rtol=1e-4)


def test_a_weight_is_so_many_copies():
    X, y = growing(60)
    weight = np.where(np.arange(60) % 3 == 0, 2.0, 1.0)
    twice = np.concatenate([np.arange(60), np.arange(0, 60, 3)])
    weighted = BayesianSVR(noise="varying").fit(X, y, weight)
    copied = BayesianSVR(noise="varying").fit(X[twice], y[twice])
    assert_allclose(weighted.predict_interval(NEW), copied.predict_interval(NEW), rtol=1e-8)


def test_sparse_rows_give_the_same(model):
    X, y = growing(120)
    other = BayesianSVR().fit(sparse.csr_matrix(X), y)
    assert other.noise_ == "varying"
    assert_allclose(other.predict_interval(sparse.csr_matrix(NEW)), model.predict_interval(NEW), rtol=1e-5)


def test_a_model_is_saved_and_cloned(model, tmp_path):
    again = softmargin.load(softmargin.save(model, tmp_path / "model.skops"))
    assert_allclose(again.predict_interval(NEW), model.predict_interval(NEW), rtol=1e-12)
    assert again.noise_ == "varying"
    assert clone(BayesianSVR(noise="varying")).noise == "varying"


@pytest.mark.parametrize(
    "parts",
    [
        {"kernel": "matern52"},
        {"kernel": ConstantKernel(1.0) * RBF(0.3) + WhiteKernel(0.01, "fixed")},
        {"loss": "gaussian"},
        {"C": 4.0, "epsilon": 0.1},
        {"inference": "variational", "max_iter": 5},
        {"stack": False, "nugget": True},
        {"search": None, "kernel": ConstantKernel(1.0) * RBF(0.3), "C": 4.0, "epsilon": 0.1},
    ],
)
def test_chosen_parts_can_have_noise_that_varies(parts):
    X, y = growing(60)
    model = BayesianSVR(noise="varying", **parts).fit(X, y)
    assert [member.name for member in model.members_] == ["tube_varying"]
    std = model.predict_noise_std(NEW)
    assert std[-1] > 1.5 * std[0]
    assert np.all(np.isfinite(model.log_predictive_density(X, y)))


def test_chosen_parts_have_constant_noise_unless_asked():
    assert BayesianSVR(kernel="matern52").fit(*growing(120)).noise_ == "constant"


def test_many_rows_are_scaled_in_low_rank(set_policy):
    set_policy("size", dense_rows=250)
    X, y = growing(270)
    model = BayesianSVR(stack=False, noise="varying", max_iter=10).fit(X, y)
    truth = 0.05 + 0.5 * NEW[:, 0]
    assert np.all(np.abs(np.log(model.predict_noise_std(NEW) / truth)) < 0.45)


def test_what_cannot_vary_is_refused():
    X, y = growing(40)
    with pytest.raises(ValueError, match="noise='varying' is a function of the inputs"):
        BayesianSVR(kernel="precomputed", noise="varying").fit(X @ X.T, y)
    with pytest.raises(ValueError, match="goes through inducing points, where the noise of a single machine"):
        BayesianSVR(inference="sparse", noise="varying").fit(X, y)
    with pytest.raises(ValueError, match="leave-one-out residuals, which inference 'map' does not give"):
        BayesianSVR(inference="map", noise="varying", C=1.0, epsilon=0.1, search=None).fit(X, y)
    with pytest.raises(ValueError, match="noise='none'"):
        BayesianSVR(noise="none").fit(X, y)
