"""Laplace's approximation: against its own formulas, quadrature, and central differences of its evidence."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm
from sklearn.exceptions import ConvergenceWarning

from softmargin.criteria.loo import cavities
from softmargin.evidence import log_evidence
from softmargin.inference import get_inference
from softmargin.inference.laplace import Laplace
from softmargin.likelihoods import EpsilonInsensitive, Hinge, Link, Logistic, Probit, SquaredHinge, SquaredLink

UNREGULARISED = Laplace(regularised=False)
LOSSES = [Hinge(0.8), Hinge(5.0), SquaredHinge(1.5), SquaredHinge(20.0), EpsilonInsensitive(4.0, 0.2), Logistic(2.0)]
LINKS = [Link(0.8), Link(2.0), SquaredLink(0.8), SquaredLink(2.0)]


def problem(likelihood, n=40, seed=0, weighted=False):
    """Gram matrix as a function of (ln amplitude, ln length), targets and weights."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    latent = X[:, 0] - 0.5 * X[:, 1] ** 2 + 0.5 * rng.normal(size=n)
    y = np.where(latent > 0, 1.0, -1.0) if likelihood.is_classifier else np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=n)
    distance = ((X[:, None] - X[None]) ** 2).sum(-1)

    def gram(theta):
        return np.exp(theta[0]) * np.exp(-0.5 * distance * np.exp(-2 * theta[1])) + 0.3

    return gram, y, rng.integers(1, 4, n).astype(float) if weighted else None


@pytest.mark.parametrize("likelihood", [*LOSSES, *LINKS], ids=str)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("laplace", [Laplace(), UNREGULARISED], ids=repr)
def test_gradient_is_that_of_the_evidence(likelihood, weighted, laplace):
    gram, y, weight = problem(likelihood, weighted=weighted)
    theta, h = np.array([0.5, -0.2]), 1e-5
    # Near its singularities eq. 31 bends so much that differences have fewer digits.
    tol = 1e-5 if laplace.regularised else 1e-3
    base = laplace.infer(gram(theta), y, likelihood, weight)

    def value(theta, likelihood):
        posterior = laplace.infer(gram(theta), y, likelihood, weight, base)
        assert np.array_equal(posterior.site_precision > 0, base.site_precision > 0), "the active set changed"
        return posterior.log_evidence

    for direction in np.eye(2):
        numeric = (value(theta + h * direction, likelihood) - value(theta - h * direction, likelihood)) / (2 * h)
        dK = (gram(theta + h * direction) - gram(theta - h * direction)) / (2 * h)
        assert np.sum(base.d_gram * dK) == pytest.approx(numeric, rel=tol, abs=1e-6)
    for k, name in enumerate(likelihood.param_names):
        params = {p: getattr(likelihood, p) for p in likelihood.param_names}
        up, down = (type(likelihood)(**{**params, name: params[name] + s * h}) for s in (1, -1))
        numeric = (value(theta, up) - value(theta, down)) / (2 * h)
        assert base.d_params[k] == pytest.approx(numeric, rel=tol, abs=1e-6)


def test_equation_31_is_the_integral_of_the_linear_terms():
    """One marginal row: the flanks of the kink are exponentials with the integrals 1/(C - alpha) and 1/alpha."""
    K, y, C = np.array([[2.0]]), np.array([1.0]), 1.0
    ours, mode = UNREGULARISED.infer(K, y, Hinge(C)), get_inference("map")().infer(K, y, Hinge(C))
    alpha = float(mode.beta[0])
    assert 0 < alpha < C
    flanks = quad(lambda d: np.exp(-alpha * d), 0, np.inf)[0] + quad(lambda d: np.exp((C - alpha) * d), -np.inf, 0)[0]
    expected = mode.log_evidence + np.log(flanks) - 0.5 * np.log(2 * np.pi * K[0, 0])
    assert ours.log_evidence == pytest.approx(expected, abs=1e-8)
    smooth = Laplace().infer(K, y, Hinge(C))
    np.testing.assert_array_equal(ours.latent_variance(K, np.diag(K)), smooth.latent_variance(K, np.diag(K)))


def test_equation_31_diverges_where_a_row_ceases_to_be_marginal():
    """alpha = 1/K for one row: as it reaches C, eq. 31 goes to infinity and eq. 32 does not."""
    y, C = np.array([1.0]), 1.0
    near, nearer = (np.array([[1 / (C - gap)]]) for gap in (1e-3, 1e-6))
    values = [[part.infer(K, y, Hinge(C)).log_evidence for K in (near, nearer)] for part in (UNREGULARISED, Laplace())]
    assert values[0][1] - values[0][0] == pytest.approx(np.log(1e3), abs=0.01)
    assert values[1][1] - values[1][0] == pytest.approx(0.0, abs=0.01)


