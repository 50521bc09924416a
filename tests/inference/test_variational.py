"""The variational posterior: a lower bound, at a stationary point."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning

from softmargin.inference import EP, Variational
from softmargin.inference.sites.gaussian import site_gaussian
from softmargin.likelihoods import EpsilonInsensitive, Hinge, Link, Logistic, SquaredHinge

from .exact import log_evidence_by_grid, random_problem

LIKELIHOODS = [
    Hinge(0.7),
    Hinge(4.0),
    SquaredHinge(2.0),
    Logistic(2.0),
    Link(1.5),
    Link(0.02),
    EpsilonInsensitive(3.0, 0.2),
]


def bound(K, y, likelihood, weight, tau, nu):
    """sum E[w ln p] - KL(N(mu, Sigma) | N(0, K)), densely."""
    Sigma = np.linalg.inv(np.linalg.inv(K) + np.diag(tau))
    mu = Sigma @ nu
    expected = likelihood.expected_log_prob(y, mu, np.diag(Sigma).copy(), weight).value.sum()
    trace, quadratic = np.trace(np.linalg.solve(K, Sigma)), mu @ np.linalg.solve(K, mu)
    log_ratio = np.linalg.slogdet(K)[1] - np.linalg.slogdet(Sigma)[1]
    return expected - 0.5 * (trace - len(y) + quadratic + log_ratio)


@pytest.mark.parametrize("likelihood", LIKELIHOODS, ids=str)
@pytest.mark.parametrize("seed", range(6))
def test_bounds_the_exact_evidence_from_below(seed, likelihood):
    n = 2 + seed % 2
    K, y, weight = random_problem(seed, n)
    exact = log_evidence_by_grid(K, y, likelihood, weight, EP().infer(K, y, likelihood, weight), [0, 0, 301, 101][n])
    gap = exact - Variational().infer(K, y, likelihood, weight).log_evidence
    # The grid is good to about 1e-3.
    assert -2e-3 < gap < 1.0


@pytest.mark.parametrize("likelihood", LIKELIHOODS, ids=str)
def test_value_is_the_bound_of_its_own_gaussian(likelihood):
    K, y, weight = random_problem(4, 10)
    K = K + 1e-3 * np.eye(10)
    p = Variational().infer(K, y, likelihood, weight)
    assert_allclose(p.log_evidence, bound(K, y, likelihood, weight, p.site_precision, p.site_shift), rtol=1e-8)


@pytest.mark.parametrize("likelihood", LIKELIHOODS, ids=str)
def test_no_nearby_gaussian_is_better(likelihood):
    K, y, weight = random_problem(4, 10)
    K = K + 1e-3 * np.eye(10)
    p = Variational().infer(K, y, likelihood, weight)
    rng = np.random.default_rng(0)
    for size in (1e-2, 1e-1):
        for _ in range(10):
            tau = p.site_precision + size * np.abs(p.site_precision) * rng.standard_normal(10)
            nu = p.site_shift + size * rng.standard_normal(10)
            assert bound(K, y, likelihood, weight, tau, nu) < p.log_evidence


@pytest.mark.parametrize("likelihood", LIKELIHOODS, ids=str)
def test_sites_are_the_slopes_of_the_expected_log_probability(likelihood):
    K, y, weight = random_problem(6, 15)
    p = Variational().infer(K, y, likelihood, weight)
    e = likelihood.expected_log_prob(y, p.mean, p.variance, weight)
    assert_allclose(p.site_precision, -2 * e.d_var, rtol=1e-5, atol=1e-7)
    assert_allclose(p.beta, e.d_mean, rtol=1e-5, atol=1e-6)


def test_never_above_ep_by_more_than_eps_error():
    for seed in range(10):
        K, y, weight = random_problem(seed, 25)
        assert (
            Variational().infer(K, y, Hinge(1.0), weight).log_evidence
            < EP().infer(K, y, Hinge(1.0), weight).log_evidence
        )


@pytest.mark.parametrize("k", [1e-3, 1.0, 1e4])
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_converges_everywhere(k, C):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 2))
    y = np.where(X[:, 0] + 0.5 * rng.standard_normal(40) > 0, 1.0, -1.0)
    K = k * np.exp(-0.5 * np.sum((X[:, None] - X) ** 2, axis=2)) + 0.2
    for likelihood in (Hinge(C), SquaredHinge(C)):
        assert Variational().infer(K, y, likelihood).converged


def test_an_unfinished_climb_warns():
    K, y, _ = random_problem(4, 10)
    with pytest.warns(ConvergenceWarning, match="still rising"):
        p = Variational(max_iter=1).infer(K, y, Hinge(3.0))
    assert not p.converged


def test_starts_from_a_given_posterior():
    K, y, _ = random_problem(4, 10)
    first = Variational().infer(K, y, Hinge(3.0))
    again = Variational().infer(K, y, Hinge(3.0), start=first)
    assert again.n_iter < first.n_iter
    assert_allclose(again.log_evidence, first.log_evidence, atol=1e-9)


def test_gaussian_state_is_consistent():
    K, y, _ = random_problem(8, 12)
    p = Variational().infer(K, y, SquaredHinge(1.0))
    g = site_gaussian(K, p.site_precision, p.site_shift)
    assert_allclose(g.mean, p.mean, rtol=1e-9)
    assert_allclose(p.latent_variance(K, np.diag(K)), p.variance, rtol=1e-6)


def test_opposite_labels_at_one_input_converge_where_a_cavity_is_improper():
    # Sixteen rows of one label and eight of the other at the same input, with a normalised likelihood.
    K, y, weight = np.full((2, 2), 10.0), np.array([1.0, -1.0]), np.array([16.0, 8.0])
    posterior = Variational().infer(K, y, Link(0.5), weight)
    g = site_gaussian(K, posterior.site_precision, posterior.site_shift)
    assert posterior.converged and g.cavity_variance.min() < 0

    # One latent value: the best Gaussian by brute force.
    def negative_bound(x):
        m, v = np.full(2, x[0]), np.full(2, np.exp(x[1]))
        divergence = 0.5 * (v[0] / 10 + m[0] ** 2 / 10 - 1 - np.log(v[0] / 10))
        return divergence - Link(0.5).expected_log_prob(y, m, v, weight).value.sum()

    best = minimize(
        negative_bound, [0.0, 0.0], method="Nelder-Mead", options={"xatol": 1e-8, "fatol": 1e-12, "maxiter": 2000}
    )
    assert posterior.log_evidence == pytest.approx(-best.fun, abs=1e-8)
    assert posterior.mean[0] == pytest.approx(best.x[0], abs=1e-4)
