"""Site algebra against dense inverses."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from softmargin._linalg import NotPositiveDefiniteError
from softmargin.inference.sites.gaussian import site_cholesky, site_gaussian

N = 9
MIXED = np.array([1e-5, 1e-3, 0.1, 1.0, 10.0, 1e3, 1e5, 0.5, 2.0])
NEGATIVE = np.array([0.5, 2.0, -0.02, 1.0, -0.05, 3.0, 0.7, -0.01, 1.5])
FEW_WEAK = np.where(np.arange(N) < 3, 1e-9, np.linspace(0.2, 2, N))
MANY_WEAK = np.where(np.arange(N) < 6, 1e-9, 1.0)
SITES = {
    "moderate": np.linspace(0.2, 2, N),
    "weak and strong": MIXED,
    "a few very weak": FEW_WEAK,
    "most very weak": MANY_WEAK,
    "negative": NEGATIVE,
}


def gram(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((N, 2))
    return 3 * np.exp(-0.5 * np.sum((X[:, None] - X) ** 2, axis=2)) + 0.4 + 0.1 * np.eye(N)


@pytest.fixture(params=SITES, name="case")
def _case(request):
    K, tau = gram(), SITES[request.param]
    nu = np.random.default_rng(1).standard_normal(N) * np.sqrt(np.abs(tau))
    Sigma = np.linalg.inv(np.linalg.inv(K) + np.diag(tau))
    return K, tau, nu, Sigma, site_gaussian(K, tau, nu)


def test_moments_match_the_dense_posterior(case):
    K, _, nu, Sigma, g = case
    assert_allclose(g.variance, np.diag(Sigma), rtol=1e-9)
    assert_allclose(g.mean, Sigma @ nu, rtol=1e-8, atol=1e-10)
    assert_allclose(g.beta, np.linalg.solve(K, Sigma @ nu), rtol=1e-8, atol=1e-9)


def test_log_determinant(case):
    K, tau, _, _, g = case
    assert_allclose(g.log_det, np.linalg.slogdet(np.eye(N) + tau[:, None] * K)[1], rtol=1e-10)


def test_cavities_are_posteriors_without_the_row(case):
    K, tau, nu, _, g = case
    for i in range(N):
        without = np.where(np.arange(N) == i, 0.0, tau)
        Sigma = np.linalg.inv(np.linalg.inv(K) + np.diag(without))
        assert_allclose(g.cavity_variance[i], Sigma[i, i], rtol=1e-8)
        assert_allclose(g.cavity_mean[i], Sigma[i] @ np.where(without != 0, nu, 0.0), rtol=1e-7, atol=1e-9)


def test_pull_and_gradient(case):
    K, tau, _, _, g = case
    G = np.linalg.inv(K + np.diag(1 / tau))
    assert_allclose(g.precision_gap(), G, rtol=1e-8, atol=1e-9)
    assert_allclose(g.d_gram(), 0.5 * (np.outer(g.beta, g.beta) - G), rtol=1e-8, atol=1e-9)


def test_factor_of_positive_sites():
    K = gram()
    L = site_cholesky(K, MIXED)
    root = np.sqrt(MIXED)
    assert_allclose(L @ L.T, np.eye(N) + root[:, None] * K * root, rtol=1e-10)
    assert np.all(np.triu(L, 1) == 0)


def test_absent_sites_leave_the_prior():
    K = gram()
    g = site_gaussian(K, np.zeros(N), np.zeros(N))
    assert_allclose(g.variance, np.diag(K), rtol=1e-8)
    assert_allclose(g.cavity_variance, np.diag(K), rtol=1e-8)
    assert_allclose(g.log_det, 0, atol=1e-7)


def test_sites_stronger_than_double_precision_keep_their_variance():
    # Sigma -> 1/tau, the cavity -> the posterior given the other rows exactly: nothing cancels.
    K = gram()
    tau = np.full(N, 1e12)
    g = site_gaussian(K, tau, tau)
    assert_allclose(g.variance, 1e-12, rtol=1e-6)
    assert_allclose(g.cavity_variance, 1 / np.diag(np.linalg.inv(K)), rtol=1e-6)


def test_a_singular_gram_matrix_is_no_obstacle():
    rng = np.random.default_rng(3)
    A = rng.standard_normal((N, 2))
    K, tau, nu = A @ A.T, np.full(N, 0.7), rng.standard_normal(N)
    g = site_gaussian(K, tau, nu)
    # Sigma = A (I + A'TA)^-1 A'
    Sigma = A @ np.linalg.solve(np.eye(2) + 0.7 * A.T @ A, A.T)
    assert_allclose(g.variance, np.diag(Sigma), rtol=1e-9)
    assert_allclose(g.mean, Sigma @ nu, rtol=1e-8, atol=1e-10)


def test_an_improper_posterior_is_refused():
    K = gram()
    with pytest.raises(NotPositiveDefiniteError, match="improper"):
        site_gaussian(K, np.full(N, -5.0), np.zeros(N))


@pytest.mark.parametrize("sign", [-1, 1])
def test_an_improper_posterior_is_refused_whatever_its_determinant(sign):
    # One or two directions with negative precision: the determinant alone would not tell.
    K = np.eye(4)
    tau = np.array([-3.0, -3.0 if sign > 0 else 0.5, 0.5, 0.5])
    with pytest.raises(NotPositiveDefiniteError):
        site_gaussian(K, tau, np.zeros(4))


def test_an_improper_posterior_is_refused_even_if_every_marginal_looks_proper():
    # K^-1 + T has a negative eigenvalue, yet variances and cavity variances are positive.
    Sigma = np.array([[1.0, 2.0], [2.0, 1.0]])
    tau = np.array([-1.2, -1.2])
    K = np.linalg.inv(np.linalg.inv(Sigma) - np.diag(tau))
    assert np.linalg.eigvalsh(K)[0] > 0
    with pytest.raises(NotPositiveDefiniteError, match="improper"):
        site_gaussian(K, tau, np.zeros(2))
