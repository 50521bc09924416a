"""Leave-one-out of low-rank EP: full EP's where the inducing points are the rows, and an exact gradient."""

import numpy as np
import pytest
from scipy import sparse

from softmargin.criteria import Problem
from softmargin.criteria.loo import LeaveOneOut
from softmargin.inference import EP
from softmargin.inference.low_rank import LowRankEP, low_rank_leave_one_out
from softmargin.kernels import evaluate
from softmargin.likelihoods import Hinge
from softmargin.rows import LocalRows

from .problems import KERNEL, LIKELIHOODS, SMOOTH_KERNEL, problem, slope, theta_slopes

each_likelihood = pytest.mark.parametrize("likelihood", LIKELIHOODS, ids=lambda l: l.name)


@pytest.mark.parametrize("likelihood", [l for l in LIKELIHOODS if l.name != "link"], ids=lambda l: l.name)
@pytest.mark.parametrize("kernel", [KERNEL, SMOOTH_KERNEL], ids=["matern", "rbf"])
def test_inducing_points_at_the_rows_give_full_leave_one_out(likelihood, kernel):
    """(Full EP has no gradient where sites are negative, as the link's are.)"""
    X, y, weight = problem(likelihood)
    at = evaluate(kernel, X)
    full = LeaveOneOut()(EP(tol=1e-9).infer(at.K, y, likelihood, weight), Problem(at.K, y, likelihood, weight))
    posterior = LowRankEP(tol=1e-9).infer_inputs(X, y, likelihood, kernel, weight, Z=X)
    low = low_rank_leave_one_out(posterior, X, y, likelihood, kernel, weight, rtol=1e-9)
    assert abs(low.value - full.value) < 1e-5
    np.testing.assert_allclose(low.d_theta, at.contract(full.d_gram), atol=1e-4)
    np.testing.assert_allclose(low.d_params, full.d_params, atol=1e-4)


@each_likelihood
def test_gradient_is_that_of_the_value(likelihood):
    X, y, weight = problem(likelihood)

    def evaluated(kernel, likelihood=likelihood, gradients=False):
        posterior = LowRankEP(tol=1e-10).infer_inputs(X, y, likelihood, kernel, weight, Z=X[:25])
        return low_rank_leave_one_out(posterior, X, y, likelihood, kernel, weight, gradients=gradients, rtol=1e-10)

    low = evaluated(KERNEL, gradients=True)
    np.testing.assert_allclose(
        low.d_theta, theta_slopes(lambda kernel: evaluated(kernel).value, KERNEL), rtol=1e-6, atol=2e-6
    )
    for i, name in enumerate(likelihood.param_names):
        params = {n: getattr(likelihood, n) for n in likelihood.param_names}
        by_param = slope(
            lambda x: evaluated(KERNEL, type(likelihood)(**{**params, name: x})).value,  # noqa: B023
            params[name],
        )
        np.testing.assert_allclose(low.d_params[i], by_param, rtol=1e-5, atol=2e-6)


def test_value_is_that_of_refitting_without_the_row():
    """EP's cavities are close to refitting: 0.05 nats a row here."""
    X, y, _ = problem(Hinge(), n=60)
    solver = LowRankEP(tol=1e-8)
    low = low_rank_leave_one_out(
        solver.infer_inputs(X, y, Hinge(2.0), KERNEL, Z=X[:30]), X, y, Hinge(2.0), KERNEL, gradients=False
    )
    for i in range(0, 60, 12):
        rest = np.arange(60) != i
        refit = solver.infer_inputs(X[rest], y[rest], Hinge(2.0), KERNEL, Z=X[:30])
        K_star, k_diag = evaluate(KERNEL, X).K[[i], :30], evaluate(KERNEL, X).K[[i], i]
        assert abs(refit.log_predictive(Hinge(2.0), y[[i]], K_star, k_diag)[0] - low.log_z[i]) < 0.05


def test_known_features_and_sparse_inputs_give_the_same():
    X, y, weight = problem(Hinge())
    solver = LowRankEP(tol=1e-9)
    prior, rows = solver.prior(KERNEL, X[:25]), LocalRows(X, y, weight, block_rows=64)
    posterior = solver.infer_prior(rows, Hinge(2.0), prior)
    one, two, three = (
        low_rank_leave_one_out(posterior, inputs, y, Hinge(2.0), KERNEL, weight, features=features, rtol=1e-8)
        for inputs, features in ((X, None), (X, rows.features(prior)), (sparse.csr_matrix(X), None))
    )
    for other in (two, three):
        np.testing.assert_allclose(other.d_theta, one.d_theta, atol=1e-7)
        np.testing.assert_allclose(other.d_params, one.d_params, atol=1e-7)
