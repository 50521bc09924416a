"""The score test: its slope is a derivative of ln Z, its variance that of the slope, its estimate near the truth."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.gaussian_process.kernels import RBF

from softmargin.inference import EP, Laplace, Variational
from softmargin.inference.map import MAP
from softmargin.likelihoods import EpsilonInsensitive, Hinge
from softmargin.tuning.structure.score_test import ScoreTest

N = 25
LIKELIHOODS = {"hinge": Hinge(1.5), "link": Hinge(3.0).normalised(), "tube": EpsilonInsensitive(4.0, 0.2)}


def problem(name, n=N):
    """Gram matrices K and D, targets and a likelihood."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, 2))
    f = np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=n)
    y = f if name == "tube" else np.where(f > 0, 1.0, -1.0)
    return 2 * RBF(2.0)(X) + 0.5, RBF([0.5, 2.0])(X), y, LIKELIHOODS[name]


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("inference", [EP(tol=1e-10), Variational(tol=1e-10)], ids=["ep", "variational"])
@pytest.mark.parametrize("name", LIKELIHOODS)
def test_slope_is_the_derivative_of_the_evidence(name, inference, weighted):
    K, D, y, likelihood = problem(name)
    weight = np.random.default_rng(0).uniform(0.5, 2.0, N) if weighted else None

    def log_evidence(t):
        return inference.infer(K + t * D, y, likelihood, weight).log_evidence

    step = 1e-3
    numeric = (8 * (log_evidence(step) - log_evidence(-step)) - log_evidence(2 * step) + log_evidence(-2 * step)) / (
        12 * step
    )
    test = ScoreTest.of(inference.infer(K, y, likelihood, weight))
    assert test.slope(D) == pytest.approx(numeric, rel=1e-5)


@pytest.mark.parametrize("name", LIKELIHOODS)
def test_slope_is_that_of_the_exact_gradient(name):
    K, D, y, likelihood = problem(name)
    posterior = EP(tol=1e-10).infer(K, y, likelihood)
    assert_allclose(ScoreTest.of(posterior).slope(D), np.sum(posterior.d_gram * D), rtol=1e-8)


def test_posteriors_with_a_negative_site_keep_the_matrix_itself():
    K, D, y, likelihood = problem("hinge")
    posterior = EP(tol=1e-10).infer(K, y, likelihood)
    test = ScoreTest.of(posterior)
    matrix = replace(posterior, factor=None, precision_gap=np.linalg.inv(K + np.diag(1 / posterior.site_precision)))
    assert_allclose(ScoreTest.of(matrix).slope(D), test.slope(D), rtol=1e-6)
    assert ScoreTest.of(replace(posterior, factor=None)) is None


def test_normal_noise_is_exact():
    """ln N(y; 0, K + t D + diag(1/tau)) by differences; a row without a site is as good as absent."""
    K, D, y, _ = problem("tube")
    tau = np.random.default_rng(0).uniform(1.0, 5.0, N)

    def log_density(t, rows):
        A = (K + t * D + np.diag(1 / tau))[np.ix_(rows, rows)]
        return -0.5 * (y[rows] @ np.linalg.solve(A, y[rows]) + np.linalg.slogdet(A)[1])

    for n in (N, N - 3):
        sites = np.where(np.arange(N) < n, tau, 0.0)
        numeric = (log_density(1e-4, np.arange(n)) - log_density(-1e-4, np.arange(n))) / 2e-4
        assert ScoreTest.normal(K, sites, sites * y).slope(D) == pytest.approx(numeric, rel=1e-6)


def test_gain_is_the_score_over_its_variance():
    """For normal targets of covariance P^-1, b = P y: the mean of S is 0 and its variance tr(PDPD)/2."""
    K, D, _, _ = problem("tube")
    covariance = K + 0.3 * np.eye(N)
    P = np.linalg.inv(covariance)
    ys = np.random.default_rng(0).multivariate_normal(np.zeros(N), covariance, size=20_000)
    slopes = np.array([ScoreTest(P @ y, P).slope(D) for y in ys])
    information = np.trace(P @ D @ P @ D) / 2
    # Standard errors: sd/sqrt(20,000), and about 2 % of the variance, whose tails are those of a chi-square.
    assert slopes.mean() == pytest.approx(0, abs=4 * slopes.std() / np.sqrt(len(ys)))
    assert slopes.var() == pytest.approx(information, rel=0.1)
    gains = np.array([ScoreTest(P @ y, P).expected_gain(D) for y in ys[:200]])
    assert_allclose(gains, np.where(slopes[:200] > 0, slopes[:200] ** 2 / (2 * information), 0), rtol=1e-8)


def test_gain_does_not_depend_on_the_amplitude():
    K, D, y, likelihood = problem("link")
    test = ScoreTest.of(EP().infer(K, y, likelihood))
    assert test.expected_gain(D) > 0
    assert test.expected_gain(7 * D) == pytest.approx(test.expected_gain(D))


def test_what_lowers_the_evidence_expects_nothing():
    """A mean of zero: every further variance lowers the evidence, by <P, D>/2."""
    test, D = ScoreTest(np.zeros(N), np.eye(N)), np.eye(N)
    assert test.slope(D) == -N / 2
    assert test.expected_gain(D) == test.estimated_gain(D.astype(np.float32)) == 0


@pytest.mark.parametrize("length_scale", [0.2, 0.5, 1.0])
@pytest.mark.parametrize("name", LIKELIHOODS)
def test_the_estimate_is_near_the_expected_gain(name, length_scale):
    K, _, y, likelihood = problem(name, 200)
    X = np.random.default_rng(1).normal(size=(200, 2))
    D, test = RBF([length_scale, 2.0])(X), ScoreTest.of(EP().infer(K, y, likelihood))
    exact = test.expected_gain(D)
    assert exact > 1
    assert 0.4 < test.estimated_gain(D.astype(np.float32)) / exact < 2.5


@pytest.mark.parametrize("inference", [MAP(), Laplace()], ids=lambda i: i.name)
def test_other_posteriors_have_none(inference):
    K, _, y, likelihood = problem("hinge")
    assert ScoreTest.of(inference.infer(K, y, likelihood)) is None
