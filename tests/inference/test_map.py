import warnings
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC, SVR

from softmargin.inference import MAP, classify_support
from softmargin.likelihoods import EpsilonInsensitive, Hinge, Link, Logistic, SquaredHinge, StudentT

from ..svm.problems import LOSSES, objectives, random_problem, rbf, reference_optimum

LIKELIHOODS = [Hinge(2.0), SquaredHinge(2.0), EpsilonInsensitive(2.0, 0.2), Logistic(2.0)]


def small_problem(likelihood, n=40, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2))
    latent = np.sin(2 * X[:, 0]) + 0.5 * rng.standard_normal(n)
    y = latent if likelihood.name == "epsilon_insensitive" else np.where(latent > 0, 1.0, -1.0)
    return 3 * rbf(X) + 1 + 1e-8 * np.eye(n), y


@pytest.mark.parametrize("loss", LOSSES)
def test_duality_gap_on_random_problems(loss):
    for seed in range(67):
        K, y, likelihood, weight = random_problem(seed, loss)
        posterior = MAP().infer(K, y, likelihood, weight)
        primal, dual = objectives(K, y, likelihood, weight, posterior.beta)
        assert posterior.converged
        # The textbook forms subtract: allow for their own rounding.
        assert primal - dual <= 1.0001e-6 * primal + 1e-13 * (abs(primal) + np.abs(y * posterior.beta).sum()), seed


@pytest.mark.parametrize("loss", LOSSES)
def test_objective_equals_reference_qp(loss):
    for seed in range(100, 120):
        K, y, likelihood, weight = random_problem(seed, loss, n_max=80)
        posterior = MAP().infer(K, y, likelihood, weight)
        primal, _ = objectives(K, y, likelihood, weight, posterior.beta)
        assert primal == pytest.approx(reference_optimum(K, y, likelihood, weight), rel=1e-5, abs=1e-8), seed


@pytest.mark.parametrize("C", [0.3, 30.0])
def test_large_offset_equals_svc_with_free_bias(C):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((150, 3))
    y = np.where(X[:, 0] + 0.6 * rng.standard_normal(150) > 0.3, 1.0, -1.0)
    K = 2 * rbf(X)
    ours = MAP().infer(K + 1e6, y, Hinge(C)).mean
    theirs = SVC(C=C, kernel="precomputed", tol=1e-8).fit(K, y).decision_function(K)
    np.testing.assert_allclose(ours, theirs, atol=1e-3)


def test_large_offset_equals_svr_with_free_bias():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((150, 3))
    t = 5 + np.sin(2 * X[:, 0]) + 0.2 * rng.standard_normal(150)
    K = 2 * rbf(X)
    ours = MAP().infer(K + 1e6, t, EpsilonInsensitive(3.0, 0.1)).mean
    theirs = SVR(C=3.0, epsilon=0.1, kernel="precomputed", tol=1e-8).fit(K, t).predict(K)
    np.testing.assert_allclose(ours, theirs, atol=1e-3)


def test_logistic_equals_penalised_regression():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((60, 3))
    y = np.where(X[:, 0] + rng.standard_normal(60) > 0, 1.0, -1.0)
    weight = rng.uniform(0.5, 2, 60)
    posterior = MAP().infer(5 * X @ X.T, y, Logistic(1.0), weight)
    peer = LogisticRegression(C=5.0, fit_intercept=False, tol=1e-10, max_iter=1000).fit(X, y, weight)
    np.testing.assert_allclose(posterior.mean, peer.decision_function(X), atol=1e-5)


