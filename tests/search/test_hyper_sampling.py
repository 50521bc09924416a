"""Sampled hyperparameters: the right distribution, and predictions averaged over it."""

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from softmargin import BayesianSVC, BayesianSVR
from softmargin.inference import EP
from softmargin.likelihoods import Hinge
from softmargin.persistence import load, save
from softmargin.search import Evaluation, HyperparameterSampling, StopSearch
from softmargin.tuning import HyperPrior

RNG = np.random.default_rng(0)
X = RNG.normal(size=(24, 1))
Y = np.where(X[:, 0] + 0.4 * RNG.normal(size=24) > 0, 1, -1)
NEW = np.linspace(-2, 2, 7)[:, None]


def gaussian(precision, mean):
    def objective(z):
        slope = -precision @ (z - mean)
        value = 0.5 * float(slope @ (z - mean))
        return Evaluation(z, value, slope, value, None)

    return objective


def test_draws_have_the_moments_of_a_gaussian():
    precision, mean = np.array([[4.0, 1.0], [1.0, 1.0]]), np.array([0.5, -1.0])
    search = HyperparameterSampling(n_samples=3000, n_warmup=100, thin=2)
    found = search.maximise(gaussian(precision, mean), np.zeros(2), np.tile([-9.0, 9.0], (2, 1)))
    draws = np.array(found.samples)
    # Some 1500 independent draws of sd up to 1.15: standard errors of the means below 0.03.
    np.testing.assert_allclose(draws.mean(axis=0), mean, atol=0.12)
    np.testing.assert_allclose(np.cov(draws.T), np.linalg.inv(precision), atol=0.15)
    np.testing.assert_allclose(found.point, mean, atol=0.1)


def test_draws_stay_within_the_bounds():
    bounds = np.array([[0.0, 0.5]])
    search = HyperparameterSampling(n_samples=500, step=0.5)
    draws = np.array(search.maximise(gaussian(np.eye(1), np.zeros(1)), np.array([0.2]), bounds).samples)
    assert np.all((draws >= 0) & (draws <= 0.5))
    # Nearly flat on the interval.
    assert draws.mean() == pytest.approx(0.24, abs=0.03)


def amplitude_model(search):
    kernel = ConstantKernel(2.0, (1e-2, 1e4)) * RBF(1.0, "fixed")
    prior = HyperPrior(amplitude=(np.log(2.0), 2.0))
    return BayesianSVC(kernel, C=2.0, criterion="evidence", search=search, hyperprior=prior, random_state=0)


def test_predictions_average_over_the_posterior_of_the_amplitude():
    """One free hyperparameter: its posterior density by EP on a grid, and the predictions averaged over it."""
    model = amplitude_model(HyperparameterSampling(n_samples=120, thin=1, n_leapfrog=3)).fit(X, Y)
    grid = np.linspace(-4, 8, 161)
    shape = RBF(1.0)(X)
    log_density = [EP().infer(np.exp(a) * shape, Y.astype(float), Hinge(2.0)).log_evidence for a in grid]
    log_density += -0.125 * (grid - np.log(2.0)) ** 2
    weight = np.exp(log_density - np.max(log_density))
    weight /= weight.sum()
    odd = [amplitude_model(None).set_params(kernel=ConstantKernel(np.exp(a)) * RBF(1.0)).fit(X, Y) for a in grid[::8]]
    proba = np.array([m.predict_proba(NEW)[:, 1] for m in odd])
    truth = (weight[::8] / weight[::8].sum()) @ proba
    np.testing.assert_allclose(model.predict_proba(NEW)[:, 1], truth, atol=0.006)
    # At a single amplitude it would be something else.
    best = odd[int(np.argmax(log_density[::8]))].predict_proba(NEW)[:, 1]
    assert np.max(np.abs(best - truth)) > 0.01


def test_the_name_works_in_both_estimators_and_is_saved(tmp_path):
    search = HyperparameterSampling(n_samples=3, n_warmup=3, thin=1, n_leapfrog=2)
    model = BayesianSVC("rbf", search=search, random_state=0).fit(X, Y)
    again = load(save(model, tmp_path / "model.skops"))
    np.testing.assert_array_equal(again.predict_proba(NEW), model.predict_proba(NEW))
    np.testing.assert_array_equal(
        BayesianSVC("rbf", search=search, random_state=0).fit(X, Y).predict_proba(NEW), model.predict_proba(NEW)
    )
    regressor = BayesianSVR("rbf", search=search, random_state=0).fit(X, np.sin(2 * X[:, 0]))
    sd = regressor.predict(NEW, return_std=True)[1]
    assert np.all(sd > 0) and regressor.sample_y(NEW, 5, random_state=0).shape == (7, 5)
    assert BayesianSVC(search="sample").get_params()["search"] == "sample"


def test_predictions_are_the_more_probable_class():
    """Between the classes the mean of the mixture and its average probability can lie on different sides."""
    search = HyperparameterSampling(n_samples=6, n_warmup=3, thin=1, n_leapfrog=2)
    model = BayesianSVC("rbf", search=search, random_state=0).fit(X, Y)
    boundary = np.linspace(-0.5, 0.5, 2001)[:, None]
    proba = model.predict_proba(boundary)[:, 1]
    np.testing.assert_array_equal(model.predict(boundary) == 1, proba > 0.5)
    # The mean says something else of some rows, so that the test can fail.
    assert np.any((model.latent_mean_and_variance(boundary)[0] > 0) != (proba > 0.5))


def test_what_is_no_evidence_is_refused():
    with pytest.raises(ValueError, match="in proportion to the evidence, which criterion='loo' is not"):
        BayesianSVC(search="sample", criterion="loo").fit(X, Y)
    with pytest.raises(ValueError, match="n_samples must be positive; got 0"):
        HyperparameterSampling(n_samples=0)
    with pytest.raises(ValueError, match="which are searched by gradients"):
        BayesianSVC(search="sample", inference="sparse").fit(X, Y)


def test_a_callback_ends_it_with_what_there_is():
    calls = []

    def objective(z):
        calls.append(z)
        if len(calls) > 40:
            raise StopSearch
        return gaussian(np.eye(1), np.zeros(1))(z)

    found = HyperparameterSampling(n_samples=500).maximise(objective, np.zeros(1), np.array([[-9.0, 9.0]]))
    assert 1 <= len(found.samples) < 500 and not found.converged
