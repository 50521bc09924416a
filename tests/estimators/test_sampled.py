"""`inference="hmc"` in both estimators: predictions averaged over samples, beside EP's on the same hyperparameters."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import cumulative_trapezoid
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from softmargin import BayesianSVC, BayesianSVR
from softmargin.datasets import make_sinc
from softmargin.inference import SampledPosterior
from softmargin.likelihoods import NoiseMixture

from .cases import FIXED, two_classes

NEW = np.linspace(-12, 12, 9)[:, None]


@pytest.fixture(scope="module")
def sampled():
    return BayesianSVR(FIXED, C=8.0, epsilon=0.1, inference="hmc", search=None).fit(*make_sinc(15, random_state=0))


def test_classifier_agrees_with_ep():
    X, y = two_classes(n=30)
    fixed = {"kernel": ConstantKernel(3.0) * RBF(1.5) + ConstantKernel(0.3), "C": 2.0, "search": None}
    hmc, ep = (BayesianSVC(inference=name, **fixed).fit(X, y) for name in ("hmc", "ep"))
    assert isinstance(hmc.posterior_, SampledPosterior) and hmc.inference_ == "hmc"
    # A probability from 1000 samples has a standard error below 0.5/sqrt(1000) = 0.016; EP errs by less.
    assert_allclose(hmc.predict_proba(X), ep.predict_proba(X), atol=0.05)
    # Equation 36: the posterior mean weights.
    assert_allclose(
        hmc.posterior_.latent_mean(gram := hmc.kernel_(hmc._fit.machine.models[0].rows.X)), gram @ hmc.posterior_.beta
    )
    assert hmc.log_evidence_ == pytest.approx(ep.log_evidence_, abs=0.1 + 4 * hmc.posterior_.log_evidence_error)


def test_classifier_learns_by_sampling():
    X, y = two_classes(n=30)
    fit = BayesianSVC(inference="hmc", criterion="evidence", search="gradient_ascent", max_iter=3, random_state=0)
    model = fit.fit(X, y)
    assert len(model.search_path_) >= 3
    assert model.score(X, y) > 0.8


def test_regressor_agrees_with_ep(sampled):
    ep = BayesianSVR(FIXED, C=8.0, epsilon=0.1, search=None).fit(*make_sinc(15, random_state=0))
    mean, std = ep.predict(NEW, return_std=True)
    found, found_std = sampled.predict(NEW, return_std=True)
    assert np.max(np.abs(found - mean) / std) < 0.1
    # A standard deviation from 1000 samples: 2 %; three of these, and EP's own error.
    assert_allclose(found_std, std, rtol=0.08)
    assert np.isfinite(sampled.loo_log_density_)


def test_intervals_are_those_of_the_sample_mixture(sampled):
    """Quantiles, density and draws belong to one distribution, and it is not the one with Gaussian moments."""
    levels = np.array([0.05, 0.5, 0.95])
    quantiles = sampled.predict_quantiles(NEW, levels)
    t = np.linspace(-4, 4, 801)
    density = np.exp(sampled.log_predictive_density(np.repeat(NEW[4:5], len(t), axis=0), t))
    mass = cumulative_trapezoid(density, t, initial=0)
    # The trapezoid's own error is below 1e-4.
    assert_allclose(np.interp(quantiles[4], t, mass), levels, atol=1e-3)
    draws = sampled.sample_y(NEW, 4000, random_state=0)
    share = np.mean(draws[:, :, None] <= quantiles[:, None, :], axis=1)
    assert_allclose(share, np.tile(levels, (len(NEW), 1)), atol=4.5 * np.sqrt(0.25 / 4000))
    moments = NoiseMixture(sampled.likelihood_, *sampled.latent_mean_and_variance(NEW)).quantile(levels)
    assert np.abs(quantiles - moments).max() > 1e-3
    assert_allclose(sampled.predict_interval(NEW, 0.9), quantiles[:, [0, 2]])
