"""Predictions of machines whose noise varies, against brute force."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import integrate

from softmargin import BayesianSVR
from softmargin.likelihoods import EpsilonInsensitive, Gaussian
from softmargin.machines.regression.varying import log_density_of_scaled_noise, nodes

RNG = np.random.default_rng(4)
X = RNG.uniform(size=(60, 1))
Y = 5 + np.sin(5 * X[:, 0]) + (0.05 + 0.6 * X[:, 0]) * RNG.normal(size=60)
NEW = np.array([[0.1], [0.5], [0.95]])


@pytest.fixture(scope="module")
def members():
    return BayesianSVR(noise="varying").fit(X, Y).members_


@pytest.mark.parametrize("noise", [Gaussian(0.4), EpsilonInsensitive(3.0, 0.3)])
def test_density_of_a_scaled_noise_is_an_average(noise):
    t, mean, variance = np.array([0.3, -1.0]), np.array([0.0, 0.2]), np.array([0.1, 0.3])
    log_q, sd = np.array([0.2, -0.4]), np.array([0.3, 0.2])
    found = np.exp(log_density_of_scaled_noise(noise, t, mean, variance, log_q, sd))
    for i in range(2):
        total = 0.0
        for x, w in zip(*nodes()):
            q = np.exp(log_q[i] + sd[i] * x)

            def joint(f, i=i, q=q):
                p = noise.log_prob(np.array([(t[i] - f) / q]), np.zeros(1))[0]
                return np.exp(p - 0.5 * (f - mean[i]) ** 2 / variance[i]) / q / np.sqrt(2 * np.pi * variance[i])

            total += w * integrate.quad(joint, -6, 6, points=[t[i]], limit=200)[0]
        assert found[i] == pytest.approx(total, rel=1e-5)


def test_the_gaussian_member_is_a_process_with_a_noise_for_each_row(members):
    member = members[1].predictive
    machine, unit = member.inner.model, member.inner.units.scale
    rows, s = machine.rows, member.scale(machine.rows.X)
    k = machine.kernel.k1
    y = rows.y * s * unit
    K = unit**2 * k(rows.X) + np.diag((machine.likelihood.sigma * unit * s) ** 2)
    gain = unit**2 * k(NEW, rows.X) @ np.linalg.inv(K)
    mean, variance = member.latent(NEW)
    assert_allclose(mean, member.center + gain @ y, rtol=1e-6)
    assert_allclose(variance, unit**2 * k.diag(NEW) - np.sum(gain * (unit**2 * k(NEW, rows.X)), axis=1), rtol=1e-5)


@pytest.mark.parametrize("index", [0, 1])
def test_distributions_and_moments_agree(members, index):
    member = members[index].predictive
    mean, std = member.mean_and_std(NEW)
    step = np.linspace(-20, 20, 4001)
    for i in range(3):
        row = np.repeat(NEW[i : i + 1], len(step), axis=0)
        p = np.exp(member.at(row).log_density(mean[i] + std[i] * step)) * std[i]
        moments = [integrate.trapezoid(step**power * p, step) for power in range(3)]
        assert_allclose(moments, [1, 0, 1], atol=1e-4)
    levels = np.array([0.05, 0.5, 0.9])
    quantiles = member.at(NEW).quantile(levels)
    for k, level in enumerate(levels):
        assert_allclose(member.at(NEW).cdf(quantiles[:, k]), level, atol=1e-7)


@pytest.mark.parametrize("index", [0, 1])
def test_covariance_and_samples_agree_with_the_moments(members, index):
    member = members[index].predictive
    mean, covariance = member.mean_and_covariance(NEW)
    _, std = member.mean_and_std(NEW)
    assert_allclose(np.sqrt(np.diag(covariance)), std)
    rng = np.random.RandomState(0)
    y, f = member.sample_y(NEW, 20_000, rng), member.sample_latent(NEW, 20_000, rng)
    latent_mean, latent_variance = member.latent(NEW)
    assert_allclose(member.mean(NEW), mean)
    assert_allclose(f.mean(axis=1), latent_mean, atol=0.02)
    assert_allclose(f.var(axis=1), latent_variance, rtol=0.05)
    assert_allclose(y.mean(axis=1), mean, atol=0.02)
    # Three nodes for the scale against its whole distribution.
    assert_allclose(y.std(axis=1), std, rtol=0.05)
    off = ~np.eye(3, dtype=bool)
    assert_allclose(np.cov(y)[off], covariance[off], atol=0.02)


@pytest.mark.parametrize("index", [0, 1])
def test_slopes_are_derivatives(members, index):
    member, h = members[index].predictive, 1e-5
    slopes = (member.mean(NEW + h) - member.mean(NEW - h)) / (2 * h)
    assert_allclose(member.mean_slopes(NEW)[:, 0], slopes, rtol=1e-5)
