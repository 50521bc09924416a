"""Generators: known Bayes errors, noise moments, relevant inputs, reproducibility.

Sampling errors: an error rate p over n rows has standard error sqrt(p (1 - p) / n); limits are 4 of them.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit
from scipy.stats import kurtosis, ncx2, norm

from softmargin import datasets

GENERATORS = [datasets.make_twonorm, datasets.make_ringnorm, datasets.make_irrelevant, datasets.make_sinc]
N = 100_000


def within_sampling_error(rate, expected):
    return abs(rate - expected) < 4 * np.sqrt(expected * (1 - expected) / N)


def ringnorm_bayes_error(squared_mean):
    """Ball |x - 4 mu/3|^2 < r^2 against N(0, 4 I) and N(mu, I): two noncentral chi-square tails."""
    radius2 = 8 / 3 * (20 * np.log(2) + squared_mean / 6)
    wide_inside = ncx2.cdf(radius2 / 4, 20, 4 / 9 * squared_mean)
    return (wide_inside + ncx2.sf(radius2, 20, squared_mean / 9)) / 2


def test_twonorm_has_its_bayes_error():
    X, y = datasets.make_twonorm(N, random_state=0)
    assert_allclose(norm.cdf(-2), 0.0228, atol=5e-5)
    assert within_sampling_error(np.mean((X.sum(axis=1) < 0) != y), norm.cdf(-2))


def test_ringnorm_has_its_bayes_error():
    X, y = datasets.make_ringnorm(N, random_state=0)
    assert_allclose(ringnorm_bayes_error(4), 0.0124, atol=5e-5)
    assert_allclose(ringnorm_bayes_error(1), 0.0150, atol=5e-5)
    inside = np.sum((X - 4 / 3 * 2 / np.sqrt(20)) ** 2, axis=1) < 8 / 3 * (20 * np.log(2) + 2 / 3)
    assert within_sampling_error(np.mean(inside != y), ringnorm_bayes_error(4))


def test_irrelevant_has_its_bayes_error_in_three_inputs():
    X, y = datasets.make_irrelevant(N, random_state=0)
    probability = expit(6 * (X[:, 0] + X[:, 1] ** 2 - 1 + X[:, 1] * X[:, 2]))
    bayes = np.mean(np.minimum(probability, 1 - probability))
    assert_allclose(bayes, 0.056, atol=2e-3)
    assert within_sampling_error(np.mean((probability > 0.5) != y), bayes)


@pytest.mark.parametrize(("n_relevant", "expected"), [(1, 2.0), (2, 2.0 + 8.0), (4, 2.0 + 8.0 + 3 * 4 + 4 * 5)])
def test_irrelevant_adds_a_line_a_parabola_and_products(n_relevant, expected):
    from softmargin.datasets._generators import _relevant_function

    X = np.array([[2.0, 3.0, 4.0, 5.0]])
    assert_allclose(_relevant_function(X[:, :n_relevant]), expected)


def test_irrelevant_refuses_more_relevant_inputs_than_inputs():
    with pytest.raises(ValueError, match="n_relevant=5 must lie between 1 and n_features=4"):
        datasets.make_irrelevant(10, n_features=4, n_relevant=5)


@pytest.mark.parametrize(
    ("noise", "variance", "excess_kurtosis"),
    [
        ("gaussian", 1.0, 0.0),
        ("laplace", 1.0, 3.0),
        ("uniform", 1.0, -1.2),
        # 0.9 + 0.1 * 10^2; 3 (0.9 + 0.1 * 10^4) / variance^2 - 3
        ("outliers", 10.9, 3 * 1000.9 / 10.9**2 - 3),
    ],
)
def test_sinc_noise_has_its_moments(noise, variance, excess_kurtosis):
    X, y = datasets.make_sinc(N, noise=noise, scale=0.2, random_state=0)
    residual = (y - np.sin(X[:, 0]) / X[:, 0]) / 0.2
    # Standard error of the variance: variance * sqrt((kurtosis + 2)/n), at most 1.7 % here; the fourth
    # moment's, from the eighth, is below 4 % of kurtosis + 3.
    assert_allclose(residual.mean(), 0.0, atol=4 * np.sqrt(variance / N))
    assert_allclose(residual.var(), variance, rtol=4 * np.sqrt((excess_kurtosis + 2) / N))
    assert_allclose(kurtosis(residual) + 3, excess_kurtosis + 3, rtol=0.12)
    assert np.all(np.abs(X) <= 10)


def test_sinc_refuses_unknown_noise():
    with pytest.raises(ValueError, match="'cauchy' is unknown; use 'gaussian', 'laplace'"):
        datasets.make_sinc(10, noise="cauchy")


@pytest.mark.parametrize("make", GENERATORS, ids=lambda make: make.__name__)
def test_the_seed_fixes_the_draw(make):
    X, y = make(50, random_state=3)
    X_again, y_again = make(50, random_state=3)
    assert_array_equal(X, X_again)
    assert_array_equal(y, y_again)
    assert len(X) == len(y) == 50
    assert not np.array_equal(X, make(50, random_state=4)[0])
