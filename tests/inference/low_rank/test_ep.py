"""Low-rank EP: full EP where the inducing points are the rows, exact gradients, sums that do not depend on blocks."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from softmargin.inference import EP
from softmargin.inference.low_rank import LowRankEP
from softmargin.kernels import diag, evaluate, gram
from softmargin.likelihoods import Hinge, Link
from softmargin.rows import Encoded, LocalRows

from .problems import KERNEL, LIKELIHOODS, SMOOTH_KERNEL, problem, slope, theta_slopes

each_likelihood = pytest.mark.parametrize("likelihood", LIKELIHOODS, ids=lambda l: l.name)


@each_likelihood
@pytest.mark.parametrize("kernel", [KERNEL, SMOOTH_KERNEL], ids=["matern", "rbf"])
def test_inducing_points_at_the_rows_give_full_ep(likelihood, kernel):
    X, y, weight = problem(likelihood)
    at = evaluate(kernel, X)
    full = EP(tol=1e-9).infer(at.K, y, likelihood, weight)
    low = LowRankEP(tol=1e-9, gradients=True).infer_inputs(X, y, likelihood, kernel, weight, Z=X)
    assert low.converged and low.method == full.method == "ep"
    assert abs(low.log_evidence - full.log_evidence) < 5e-6
    np.testing.assert_allclose(low.cavity_mean, full.cavity_mean, atol=1e-6)
    np.testing.assert_allclose(low.cavity_variance, full.cavity_variance, rtol=1e-5)
    np.testing.assert_allclose(low.variance, full.variance, rtol=1e-5)
    np.testing.assert_allclose(low.d_theta, at.contract(full.d_gram), atol=2e-5)
    np.testing.assert_allclose(low.d_params, full.d_params, atol=5e-5)
    new = X[:20] + 0.3
    K_star, k_diag = gram(kernel, new, X), diag(kernel, new)
    np.testing.assert_allclose(low.latent_mean(K_star), full.latent_mean(K_star), atol=1e-4)
    np.testing.assert_allclose(low.latent_variance(K_star, k_diag), full.latent_variance(K_star, k_diag), rtol=1e-4)
    np.testing.assert_allclose(
        low.log_predictive(likelihood, y[:20], K_star, k_diag),
        full.log_predictive(likelihood, y[:20], K_star, k_diag),
        atol=1e-4,
    )


def test_negative_sites_are_met():
    """The link is not log-concave: the grid above must not pass for want of them."""
    X, y, weight = problem(Link(1.0))
    low = LowRankEP(30).infer_inputs(X, y, Link(1.0), KERNEL, weight)
    assert np.any(low.a < 0)


@each_likelihood
def test_evidence_is_that_of_the_low_rank_covariance(likelihood):
    """Full EP with the Gram matrix F'F + diag(D)."""
    X, y, weight = problem(likelihood)
    low = LowRankEP(tol=1e-9).infer_inputs(X, y, likelihood, KERNEL, weight, Z=X[::8])
    F = np.linalg.solve(low.prior_factor, gram(KERNEL, X[::8], X))
    full = EP(tol=1e-9).infer(F.T @ F + np.diag(low.D), y, likelihood, weight)
    assert abs(low.log_evidence - full.log_evidence) < 1e-7
    np.testing.assert_allclose(low.cavity_mean, full.cavity_mean, atol=1e-6)
    np.testing.assert_allclose(low.a / (1 - low.a * low.D), full.site_precision, atol=1e-6)


@each_likelihood
def test_gradient_is_that_of_the_evidence(likelihood):
    X, y, weight = problem(likelihood)

    def value(kernel, likelihood=likelihood):
        return LowRankEP(tol=1e-10).infer_inputs(X, y, likelihood, kernel, weight, Z=X[:25]).log_evidence

    low = LowRankEP(tol=1e-10, gradients=True).infer_inputs(X, y, likelihood, KERNEL, weight, Z=X[:25])
    np.testing.assert_allclose(low.d_theta, theta_slopes(value, KERNEL), rtol=1e-6, atol=1e-6)
    by_C = slope(lambda C: value(KERNEL, type(likelihood)(C, *_other_params(likelihood))), likelihood.C)
    np.testing.assert_allclose(low.d_params[0], by_C, rtol=1e-6, atol=1e-6)


def _other_params(likelihood):
    return [getattr(likelihood, name) for name in likelihood.param_names[1:]]


