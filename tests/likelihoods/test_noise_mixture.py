"""The predictive mixture against quadrature and simulation."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad

from softmargin.likelihoods import EpsilonInsensitive, NoiseMixture, SampledMixture

CASES = [(10.0, 0.1, 0.01), (1.0, 0.0, 0.5), (100.0, 0.5, 1e-4), (3.0, 2.0, 4.0), (300.0, 1e-3, 1.0)]


def one(C, epsilon, variance, mean=0.0):
    return NoiseMixture(EpsilonInsensitive(C, epsilon), np.array([mean]), np.array([variance]))


@pytest.mark.parametrize(("C", "epsilon", "variance"), CASES)
@pytest.mark.parametrize("level", [1e-10, 1e-3, 0.1, 0.45])
def test_cdf_integrates_the_density(C, epsilon, variance, level):
    mixture = one(C, epsilon, variance)
    t = mixture.quantile(np.array([level]))[0, 0]
    width = mixture.std[0]
    ends = [t - 60 * width, t - 10 * width, t - 3 * width, t - width, t]
    mass = sum(
        quad(lambda y: np.exp(mixture.log_density(np.array([y]))[0]), a, b, epsabs=0, epsrel=1e-10, limit=500)[0]
        for a, b in pairwise(ends)
    )
    assert mass == pytest.approx(level, rel=1e-7)
    assert mixture.cdf(np.array([t]))[0] == pytest.approx(level, rel=1e-10)


@settings(max_examples=60, deadline=None)
@given(
    C=st.floats(1e-2, 1e4),
    epsilon=st.one_of(st.just(0.0), st.floats(1e-6, 1e2)),
    variance=st.one_of(st.just(0.0), st.floats(1e-10, 1e4)),
    level=st.floats(1e-12, 0.5),
)
def test_quantile_inverts_cdf(C, epsilon, variance, level):
    mixture = one(C, epsilon, variance)
    t = mixture.quantile(np.array([level]))[0]
    assert mixture.cdf(t)[0] == pytest.approx(level, rel=1e-8)
    assert mixture.cdf(-t)[0] == pytest.approx(1 - level, rel=1e-8)


def test_moments_of_simulated_noise():
    likelihood = EpsilonInsensitive(C=3.0, epsilon=0.5)
    noise = likelihood.sample_noise((200_000,), np.random.RandomState(0))
    # The variance's own standard error is below sd^2 sqrt(kurtosis/n) = 0.006 sd^2.
    assert noise.var() == pytest.approx(likelihood.noise_variance, rel=0.02)
    mixture = NoiseMixture(likelihood, np.zeros(3), np.zeros(3))
    levels = np.array([0.1, 0.5, 0.9])
    share = [(noise <= t).mean() for t in mixture.quantile(levels)[0]]
    np.testing.assert_allclose(share, levels, atol=5 * np.sqrt(0.25 / len(noise)))


def test_standard_deviation_adds_both_parts():
    mixture = one(3.0, 0.5, 0.2)
    second = quad(lambda y: y * y * np.exp(mixture.log_density(np.array([y]))[0]), -30, 30, limit=500, points=[0])[0]
    assert mixture.std[0] == pytest.approx(np.sqrt(second), rel=1e-7)


def test_average_over_samples():
    """Three samples at two rows: the average of three mixtures, whose quantiles no Gaussian has."""
    means = np.array([[-1.0, 0.0, 4.0], [0.5, 0.5, 0.6]])
    likelihood = EpsilonInsensitive(10.0, 0.1)
    mixture = SampledMixture(likelihood, means, np.array([0.04, 1e-4]))
    levels = np.array([1e-4, 0.2, 0.5, 0.9, 0.999])
    found = mixture.quantile(levels)
    for k, level in enumerate(levels):
        parts = [one(10.0, 0.1, 0.04, m).cdf(found[:1, k])[0] for m in means[0]]
        assert np.mean(parts) == pytest.approx(level, rel=1e-7)
        slope = (mixture.cdf(found[:, k] + 1e-6) - mixture.cdf(found[:, k] - 1e-6)) / 2e-6
        np.testing.assert_allclose(mixture.density(found[:, k]), slope, rtol=1e-4, atol=1e-8)
    assert mixture.cdf(found[:, 3]) == pytest.approx(0.9, rel=1e-8)


def test_one_sample_is_the_plain_mixture():
    levels = np.array([0.025, 0.5, 0.7])
    single = SampledMixture(EpsilonInsensitive(3.0, 0.5), np.array([[0.3]]), np.array([0.2]))
    np.testing.assert_allclose(single.quantile(levels), one(3.0, 0.5, 0.2, 0.3).quantile(levels), atol=1e-8)
