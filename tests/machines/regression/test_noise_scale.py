"""What residuals tell of the logarithm of a noise scale, and the scale that is learnt from them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from softmargin.likelihoods import EpsilonInsensitive, Gaussian, StudentT
from softmargin.machines.regression.noise_scale import LogScale, Residuals, learn_scale, score, unit_noise
from softmargin.policy import POLICY
from softmargin.rows import merge_rows

NOISES = [Gaussian(0.7), EpsilonInsensitive(3.0, 0.2), StudentT(0.5, 5.0)]


@pytest.mark.parametrize(
    ("noise", "log_variance", "information"),
    [
        (Gaussian(0.3), np.pi**2 / 8, 2.0),
        (EpsilonInsensitive(4.0, 0.0), np.pi**2 / 6, 1.0),
        (StudentT(2.0, 5.0), None, 2 * 5 / 8),
        (EpsilonInsensitive(1000.0, 1.0), 1.0, None),
    ],
)
def test_known_variances_and_information(noise, log_variance, information):
    told = LogScale.of(noise)
    if log_variance is not None:
        assert told.log_variance == pytest.approx(log_variance, rel=3e-3)
    if information is not None:
        assert told.information == pytest.approx(information, rel=3e-3)


@pytest.mark.parametrize("noise", NOISES)
def test_score_is_the_derivative_in_the_logarithm_of_the_scale(noise):
    r, h = np.array([0.05, 0.4, 1.3, 2.9]), 1e-6

    def log_p(log_s):
        return noise.log_prob(r * np.exp(-log_s), np.zeros(4)) - log_s

    assert_allclose(score(noise, r), (log_p(h) - log_p(-h)) / (2 * h), rtol=1e-6)


@pytest.mark.parametrize("noise", NOISES)
def test_unit_noise_has_variance_one(noise):
    assert unit_noise(noise).noise_variance == pytest.approx(1.0)


def test_flat_noise_counts_as_normal():
    assert unit_noise(EpsilonInsensitive(50.0, 1.0)) == Gaussian(1.0)
    assert isinstance(unit_noise(EpsilonInsensitive(5.0, 0.01)), EpsilonInsensitive)


def residuals_of(n, seed, log_s):
    rng = np.random.default_rng(seed)
    x = np.sort(rng.uniform(size=n))
    return x, np.exp(log_s(x)) * rng.normal(size=n)


def test_the_scale_is_found_in_two_steps():
    x, r = residuals_of(300, 0, lambda x: 2 * x - 1)
    rows = merge_rows(x[:, None], r, None)
    none = np.zeros(300)
    first = learn_scale(rows, Residuals(rows.y, none, none), Gaussian(1.0))
    s = first(rows.X)
    second = learn_scale(rows, Residuals(rows.y / s, none, np.log(s)), Gaussian(1.0), first.model.z)
    assert np.mean(np.log(s)) == pytest.approx(0, abs=1e-10)
    truth = 2 * x - 1 - np.mean(2 * x - 1)
    errors = [np.sqrt(np.mean((np.log(scale(rows.X)) - truth) ** 2)) for scale in (first, second)]
    assert errors[1] < 0.12
    # A step of Fisher's has more information: smaller error bars.
    assert np.all(second.log_moments(rows.X)[1] < first.log_moments(rows.X)[1])


def test_a_row_is_left_out_as_if_it_were_not_there():
    x, r = residuals_of(40, 1, lambda x: 2 * x)
    rows = merge_rows(x[:, None], r, None)
    scale = learn_scale(rows, Residuals(rows.y, np.zeros(40), np.zeros(40)), Gaussian(1.0))
    machine = scale.model
    K = machine.kernel(rows.X)
    noisy = K + machine.likelihood.noise_variance * np.eye(40)
    mean, sd = scale.left_out()
    for i in (0, 17, 39):
        rest = np.arange(40) != i
        gain = K[i, rest] @ np.linalg.inv(noisy[np.ix_(rest, rest)])
        assert mean[i] == pytest.approx(gain @ machine.rows.y[rest] - scale.shift, rel=1e-6)
        assert sd[i] == pytest.approx(POLICY.noise.widen * np.sqrt(K[i, i] - gain @ K[rest, i]), rel=1e-6)


def test_samples_have_the_moments():
    x, r = residuals_of(60, 2, lambda x: 2 * x)
    rows = merge_rows(x[:, None], r, None)
    scale = learn_scale(rows, Residuals(rows.y, np.zeros(60), np.zeros(60)), Gaussian(1.0))
    new = np.array([[0.2], [0.9]])
    mean, sd = scale.log_moments(new)
    drawn = np.log(scale.sample(new, 4000, np.random.RandomState(0)))
    assert_allclose(drawn.mean(axis=1), mean, atol=5 * sd.max() / np.sqrt(4000))
    assert_allclose(drawn.std(axis=1), sd, rtol=0.06)


def test_residuals_are_standardised_by_the_variance_of_the_function():
    left_out = Residuals(np.array([3.0]), np.array([8.0]), np.zeros(1))
    assert_allclose(left_out.standardised, 1.0)