HARD = [
    (amplitude, length, C, loss)
    for amplitude in (1.0, 30.0, 1000.0)
    for length in (0.4, 2.0)
    for C in (1.0, 10.0)
    for loss in (Hinge, Link)
]


@pytest.mark.parametrize(("amplitude", "length", "C", "loss"), HARD)
def test_hard_settings_converge(amplitude, length, C, loss):
    """Noise-free corners, where damped sweeps without acceleration cycle."""
    X, y, _ = problem(loss(C), n=300)
    low = LowRankEP(100, tol=1e-6).infer_inputs(X, y, loss(C), ConstantKernel(amplitude) * RBF(length) + 0.3)
    assert low.converged and low.n_iter <= 60


@each_likelihood
def test_blocks_and_representation_do_not_matter(likelihood):
    X, y, weight = problem(likelihood)
    solver = LowRankEP(tol=1e-8, gradients=True)
    whole = solver.infer_inputs(X, y, likelihood, KERNEL, weight, Z=X[:25])
    others = [
        LocalRows(X, y, weight, block_rows=64),
        LocalRows(X, y, weight, block_rows=64, cache_bytes=0),
        LocalRows(sparse.csr_matrix(X), y, weight, block_rows=64),
    ]
    for rows in others:
        blocks = solver.infer_rows(rows, likelihood, KERNEL, X[:25])
        assert abs(blocks.log_evidence - whole.log_evidence) < 1e-6
        np.testing.assert_allclose(blocks.cavity_mean, whole.cavity_mean, atol=1e-6)
        np.testing.assert_allclose(blocks.d_theta, whole.d_theta, atol=1e-5)


def _first_class_only(y, weight):
    keep = y != 2
    return Encoded(keep, np.where(y[keep] == 0, -1.0, 1.0), weight[keep])


def test_rows_that_an_encoding_drops_do_not_count():
    X, y, _ = problem(Hinge())
    labels = np.where(np.arange(len(y)) % 3 == 0, 2, np.where(y > 0, 1, 0))
    rows = LocalRows(X, labels, None, _first_class_only, block_rows=64)
    solver, kept = LowRankEP(tol=1e-8), labels != 2
    some = solver.infer_rows(rows, Hinge(2.0), KERNEL, X[:25])
    alone = solver.infer_inputs(X[kept], y[kept], Hinge(2.0), KERNEL, Z=X[:25])
    assert abs(some.log_evidence - alone.log_evidence) < 1e-8
    np.testing.assert_allclose(some.cavity_mean[kept], alone.cavity_mean, atol=1e-6)
    assert not some.cavity_mean[~kept].any()


def test_single_precision_is_close():
    X, y, weight = problem(Hinge(), n=400)
    one, two = (
        LowRankEP(tol=tol, dtype=dtype).infer_inputs(X, y, Hinge(2.0), KERNEL, weight, Z=X[:60])
        for tol, dtype in ((1e-8, "float64"), (1e-3, "float32"))
    )
    assert two.converged
    np.testing.assert_allclose(two.cavity_mean, one.cavity_mean, atol=1e-2)
    assert abs(two.log_evidence - one.log_evidence) < 0.05


def test_sites_of_another_rank_are_a_good_start():
    X, y, weight = problem(Hinge(), n=400)
    solver = LowRankEP(tol=1e-6)
    small = solver.infer_inputs(X, y, Hinge(2.0), KERNEL, weight, Z=X[:100])
    cold = solver.infer_inputs(X, y, Hinge(2.0), KERNEL, weight, Z=X[:200])
    warm = solver.infer_inputs(X, y, Hinge(2.0), KERNEL, weight, Z=X[:200], start=small)
    assert warm.n_iter < 0.8 * cold.n_iter
    assert abs(warm.log_evidence - cold.log_evidence) < 1e-4
    np.testing.assert_allclose(warm.cavity_mean, cold.cavity_mean, atol=1e-4)


def test_too_few_sweeps_are_said():
    X, y, _ = problem(Hinge())
    with pytest.warns(ConvergenceWarning, match="did not converge in 3 sweeps"):
        low = LowRankEP(30, max_sweeps=3).infer_inputs(X, y, Hinge(2.0), KERNEL)
    assert not low.converged and low.residual > 1e-6


def test_a_likelihood_without_tilted_moments_is_refused():
    with pytest.raises(TypeError, match="tilted_moments"):
        LowRankEP().infer_inputs(np.zeros((3, 1)), np.ones(3), object(), RBF())