@pytest.mark.parametrize("likelihood", LIKELIHOODS, ids=lambda li: li.name)
def test_gradients_agree_with_finite_differences(likelihood):
    K, y = small_problem(likelihood)
    rng = np.random.default_rng(4)
    weight = rng.uniform(0.5, 2, len(y))
    solver = MAP(tol=1e-13)
    posterior = solver.infer(K, y, likelihood, weight)
    direction = rng.standard_normal((len(y), 3))
    dK, h = direction @ direction.T, 1e-6
    up, down = (solver.infer(K + s * h * dK, y, likelihood, weight).log_evidence for s in (1, -1))
    assert np.sum(posterior.d_gram * dK) == pytest.approx((up - down) / (2 * h), rel=1e-5)
    for k, name in enumerate(likelihood.param_names):
        values = []
        for s in (1, -1):
            params = {p: getattr(likelihood, p) + s * h * (p == name) for p in likelihood.param_names}
            values.append(solver.infer(K, y, type(likelihood)(**params), weight).log_evidence)
        assert posterior.d_params[k] == pytest.approx((values[0] - values[1]) / (2 * h), rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("likelihood", LIKELIHOODS, ids=lambda li: li.name)
def test_fields_of_the_posterior(likelihood):
    K, y = small_problem(likelihood)
    posterior = MAP().infer(K, y, likelihood)
    np.testing.assert_allclose(posterior.mean, K @ posterior.beta, atol=1e-12)
    expected = likelihood.log_prob(y, posterior.mean).sum() - 0.5 * posterior.beta @ K @ posterior.beta
    assert posterior.log_evidence == pytest.approx(expected)
    assert posterior.method == "map"
    assert posterior.variance is None


@pytest.mark.parametrize("likelihood", LIKELIHOODS, ids=lambda li: li.name)
def test_weights_are_repeated_rows(likelihood):
    K, y = small_problem(likelihood)
    weight = np.random.default_rng(5).integers(0, 4, len(y))
    rows = np.repeat(np.arange(len(y)), weight)
    weighted = MAP(tol=1e-12).infer(K, y, likelihood, weight.astype(float))
    repeated = MAP(tol=1e-12).infer(K[np.ix_(rows, rows)], y[rows], likelihood)
    np.testing.assert_allclose(weighted.mean[rows], repeated.mean, atol=1e-6)
    assert weighted.log_evidence == pytest.approx(repeated.log_evidence, rel=1e-9)
    assert not weighted.beta[weight == 0].any()


@pytest.mark.parametrize("likelihood", LIKELIHOODS, ids=lambda li: li.name)
def test_weight_zero_equals_solving_without_the_row(likelihood):
    K, y = small_problem(likelihood)
    solver = MAP(tol=1e-12)
    whole = solver.infer(K, y, likelihood)
    row = int(np.argmax(np.abs(whole.beta)))
    rest = np.delete(np.arange(len(y)), row)
    alone = solver.infer(K[np.ix_(rest, rest)], y[rest], likelihood)
    left = solver.infer(K, y, likelihood, np.where(np.arange(len(y)) == row, 0.0, 1.0), whole)
    assert left.beta[row] == pytest.approx(0, abs=1e-12)
    assert left.mean[row] == pytest.approx(K[row, rest] @ alone.beta, abs=1e-6)


@pytest.mark.parametrize("likelihood", LIKELIHOODS, ids=lambda li: li.name)
def test_start_at_the_solution_is_kept(likelihood):
    K, y = small_problem(likelihood, n=200)
    cold = MAP(tol=1e-10).infer(K, y, likelihood)
    warm = MAP().infer(K, y, likelihood, start=cold)
    assert warm.n_iter <= 2
    assert warm.n_iter < cold.n_iter
    assert warm.log_evidence == pytest.approx(cold.log_evidence, rel=1e-9)


def test_start_outside_the_box_is_clipped():
    K, y = small_problem(Hinge())
    start = MAP().infer(K, y, Hinge(10.0))
    warm, cold = MAP().infer(K, y, Hinge(0.1), start=start), MAP().infer(K, y, Hinge(0.1))
    assert np.abs(warm.beta).max() <= 0.1
    assert warm.log_evidence == pytest.approx(cold.log_evidence, rel=1e-6)


def test_support_is_sorted_by_weight():
    K, y = small_problem(Hinge(), n=100)
    posterior = MAP(tol=1e-12).infer(K, y, Hinge(2.0))
    easy, marginal, hard = classify_support(posterior.beta, 2.0)
    margins = y * posterior.mean
    assert np.all(easy.astype(int) + marginal + hard == 1)
    assert min(easy.sum(), marginal.sum(), hard.sum()) > 3
    np.testing.assert_allclose(margins[marginal], 1, atol=1e-6)
    assert np.all(margins[easy] >= 1 - 1e-6)
    assert np.all(margins[hard] <= 1 + 1e-6)


def test_squared_hinge_has_no_hard_rows_and_weight_zero_is_easy():
    support = classify_support(np.array([0.0, 3.0, 0.0]), np.array([np.inf, np.inf, 0.0]))
    assert not support.hard.any()
    assert support.easy.tolist() == [True, False, True]


def test_warns_with_a_remedy_when_the_cap_is_reached():
    K, y = small_problem(Hinge(), n=300)
    with pytest.warns(ConvergenceWarning, match="duality gap is .* above tol=1.0e-06, after 1 working sets.*max_iter"):
        posterior = MAP(max_iter=1).infer(1e3 * K, y, Hinge(100.0))
    assert not posterior.converged
    with pytest.warns(ConvergenceWarning, match="Newton's method did not converge in 1 steps"):
        MAP(max_iter=1).infer(1e3 * K, y, Logistic(100.0))


@dataclass(frozen=True)
class Kinked(Logistic):
    """A likelihood that says it has kinks and nothing about them."""

    is_smooth: ClassVar[bool] = False


def test_likelihood_without_a_mode_of_these_forms():
    K, y = small_problem(Hinge())
    with pytest.raises(TypeError, match="Kinked does not implement dual"):
        MAP().infer(K, y, Kinked(1.0))


@pytest.mark.parametrize("C", [0.3, 1.0, 4.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_normalised_hinge_reaches_a_maximum_with_rows_at_its_kink(C, weighted):
    """No small change of f goes up, the optimality conditions hold, and a general search finds nothing near by."""
    K, y = small_problem(Hinge(), n=12)
    rng = np.random.default_rng(1)
    weight = rng.uniform(0.5, 2.0, len(y)) if weighted else None
    link = Link(C)
    found = MAP(tol=1e-12).infer(K, y, link, weight)
    assert found.converged

    def value(beta):
        f = K @ beta
        return float(link.log_prob(y, f, weight).sum() - 0.5 * beta @ f)

    assert found.log_evidence == pytest.approx(value(found.beta))
    for size in (1e-4, 1e-2):
        others = [value(found.beta + size * rng.standard_normal(len(y))) for _ in range(50)]
        assert max(others) < found.log_evidence
    polished = minimize(lambda beta: -value(beta), found.beta, method="Nelder-Mead", options={"maxiter": 3000})
    assert -polished.fun <= found.log_evidence + 1e-9
    # Between the slopes of the two sides at the kink, on the slope elsewhere.
    alpha, z = y * found.beta, y * found.mean
    kink, slope = link.kink(y, weight), y * link.derivatives(y, found.mean, weight).slope
    on = np.abs(z - 1) < 1e-7
    np.testing.assert_allclose(alpha[~on], slope[~on], rtol=1e-6)
    assert np.all(alpha[on] > kink.slope[on] * (1 - 1e-9)) and np.all(alpha[on] < 2 * kink.slope[on] * (1 + 1e-9))
    if C < 4:
        assert on.any()


def test_two_rows_of_the_normalised_hinge_against_a_grid():
    K, y = np.array([[3.0, 1.0], [1.0, 2.0]]), np.array([1.0, -1.0])
    grid = np.linspace(-4, 4, 401)
    f = np.stack(np.meshgrid(grid, grid, indexing="ij"), axis=-1)
    for C in (0.5, 1.0, 3.0):
        prior = -0.5 * np.einsum("abi,ij,abj->ab", f, np.linalg.inv(K), f)
        values = prior + sum(Link(C).log_prob(y[i], f[..., i]) for i in (0, 1))
        found = MAP(tol=1e-12).infer(K, y, Link(C))
        assert found.log_evidence >= values.max()
        assert found.log_evidence == pytest.approx(values.max(), abs=1e-3)


@pytest.mark.parametrize("likelihood", LIKELIHOODS[:3], ids=lambda li: li.name)
def test_degenerate_matrices(likelihood):
    y = np.array([1.0, -1.0, 1.0, -1.0])
    for K in (np.zeros((4, 4)), np.ones((4, 4)), np.diag([0.0, 1.0, 2.0, 0.0]), 1e-12 * np.eye(4)):
        posterior = MAP().infer(K, y, likelihood)
        assert posterior.converged
        assert np.isfinite(posterior.log_evidence)
    one = MAP().infer(np.array([[2.0]]), y[:1], likelihood)
    assert one.beta[0] > 0


def test_targets_within_epsilon_need_no_function():
    posterior = MAP().infer(np.eye(5), np.full(5, 0.1), EpsilonInsensitive(1.0, 0.2))
    assert not posterior.beta.any()
    assert posterior.converged


def test_noise_free_linear_targets_do_not_wander():
    # K has rank 4 of 177: the null space must not be explored on rounding alone.
    rng = np.random.default_rng(1)
    X = rng.standard_normal((177, 3))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        posterior = MAP().infer(4700 * X @ X.T + 0.04, 0.05 * X[:, 0], EpsilonInsensitive(21.0, 0.0))
    np.testing.assert_allclose(posterior.mean, 0.05 * X[:, 0], atol=1e-10)
    assert np.abs(posterior.beta).max() < 1e-3


def test_fortran_order_and_input_unchanged():
    K, y = small_problem(Hinge())
    before = K.copy()
    plain, fortran = MAP().infer(K, y, Hinge()), MAP().infer(np.asfortranarray(K), y, Hinge())
    np.testing.assert_array_equal(plain.beta, fortran.beta)
    np.testing.assert_array_equal(K, before)


def test_logistic_newton_survives_overshooting():
    K, y = small_problem(Logistic(), n=100)
    likelihood = Logistic(20.0)
    posterior = MAP().infer(1e3 * K, y, likelihood)
    np.testing.assert_allclose(posterior.beta, likelihood.derivatives(y, posterior.mean).slope, atol=1e-6)


def test_newton_converges_where_noise_is_small_against_the_kernel():
    K, y = np.array([[148.0, 45.0], [45.0, 148.0]]), np.array([0.1, 1.4])
    mode = MAP(tol=1e-12).infer(K, y, StudentT(scale=0.005, df=11.0))
    slope = StudentT(scale=0.005, df=11.0).derivatives(y, mode.mean).slope
    assert mode.converged and mode.n_iter < 30
    np.testing.assert_allclose(mode.beta, slope, rtol=1e-5)


@pytest.mark.parametrize("likelihood", [Hinge(2.0), SquaredHinge(2.0), EpsilonInsensitive(2.0, 0.2)], ids=str)
def test_predictions_have_more_digits_than_the_search(likelihood):
    K, y = small_problem(likelihood)
    loose = MAP(tol=1e-2)
    exact, found = MAP(tol=1e-13).infer(K, y, likelihood).mean, loose.for_prediction().infer(K, y, likelihood).mean
    assert np.abs(found - exact).max() < 0.02
    assert loose.for_prediction().tol == pytest.approx(1e-4)
