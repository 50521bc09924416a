import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import lsq_linear

from softmargin.svm._pairs import _pair_minimum, descend, violations

numbers = st.floats(-3, 3)


@settings(deadline=None)
@given(st.tuples(numbers, numbers, numbers), numbers, numbers, st.tuples(*4 * [st.floats(0, 2)]))
def test_pair_minimum_beats_every_point_of_the_box(entries, p, q, sizes):
    u, v, w = entries
    a, b, c = u * u + 0.01, u * v, v * v + w * w + 0.01
    x0, x1, y0, y1 = -sizes[0], sizes[1], -sizes[2], sizes[3]
    x, y = _pair_minimum(a, b, c, p, q, x0, x1, y0, y1)
    X, Y = np.meshgrid(np.linspace(x0, x1, 41), np.linspace(y0, y1, 41))

    def value(x, y):
        return 0.5 * a * x * x + b * x * y + 0.5 * c * y * y + p * x + q * y

    assert x0 <= x <= x1
    assert y0 <= y <= y1
    assert value(x, y) <= value(X, Y).min() + 1e-12


def test_descent_reaches_the_bounded_least_squares_solution():
    rng = np.random.default_rng(0)
    A, rhs = rng.standard_normal((30, 20)), rng.standard_normal(30)
    K, target = A.T @ A, A.T @ rhs
    lower, upper = np.full(20, -0.1), np.full(20, 0.15)
    beta, grad = np.zeros(20), -target
    steps = descend(K, np.zeros(20), np.diag(K).copy(), grad, beta, lower, upper, 0.0, 10_000, 1e-12)
    assert steps < 10_000
    np.testing.assert_allclose(beta, lsq_linear(A, rhs, (lower, upper), tol=1e-14).x, atol=1e-9)
    np.testing.assert_allclose(grad, K @ beta - target, atol=1e-12)
    assert violations(grad, beta, lower, upper, 0.0).max() <= 1e-12


def test_violations_at_bounds_and_kink():
    grad, beta = np.array([-1.0, -1.0, 0.5, 0.05, -0.5]), np.array([0.0, 1.0, 0.0, 0.0, -0.2])
    lower, upper = np.array([0.0, 0, 0, -1, -1]), np.ones(5)
    # Free to rise; at its upper bound; at its lower bound; held by the kink; slope -0.5 - 0.1 on the negative side.
    np.testing.assert_allclose(violations(grad, beta, lower, upper, 0.1), [0.9, 0, 0, 0, 0.6])


def test_partners_move_against_each_other_under_a_large_offset():
    # With one weight at a time, or partners chosen by their own slope, the offset 1e6 makes every step tiny.
    rng = np.random.default_rng(3)
    n = 60
    A = rng.standard_normal((n, n))
    K, y = A @ A.T / n + 1e6, np.where(np.arange(n) % 2, 1.0, -1.0)
    lower, upper = np.where(y < 0, -1.0, 0.0), np.where(y > 0, 1.0, 0.0)
    beta, grad = np.zeros(n), -y
    steps = descend(K, np.zeros(n), np.diag(K).copy(), grad, beta, lower, upper, 0.0, 5000, 1e-6)
    assert steps < 2000
