"""The softmax: derivatives by finite differences, and the optimum of its matrix."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import log_softmax

from softmargin.least_squares import SoftmaxFit, link_value


def problem(n=40, K=3, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, K)), rng.integers(K, size=n), rng.uniform(0.3, 2.0, size=n)


def test_derivatives_equal_finite_differences():
    M, labels, weight = problem()
    link, h = link_value(M, 1.7, labels, weight), 1e-5
    direction = np.random.default_rng(1).normal(size=M.shape)
    up, down = (link_value(M + s * h * direction, 1.7, labels, weight).value for s in (1, -1))
    assert np.vdot(link.d_outputs, direction) == pytest.approx((up - down) / (2 * h), rel=1e-8)
    up, down = (link_value(M, 1.7 * np.exp(s * h), labels, weight).value for s in (1, -1))
    assert link.d_log_slope == pytest.approx((up - down) / (2 * h), rel=1e-8)


def penalised(logits, labels, weight, B, c):
    log_p = log_softmax(logits @ B + c, axis=1)[np.arange(len(labels)), labels]
    return weight @ log_p - 5.0 * np.sum((B - np.eye(len(c))) ** 2) - 0.5 * c @ c


def test_matrix_is_the_optimum_of_the_concave_objective():
    logits, labels, weight = problem()
    B, c = SoftmaxFit().fit(logits, labels, weight)
    best, rng, h = penalised(logits, labels, weight, B, c), np.random.default_rng(2), 1e-4
    for _ in range(20):
        dB, dc = rng.normal(size=B.shape), rng.normal(size=c.shape)
        up, down = (penalised(logits, labels, weight, B + s * h * dB, c + s * h * dc) for s in (1, -1))
        # The slope of a concave function bounds what is still to gain.
        assert abs(up - down) / (2 * h) < 1e-2
        assert max(up, down) < best + 1e-6


def test_matrix_knows_copies():
    logits, labels, _ = problem()
    weight = np.arange(40) % 3 + 1
    B, c = SoftmaxFit().fit(logits, labels, weight.astype(float))
    index = np.repeat(np.arange(40), weight)
    B2, c2 = SoftmaxFit().fit(logits[index], labels[index], np.ones(len(index)))
    assert_allclose(B, B2, atol=1e-6)
    assert_allclose(c, c2, atol=1e-6)


def test_penalty_grows_with_the_classes():
    logits, labels, weight = problem(K=20)
    strong, weak = (
        SoftmaxFit().fit(logits, labels, weight),
        SoftmaxFit(penalty_per_class=0.0).fit(logits, labels, weight),
    )
    same = SoftmaxFit(matrix_penalty=30.0).fit(logits, labels, weight)
    assert np.abs(strong[0] - np.eye(20)).sum() < np.abs(weak[0] - np.eye(20)).sum()
    assert_allclose(strong[0], same[0])


def test_cross_fit_never_sees_the_rows_it_predicts():
    logits, labels, weight = problem()
    log_p = SoftmaxFit().cross_fit(logits, labels, weight)
    # Every fifth row in the order of the classes and, within each, of its own output.
    order = sorted(range(40), key=lambda i: (labels[i], logits[i, labels[i]]))
    out = np.isin(np.arange(40), order[2::5])
    B, c = SoftmaxFit().fit(logits[~out], labels[~out], weight[~out])
    assert_allclose(log_p[out], log_softmax(logits[out] @ B + c, axis=1))


def test_cross_fit_does_not_depend_on_the_order_of_the_rows():
    logits, labels, weight = problem()
    order = np.random.default_rng(5).permutation(40)
    expected = SoftmaxFit().cross_fit(logits, labels, weight)[order]
    assert_allclose(SoftmaxFit().cross_fit(logits[order], labels[order], weight[order]), expected, rtol=1e-6)


def test_many_rows_are_thinned():
    logits, labels, weight = problem(60)
    B, c = SoftmaxFit(max_rows=30).fit(logits, labels, weight)
    expected = SoftmaxFit().fit(logits[::2], labels[::2], weight[::2])
    assert_allclose(B, expected[0])
    assert_allclose(c, expected[1])


def test_rows_of_large_weight_do_not_hide_the_others():
    # A relative tolerance of a value of 1e10 nats left out what rows of weight 1 say.
    logits, labels, weight = problem(n=60)
    weight[:20] *= 1e10
    B, c = SoftmaxFit().fit(logits, labels, weight)
    residual = -weight[:, None] * np.exp(log_softmax(logits @ B + c, axis=1))
    residual[np.arange(60), labels] += weight
    gradient = np.vstack([logits.T @ residual - 10.0 * (B - np.eye(3)), residual.sum(axis=0) - c])
    # 1e10 times the rounding of a probability is 1e-6 of a row; the slopes of the small rows are about one.
    assert np.abs(gradient).max() < 0.1
