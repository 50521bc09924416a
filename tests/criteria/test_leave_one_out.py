"""Leave-one-out of the SVM: exact against brute force, and the estimates and bounds against the exact one."""

import numpy as np
import pytest

from softmargin.criteria import (
    GACV,
    JaakkolaHaussler,
    Problem,
    SharpSpan,
    Span,
    SupportVectorCount,
    SVMLeaveOneOut,
    leave_one_out_margins,
    span_margins,
    svm_loo,
)
from softmargin.likelihoods import Hinge, SquaredHinge


def brute_force(problem, svm, without):
    """Train without each row, from scratch."""
    margins = np.empty(len(problem.y))
    for i in range(len(problem.y)):
        rest, keep = without(problem, [i])
        margins[i] = problem.y[i] * problem.K[i, keep] @ svm(rest).beta
    return margins


@pytest.mark.parametrize("loss", [Hinge, SquaredHinge])
@pytest.mark.parametrize("weighted", [False, True])
def test_exact_is_brute_force(make_case, svm, without, loss, weighted):
    problem = make_case(loss, weighted=weighted).problem()
    expected = brute_force(problem, svm, without)
    assert np.allclose(leave_one_out_margins(svm(problem), problem, tol=1e-10), expected, atol=1e-4)
    weight = np.ones_like(expected) if problem.weight is None else problem.weight
    error = float(weight @ (expected <= 0) / weight.sum())
    assert SVMLeaveOneOut()(svm(problem), problem).value == pytest.approx(error, abs=1e-12)


@pytest.mark.parametrize("loss", [Hinge, SquaredHinge])
def test_bounds_are_above_the_exact_error(make_case, svm, loss):
    for C in (0.3, 2.0, 20.0):
        problem = make_case(loss).problem(C=C)
        posterior = svm(problem)
        exact = SVMLeaveOneOut()(posterior, problem).value
        assert 0 < exact <= JaakkolaHaussler()(posterior, problem).value
        assert exact <= SupportVectorCount()(posterior, problem).value
        left_out = leave_one_out_margins(posterior, problem)
        assert np.all(left_out <= problem.y * posterior.mean + 1e-6)
        assert np.all(left_out >= problem.y * posterior.mean - np.abs(posterior.beta) * np.diag(problem.K) - 1e-6)


@pytest.mark.parametrize(("loss", "correlation"), [(Hinge, 0.95), (SquaredHinge, 0.99)])
def test_span_predicts_the_left_out_margins(make_case, svm, loss, correlation):
    problem = make_case(loss).problem()
    posterior = svm(problem)
    exact, predicted = leave_one_out_margins(posterior, problem), span_margins(posterior, problem)
    assert np.corrcoef(exact, predicted)[0, 1] > correlation
    # Where the active set stays, the prediction is exact.
    assert np.mean(np.abs(exact - predicted) < 1e-4) > 0.3


def test_span_is_the_formula(make_case, svm):
    problem = make_case(SquaredHinge).problem()
    posterior = svm(problem)
    S, alpha = np.flatnonzero(posterior.beta), np.abs(posterior.beta)
    n, C = len(problem.y), problem.likelihood.C
    M = problem.K[np.ix_(S, S)] + np.eye(len(S)) / C
    S2 = 1 / np.diag(np.linalg.inv(M))
    assert SharpSpan()(posterior, problem).value == pytest.approx(np.sum(alpha[S] * S2 >= 1) / n)
    smooth = 1 / np.diag(np.linalg.inv(M + np.diag(1 / alpha[S]))) - 1 / alpha[S]
    expected = np.sum(1 / (1 + np.exp(-5 * (alpha[S] * smooth - 1)))) + (n - len(S)) / (1 + np.exp(5))
    assert Span()(posterior, problem).value == pytest.approx(expected / n, rel=1e-9)
    bare = Span(gradients=False)(posterior, problem)
    assert bare.value == Span()(posterior, problem).value and bare.d_gram is None


def test_span_limits(make_case, svm):
    """eta -> 0 is the span, eta -> infinity the bound of Jaakkola & Haussler, for a steep step."""
    problem = make_case(SquaredHinge).problem()
    posterior = svm(problem)
    value = {eta: Span(c1=1e4, eta=eta)(posterior, problem).value for eta in (1e-9, 1e7)}
    assert value[1e-9] == pytest.approx(SharpSpan()(posterior, problem).value, abs=1e-3)
    assert value[1e7] == pytest.approx(JaakkolaHaussler()(posterior, problem).value, abs=1e-3)


def test_gacv_is_the_formula(make_case, svm):
    problem = make_case(Hinge).problem(C=0.5)
    posterior = svm(problem)
    z, alpha = problem.y * posterior.mean, np.abs(posterior.beta)
    f = np.where(z < -1, 2, np.where(z <= 1 + 1e-9, 1, 0))
    expected = np.mean(np.maximum(1 - z, 0) + alpha * np.diag(problem.K) * f)
    assert GACV()(posterior, problem).value == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("criterion", [SupportVectorCount(), JaakkolaHaussler(), SharpSpan(), SVMLeaveOneOut(), GACV()])
def test_depends_on_the_product_of_C_and_K_only(make_case, svm, criterion):
    """f depends on C K only, and so do the error estimates."""
    case = make_case(Hinge)
    one = case.problem((1.0, 0.0), C=2.0)
    other = type(one)(4 * one.K, one.y, Hinge(0.5), None)
    assert criterion(svm(one), one).value == pytest.approx(criterion(svm(other), other).value, rel=1e-8)


@pytest.mark.parametrize("loss", [Hinge, SquaredHinge])
def test_dependent_rows_do_not_lead_astray(svm, without, loss):
    """A linear kernel of rank 3 with copies: no four free rows are independent, and paths meet ties."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2))
    X = np.vstack([X, X[:6]])
    y = np.where(X[:, 0] + 0.5 * np.sin(9 * X[:, 1]) > 0, 1.0, -1.0)
    problem = Problem(X @ X.T + 1.0, y, loss(2.0))
    exact = leave_one_out_margins(svm(problem), problem, tol=1e-10)
    assert np.allclose(exact, brute_force(problem, svm, without), atol=1e-4)


def test_a_path_that_is_lost_is_trained_instead(make_case, svm, monkeypatch):
    problem = make_case(Hinge).problem()
    posterior = svm(problem)
    expected = leave_one_out_margins(posterior, problem, tol=1e-10)
    monkeypatch.setattr(svm_loo, "unlearn", lambda *args: (np.zeros_like(problem.y), True))
    assert np.allclose(leave_one_out_margins(posterior, problem, tol=1e-10), expected, atol=1e-5)
