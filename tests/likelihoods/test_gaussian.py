"""Gaussian noise: its closed forms against the defaults by quadrature, and EP, which is exact at once."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from softmargin.inference import EP
from softmargin.likelihoods import Gaussian
from softmargin.likelihoods.defaults import NoiseDefaults

NOISE = Gaussian(0.7)
S = np.array([0.1, 0.5, 2.0])


def test_distribution_function_and_quantiles_are_those_by_quadrature():
    d = np.array([-1.3, 0.2, 2.5])
    assert_allclose(NOISE.noise_cdf(d, S), NoiseDefaults.noise_cdf(NOISE, d, S), rtol=1e-8)
    for level in (0.003, 0.4, 0.9):
        assert_allclose(NOISE.noise_quantile(level, S), NoiseDefaults.noise_quantile(NOISE, level, S), rtol=1e-7)


def test_samples():
    draws = NOISE.sample_noise((200, 50), np.random.RandomState(0))
    assert stats.kstest(draws.ravel(), stats.norm(scale=0.7).cdf).pvalue > 0.01


def test_ep_is_exact_in_one_sweep():
    rng = np.random.default_rng(0)
    x, weight = rng.normal(size=12), rng.integers(1, 4, 12) * 1.0
    K = np.exp(-0.5 * (x[:, None] - x) ** 2) + 0.3
    y = np.sin(x) + 0.5 * rng.normal(size=12)
    posterior = EP().infer(K, y, NOISE, weight)
    assert posterior.n_iter == 1
    copies = np.repeat(np.arange(12), weight.astype(int))
    whole = K[np.ix_(copies, copies)] + 0.49 * np.eye(len(copies))
    expected = stats.multivariate_normal(np.zeros(len(copies)), whole).logpdf(y[copies])
    assert posterior.log_evidence == pytest.approx(expected, rel=1e-10)
    # The cavity leaves all copies of a row out.
    rest = copies != 4
    gain = K[4, copies[rest]] @ np.linalg.inv(whole[np.ix_(rest, rest)])
    assert posterior.cavity_mean[4] == pytest.approx(gain @ y[copies[rest]], rel=1e-8)
    assert posterior.cavity_variance[4] == pytest.approx(K[4, 4] - gain @ K[copies[rest], 4], rel=1e-8)
