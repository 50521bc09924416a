"""Expectation propagation against quadrature on one row, brute force on a few, and its own fixed-point equations."""

import warnings
from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad
from sklearn.exceptions import ConvergenceWarning

from softmargin.inference import EP, Variational
from softmargin.likelihoods import LIKELIHOODS, EpsilonInsensitive, Hinge, Link, Logistic, SquaredHinge

from .exact import log_evidence_by_grid, log_evidence_by_subsets, random_problem

CLASSIFIERS = [Hinge(0.7), Hinge(2.5), SquaredHinge(0.7), SquaredHinge(4.0), Logistic(2.0), Link(1.5)]


def make(name, C=1.5):
    return EpsilonInsensitive(C, 0.2) if name == "epsilon_insensitive" else LIKELIHOODS[name](C)


@pytest.mark.parametrize("weight", [None, 2.5])
@pytest.mark.parametrize("k", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("name", LIKELIHOODS)
def test_one_row_is_exact(name, k, weight):
    likelihood, y = make(name), np.array([-1.0])
    w = None if weight is None else np.array([weight])

    def density(f, power):
        log_p = likelihood.log_prob(y, np.array([f]), w)[0]
        return f**power * np.exp(log_p - 0.5 * f * f / k) / np.sqrt(2 * np.pi * k)

    # The integrand lies within nine prior standard deviations; its kinks are at -1.2, -1, -0.8 and 1.
    span = 9 * np.sqrt(k)
    kinks = [f for f in (-1.2, -1.0, -0.8, 1.0) if abs(f) < span]
    cuts = [-span, *kinks, span]
    moments = [
        sum(quad(density, a, b, args=(power,), epsabs=1e-13, epsrel=1e-12, limit=200)[0] for a, b in pairwise(cuts))
        for power in range(3)
    ]
    posterior = EP(tol=1e-9).infer(np.array([[k]]), y, likelihood, w)
    assert_allclose(posterior.log_evidence, np.log(moments[0]), atol=1e-8)
    assert_allclose(posterior.mean[0], moments[1] / moments[0], atol=1e-8)
    assert_allclose(posterior.variance[0], moments[2] / moments[0] - (moments[1] / moments[0]) ** 2, rtol=1e-7)


def test_the_two_brute_force_evaluators_agree():
    K, y, _ = random_problem(seed=1, n=3)
    K *= 2 / K[0, 0]
    reference = Variational().infer(K, y, Hinge(0.8))
    by_grid = log_evidence_by_grid(K, y, Hinge(0.8), None, reference, points=81)
    assert_allclose(log_evidence_by_subsets(K, y, 0.8) + 3 * Hinge(0.8).log_kappa, by_grid, atol=2e-3)


@pytest.mark.parametrize("likelihood", CLASSIFIERS, ids=str)
@pytest.mark.parametrize("seed", range(8))
def test_a_few_rows_are_close_to_brute_force(seed, likelihood):
    n = 2 + seed % 3
    K, y, weight = random_problem(seed, n)
    weight = weight if seed % 2 else None
    posterior = EP().infer(K, y, likelihood, weight)
    points = {2: 201, 3: 81, 4: 31}[n]
    exact = log_evidence_by_grid(K, y, likelihood, weight, Variational().infer(K, y, likelihood, weight), points)
    assert abs(posterior.log_evidence - exact) < 0.1


@pytest.mark.parametrize("likelihood", CLASSIFIERS, ids=str)
def test_posterior_matches_the_tilted_moments(likelihood):
    K, y, weight = random_problem(3, 15)
    p = EP(tol=1e-9).infer(K, y, likelihood, weight)
    m, v = p.cavity_mean, p.cavity_variance
    tilted = likelihood.tilted_moments(y, m, v, weight)
    assert_allclose(m + v * tilted.d_mean, p.mean, atol=1e-7)
    assert_allclose(v + v**2 * tilted.d2_mean, p.variance, rtol=1e-7)
    # and the posterior is that of its sites
    Sigma = np.linalg.inv(np.linalg.inv(K) + np.diag(p.site_precision))
    assert_allclose(p.mean, Sigma @ p.site_shift, rtol=1e-5, atol=1e-6)
    assert_allclose(K @ p.beta, p.mean, rtol=1e-8, atol=1e-9)


def test_predictions_use_the_same_gaussian_at_training_rows():
    K, y, _ = random_problem(5, 10)
    for likelihood in (Hinge(2.0), Link(3.0)):
        p = EP().infer(K, y, likelihood)
        assert_allclose(p.latent_mean(K), p.mean, rtol=1e-10)
        assert_allclose(p.latent_variance(K, np.diag(K)), p.variance, rtol=1e-6)
        assert_allclose(np.diag(p.latent_covariance(K, K)), p.variance, rtol=1e-6)


@pytest.mark.parametrize("likelihood", CLASSIFIERS, ids=str)
def test_warm_start_reaches_the_same_fixed_point(likelihood):
    K, y, weight = random_problem(7, 20)
    elsewhere = EP().infer(1.6 * K, y, likelihood, weight)
    cold = EP(tol=1e-9).infer(K, y, likelihood, weight)
    warm = EP(tol=1e-9).infer(K, y, likelihood, weight, start=elsewhere)
    assert_allclose(warm.log_evidence, cold.log_evidence, atol=1e-7)
    assert_allclose(warm.mean, cold.mean, atol=1e-6)


def test_noise_far_below_the_spread_of_the_function_converges_to_its_last_digits():
    """v (1 + v h) has eight digits left here; a tolerance beyond them is not a failure, and the fit interpolates."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, 15)
    K = 4 * np.exp(-2 * (X[:, None] - X) ** 2) + np.eye(15)
    y = np.sin(X)
    p = EP(tol=1e-12).infer(K, y, EpsilonInsensitive(2e4, 2e-6))
    assert p.method == "ep"
    assert_allclose(p.mean, y, atol=5e-4)


def test_warm_start_at_the_answer_costs_one_sweep():
    K, y, _ = random_problem(7, 20)
    cold = EP().infer(K, y, Hinge(1.0))
    assert EP().infer(K, y, Hinge(1.0), start=cold).n_iter == 1


@pytest.mark.parametrize("likelihood", [*CLASSIFIERS, EpsilonInsensitive(3.0, 0.1)], ids=str)
def test_a_weight_is_a_power_of_the_likelihood(likelihood):
    # One row of weight 3 is three rows at the same place, exactly, when the other rows do not matter.
    K, y, _ = random_problem(9, 4)
    K = np.diag(np.diag(K))
    merged = EP(tol=1e-9).infer(K, y, likelihood, np.array([3.0, 1, 1, 1]))
    f = np.linspace(-12, 12, 200_001) * np.sqrt(K[0, 0])
    log_joint = 3 * likelihood.log_prob(np.full_like(f, y[0]), f) - 0.5 * f**2 / K[0, 0]
    p = np.exp(log_joint - log_joint.max())
    assert_allclose(merged.mean[0], f @ p / p.sum(), atol=1e-5)


@pytest.mark.parametrize("likelihood", [Hinge(1.0), SquaredHinge(1.0)], ids=str)
def test_weights_are_repeated_rows_up_to_one_site_per_copy(likelihood):
    K, y, _ = random_problem(9, 8)
    copies = np.array([1, 2, 1, 3, 1, 1, 2, 1])
    index = np.repeat(np.arange(8), copies)
    merged = EP().infer(K, y, likelihood, copies.astype(float))
    repeated = EP().infer(K[np.ix_(index, index)], y[index], likelihood)
    # One exact site for three copies against three approximate ones: near, not equal.
    assert_allclose(merged.log_evidence, repeated.log_evidence, atol=0.1)
    assert_allclose(merged.mean[index], repeated.mean, atol=0.1)


def test_zero_weight_is_no_row():
    K, y, weight = random_problem(11, 12)
    weight[4] = 0
    keep = np.arange(12) != 4
    with_it = EP(tol=1e-9).infer(K, y, Hinge(1.0), weight)
    without = EP(tol=1e-9).infer(K[np.ix_(keep, keep)], y[keep], Hinge(1.0), weight[keep])
    assert_allclose(with_it.log_evidence, without.log_evidence, atol=1e-7)
    assert_allclose(with_it.mean[keep], without.mean, atol=1e-6)


def test_failure_falls_back_to_the_variational_posterior_and_says_so():
    K, y, weight = random_problem(13, 20)
    impatient = EP(max_sweeps=1)
    with pytest.warns(ConvergenceWarning, match="variational posterior is used instead"):
        p = impatient.infer(K, y, Hinge(2.0), weight)
    assert p.method == "variational"
    assert_allclose(p.log_evidence, Variational().infer(K, y, Hinge(2.0), weight).log_evidence)


def test_flipping_every_label_flips_the_mean_only():
    K, y, _ = random_problem(15, 12)
    one, other = (EP(tol=1e-9).infer(K, s * y, Hinge(1.3)) for s in (1, -1))
    assert_allclose(one.log_evidence, other.log_evidence, atol=1e-8)
    assert_allclose(one.mean, -other.mean, atol=1e-7)


def test_noise_free_regime_is_not_silently_wrong():
    # Amplitude 1e4 and separable labels: the false 2-cycle with tau ~ 0 has a residual of order one.
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3))
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    K = 1e4 * np.exp(-0.5 * np.sum((X[:, None] - X) ** 2, axis=2) / 4) + 0.2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        p = EP().infer(K, y, Hinge(0.6))
    assert p.method == "ep" and np.all(np.sign(p.mean) == y)