def test_hinge_precisions_and_evidence_follow_equation_32():
    gram, y, _ = problem(Hinge(2.0))
    K, C = gram([0.5, -0.2]), 2.0
    posterior = Laplace().infer(K, y, Hinge(C))
    alpha = y * posterior.beta
    marginal = (alpha > 0) & (alpha < C)
    assert 2 < marginal.sum() < len(y)
    assert np.allclose((y * posterior.mean)[marginal], 1, atol=1e-10)
    L = 2 * np.pi * (alpha * (C - alpha) / C) ** 2
    assert np.allclose(posterior.site_precision, np.where(marginal, L, 0), atol=1e-12)
    slack = np.maximum(1 - y * posterior.mean, 0)
    best = -0.5 * posterior.beta @ K @ posterior.beta - C * slack.sum() - len(y) * np.log1p(np.exp(-2 * C))
    volume = np.linalg.slogdet(np.eye(marginal.sum()) + L[marginal, None] * K[np.ix_(marginal, marginal)])[1]
    assert posterior.log_evidence == pytest.approx(best - 0.5 * volume, abs=1e-9)


def test_squared_hinge_precisions_follow_equation_17():
    gram, y, _ = problem(SquaredHinge(3.0))
    posterior = Laplace().infer(gram([0.5, -0.2]), y, SquaredHinge(3.0))
    slack = np.maximum(1 - y * posterior.mean, 1e-300)
    expected = np.where(slack > 1e-6, 3 * np.exp(-0.1 / slack), 0)
    assert np.allclose(posterior.site_precision, expected, atol=1e-10)
    sharp = Laplace(smoothing=0.0).infer(gram([0.5, -0.2]), y, SquaredHinge(3.0))
    assert np.allclose(sharp.site_precision[slack > 1e-6], 3)


@pytest.mark.parametrize("likelihood", [*LOSSES, *LINKS], ids=str)
def test_moments_are_those_of_the_gaussian_with_these_sites(likelihood):
    gram, y, weight = problem(likelihood, weighted=True)
    K = gram([0.5, -0.2]) + 1e-6 * np.eye(len(y))
    posterior = Laplace().infer(K, y, likelihood, weight)
    Sigma = np.linalg.inv(np.linalg.inv(K) + np.diag(posterior.site_precision))
    assert np.allclose(posterior.variance, np.diag(Sigma), rtol=1e-6)
    assert np.allclose(posterior.latent_variance(K, np.diag(K)), np.diag(Sigma), rtol=1e-6, atol=1e-9)
    assert np.allclose(Sigma @ posterior.site_shift, posterior.mean, atol=1e-6)
    assert np.allclose(K @ posterior.beta, posterior.mean)


@pytest.mark.parametrize("likelihood", LOSSES, ids=str)
def test_integer_weights_repeat_the_mode(likelihood):
    """The most probable function of a weighted row is that of repeated rows."""
    gram, y, weight = problem(likelihood, weighted=True)
    K = gram([0.5, -0.2])
    weighted = Laplace().infer(K, y, likelihood, weight)
    twice = np.repeat(np.arange(len(y)), weight.astype(int))
    repeated = Laplace().infer(K[np.ix_(twice, twice)], y[twice], likelihood)
    assert np.allclose(weighted.mean[twice], repeated.mean, atol=1e-5)


@pytest.mark.parametrize(
    ("k", "likelihood", "bound"),
    [(1.0, Hinge(1.0), 0.5), (4.0, Hinge(3.0), 0.5), (1.0, SquaredHinge(2.0), 0.2), (4.0, Logistic(1.0), 0.1)],
    ids=str,
)
def test_one_row_is_near_the_integral(k, likelihood, bound):
    """The range of the approximation for a single row: half a nat with a kink, a tenth or two without."""
    exact = quad(lambda f: norm.pdf(f, 0, k**0.5) * np.exp(likelihood.log_prob(1.0, np.array(f))), -20, 20, points=[1])
    approx = Laplace().infer(np.array([[k]]), np.array([1.0]), likelihood).log_evidence
    assert abs(approx - np.log(exact[0])) < bound


@pytest.mark.parametrize("likelihood", [Hinge(2.0), SquaredHinge(2.0), Link(0.8)], ids=str)
def test_evidence_is_continuous_where_the_support_set_changes(likelihood):
    gram, y, _ = problem(likelihood)
    path = np.linspace(-0.3, 0.3, 1001)
    posteriors = [Laplace().infer(gram([0.5, s]), y, likelihood) for s in path]
    # Rows with weights; for the normalised hinge, which has no others, rows below the margin or on it.
    sets = np.array([(p.beta != 0) & (y * p.mean < 1 + 1e-9) for p in posteriors])
    assert np.count_nonzero(np.any(sets[1:] != sets[:-1], axis=1)) > 5
    values = np.array([p.log_evidence for p in posteriors])
    # A jump would not shrink with the step; the largest step of a continuous curve is its slope times the spacing.
    slope = [
        np.sum(p.d_gram * (gram([0.5, s + 1e-6]) - gram([0.5, s - 1e-6]))) / 2e-6 for p, s in zip(posteriors, path)
    ]
    assert np.abs(np.diff(values)).max() < 1.5 * np.abs(slope).max() * (path[1] - path[0])


