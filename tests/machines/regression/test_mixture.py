"""Mixtures of predictive densities: every number against quadrature or samples."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad

from softmargin import BayesianSVR
from softmargin.likelihoods import EpsilonInsensitive
from softmargin.machines import DensityMember, RegressionStack
from softmargin.machines.regression.warped_target import tube_nodes

NEW = np.array([[0.4], [1.5], [5.0]])
LEVELS = np.array([0.01, 0.2, 0.5, 0.9, 0.999])


@pytest.fixture(scope="module")
def members():
    """A skewed target of a skewed input: all members there are."""
    rng = np.random.default_rng(3)
    X = rng.lognormal(0, 0.8, (40, 1))
    y = np.exp(np.sin(2 * np.log(X[:, 0])) + 0.3 * rng.normal(size=40))
    model = BayesianSVR(max_iter=8).fit(X, y)
    return {member.name: member for member in model.members_}


@pytest.fixture(scope="module")
def stack(members):
    return RegressionStack(list(members.values()), np.array([0.4, 0.3, 0.2, 0.1]), width=1.1)


def integration_nodes():
    """Nodes and weights over y, in panels that no peak or kink hides in, each of shape (n_nodes,)."""
    edges = np.concatenate([np.linspace(-60, -6, 19)[:-1], np.linspace(-6, 16, 331), np.linspace(16, 160, 37)[1:]])
    x, w = np.polynomial.legendre.leggauss(8)
    half = 0.5 * np.diff(edges)[:, None]
    return (edges[:-1, None] + half * (1 + x)).ravel(), (half * w).ravel()


def test_all_members_are_there(members):
    assert list(members) == ["tube", "tube_warped_target", "gaussian", "gaussian_warped"]
    assert repr(members["tube"]) == "Member('tube')"


@pytest.mark.parametrize("name", ["tube", "tube_warped_target", "gaussian", "gaussian_warped", "stack"])
def test_density_moments_and_distribution_function_agree(members, stack, name):
    what = stack if name == "stack" else RegressionStack([members[name]], np.ones(1))
    y, weight = integration_nodes()
    means, stds = what.mean_and_std(NEW)
    for x, mean, std in zip(NEW, means, stds):
        at = what.at(np.tile(x, (len(y), 1)))
        p = weight * np.exp(at.log_density(y))
        assert p.sum() == pytest.approx(1, abs=1e-6)
        assert p @ y == pytest.approx(mean, abs=2e-3 * std)
        assert p @ (y - mean) ** 2 == pytest.approx(std**2, rel=1e-2)
        assert_allclose(np.cumsum(p), at.cdf(y), atol=2e-2)


@pytest.mark.parametrize("name", ["tube", "tube_warped_target", "gaussian", "gaussian_warped", "stack"])
def test_quantiles_invert_the_distribution_function(members, stack, name):
    what = stack if name == "stack" else RegressionStack([members[name]], np.ones(1))
    at = what.at(NEW)
    quantiles = what.quantiles(NEW, LEVELS)
    assert np.all(np.diff(quantiles, axis=1) > 0)
    for k, level in enumerate(LEVELS):
        assert_allclose(at.cdf(quantiles[:, k]), level, atol=1e-7)
        step = 1e-5
        slope = (at.cdf(quantiles[:, k] + step) - at.cdf(quantiles[:, k] - step)) / (2 * step)
        assert_allclose(np.exp(at.log_density(quantiles[:, k])), slope, rtol=1e-3, atol=1e-8)


@pytest.mark.parametrize("name", ["tube_warped_target", "stack"])
def test_samples_are_of_the_same_distribution(members, stack, name):
    what = stack if name == "stack" else RegressionStack([members[name]], np.ones(1))
    draws = what.sample_y(NEW, 40_000, np.random.RandomState(0))
    share = np.mean(draws[:, :, None] <= what.quantiles(NEW, LEVELS)[:, None, :], axis=1)
    assert_allclose(share, np.tile(LEVELS, (3, 1)), atol=5 * np.sqrt(0.25 / 40_000))
    mean, variance = what.latent(NEW)
    functions = what.sample_latent(NEW, 40_000, np.random.RandomState(0))
    assert_allclose(mean, what.mean(NEW), rtol=1e-12)
    assert_allclose(functions.mean(axis=1), mean, atol=5 * np.sqrt(variance.max() / 40_000))
    assert_allclose(functions.var(axis=1), variance, rtol=0.1)
    covariance = what.mean_and_covariance(NEW)[1]
    assert_allclose(np.diag(covariance), what.mean_and_std(NEW)[1] ** 2, rtol=1e-10)
    assert np.linalg.eigvalsh(covariance)[0] > 0


def test_covariance_of_a_warped_target_follows_the_samples(members):
    near = np.array([[1.0], [1.05]])
    what = members["tube_warped_target"].predictive
    functions = what.sample_latent(near, 40_000, np.random.RandomState(1))
    assert what.mean_and_covariance(near)[1][0, 1] == pytest.approx(np.cov(functions)[0, 1], rel=0.15)


def test_nodes_of_the_tube_noise():
    noise = EpsilonInsensitive(C=3.0, epsilon=0.7)
    e, weight = tube_nodes(noise)
    assert weight.sum() == pytest.approx(1, rel=1e-12)
    assert weight @ e**2 == pytest.approx(noise.noise_variance, rel=1e-12)
    p = lambda t: np.exp(noise.log_prob(np.array([t]), np.zeros(1))[0])  # noqa: E731
    fourth = 2 * (quad(lambda t: t**4 * p(t), 0, 0.7)[0] + quad(lambda t: t**4 * p(t), 0.7, 40)[0])
    assert weight @ e**4 == pytest.approx(fourth, rel=1e-8)


def test_one_member_alone_is_the_mixture(members):
    tube = members["tube"].predictive
    alone = RegressionStack([DensityMember("tube", tube)], np.ones(1))
    assert_allclose(alone.quantiles(NEW, LEVELS), tube.quantiles(NEW, LEVELS), rtol=1e-9)
    assert_allclose(alone.log_density(NEW, np.ones(3)), tube.log_density(NEW, np.ones(3)), rtol=1e-9)


@pytest.mark.parametrize(("rows", "columns", "share"), [(40, 1, 5 / 40), (30, 6, 0.25)])
def test_learnt_numbers_widen_the_stacks_predictions_as_in_linear_regression(rows, columns, share):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(rows, columns))
    y = X[:, 0] + 0.3 * rng.normal(size=rows)
    model = BayesianSVR(max_iter=5, noise="constant").fit(X, y)
    plain = RegressionStack(model.members_, model.weights_)
    mean, std = model.predict(X, return_std=True)
    # An amplitude, a length scale for each input, an offset, two numbers of the noise; at most a quarter of the rows.
    assert_allclose(std, np.sqrt(1 + share) * plain.mean_and_std(X)[1], rtol=1e-10)
    assert_allclose(mean, plain.mean(X), rtol=1e-12)
    low, high = model.predict_interval(X, confidence_level=0.8).T
    inner = plain.quantiles(X, np.array([0.1, 0.9]))
    assert_allclose(high - low, np.sqrt(1 + share) * (inner[:, 1] - inner[:, 0]), rtol=1e-6)
    alone = BayesianSVR(max_iter=5, stack=False, noise="constant").fit(X, y)
    inner = alone.members_[0].predictive.mean_and_std(X)[1]
    assert_allclose(alone.predict(X, return_std=True)[1], inner, rtol=1e-12)