def test_unknown_curvature_is_refused():
    @dataclass(frozen=True)
    class Kinked(Logistic):
        is_smooth: ClassVar[bool] = False

    with pytest.raises(TypeError, match="Use inference='ep'"):
        Laplace().infer(np.eye(2), np.array([1.0, -1.0]), Kinked(1.0))


@pytest.mark.parametrize("link", [Link, SquaredLink], ids=lambda cls: cls.name)
@pytest.mark.parametrize("C", [0.3, 1.0, 2.0, 5.0])
def test_normalised_likelihoods_of_one_row_are_near_one_half(link, C):
    """A single label says nothing about itself: the exact evidence is 1/2 whatever the kernel."""
    for k in (0.3, 1.0, 4.0, 20.0):
        approx = Laplace().infer(np.array([[k]]), np.array([1.0]), link(C)).log_evidence
        assert abs(approx - np.log(0.5)) < 0.3


def test_flat_normalised_hinge_is_exact():
    """C sqrt(K) -> 0: the log likelihood is linear over the prior's width, and Laplace's approximation exact."""
    gram, y, _ = problem(Link(1.0), n=3)
    K = 1e-3 * gram([0.0, 0.0])
    exact = log_evidence(K, y, 0.5, loss="link", method="exact").value
    assert Laplace().infer(K, y, Link(0.5)).log_evidence == pytest.approx(exact, abs=1e-5)


@pytest.mark.parametrize("n", [2, 3])
def test_normalised_hinge_against_quadrature(n):
    """A tenth of a nat for each row."""
    for seed in range(3):
        gram, y, _ = problem(Link(1.0), n=n, seed=seed)
        K = gram([0.7, 0.3]) + 0.1 * np.eye(n)
        for C in (0.5, 1.5):
            exact = log_evidence(K, y, C, loss="link", method="exact").value
            assert abs(log_evidence(K, y, C, loss="link", method="laplace").value - exact) < 0.1 * n


def test_precision_at_the_kink_of_the_normalised_hinge_is_that_of_its_flanks():
    """One row at y f = 1: exponentials with the rates a and J - a, and the curvature of both sides in between."""
    K, y, C = np.array([[20.0]]), np.array([1.0]), 2.0
    posterior = Laplace().infer(K, y, Link(C))
    assert posterior.mean[0] == pytest.approx(1.0, abs=1e-9)
    slope, h = C / (1 + np.exp(2 * C)), 1e-5
    a = posterior.beta[0] - slope
    assert 0 < a < slope
    flanks = quad(lambda d: np.exp(-a * d), 0, np.inf)[0] + quad(lambda d: np.exp((slope - a) * d), -np.inf, 0)[0]

    def curvature(z):
        f = np.array([z - h, z, z + h])
        return -np.diff(Link(C).log_prob(np.ones(3), f), 2)[0] / h**2

    sides = (1 - a / slope) * curvature(1 + 2 * h) + a / slope * curvature(1 - 2 * h)
    assert posterior.site_precision[0] == pytest.approx(2 * np.pi / flanks**2 + sides, rel=1e-4)


def test_is_registered():
    assert get_inference("laplace") is Laplace


@pytest.mark.parametrize("likelihood", LOSSES, ids=str)
def test_cavities_are_the_posterior_without_a_site(likelihood):
    gram, y, weight = problem(likelihood, weighted=True)
    K = gram([0.5, -0.2]) + 1e-3 * np.eye(len(y))
    posterior = Laplace().infer(K, y, likelihood, weight)
    m, v = cavities(posterior)
    for i in (0, 7, 23):
        tau, nu = posterior.site_precision.copy(), posterior.site_shift.copy()
        tau[i] = nu[i] = 0
        Sigma = np.linalg.inv(np.linalg.inv(K) + np.diag(tau))
        assert v[i] == pytest.approx(Sigma[i, i], rel=1e-6)
        assert m[i] == pytest.approx(Sigma[i] @ nu, rel=1e-6, abs=1e-8)


@pytest.mark.parametrize("likelihood", LOSSES, ids=str)
def test_without_gradients_the_evidence_is_the_same(likelihood):
    gram, y, weight = problem(likelihood)
    full, bare = (Laplace(gradients=g).infer(gram(np.zeros(2)), y, likelihood, weight) for g in (True, False))
    assert bare.log_evidence == full.log_evidence
    assert bare.d_gram is None and bare.d_params is None and full.d_gram is not None


def test_variances_of_equal_rows_with_huge_weights_are_possible():
    # Two labels at one input: T K is 1e15 times the identity beside it, and the sum over both rows cancels.
    K, y, weight = np.full((2, 2), 1.2), np.array([-1.0, 1.0]), np.full(2, 5e12)
    with pytest.warns(ConvergenceWarning):
        posterior = Laplace().infer(K, y, Probit(30.0), weight)
    tau = posterior.site_precision
    assert np.all(posterior.variance >= 0.999 * 1.2 / (1 + tau @ np.diag(K)))
    assert np.all(posterior.variance <= 1.001 / tau)
    assert np.all(np.isfinite(posterior.cavities(np.full(2, 1e-12))))
