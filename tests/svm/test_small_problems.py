"""The solver on problems that a grid, another solver or the conditions of optimality settle."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import lsq_linear

from softmargin.svm import BoxProblem, solve_dual

numbers = st.floats(-3, 3)


def spd(n, seed=0):
    A = np.random.default_rng(seed).standard_normal((n, n))
    return A @ A.T + np.eye(n)


@settings(deadline=None)
@given(st.tuples(numbers, numbers, numbers), numbers, numbers, st.tuples(*4 * [st.floats(0, 2)]))
def test_two_weights_beat_every_point_of_their_box(entries, p, q, sizes):
    u, v, w = entries
    K = np.array([[u * u + 0.01, u * v], [u * v, v * v + w * w + 0.01]])
    lower, upper = -np.array(sizes[::2]), np.array(sizes[1::2])
    target = np.array([p, q])

    def value(x, y):
        return 0.5 * K[0, 0] * x * x + K[0, 1] * x * y + 0.5 * K[1, 1] * y * y - p * x - q * y

    x, y = solve_dual(K, BoxProblem(target, lower, upper, np.zeros(2)), tol=1e-12).beta
    X, Y = np.meshgrid(*(np.linspace(a, b, 41) for a, b in zip(lower, upper)))
    assert np.all((lower <= [x, y]) & ([x, y] <= upper))
    assert value(x, y) <= value(X, Y).min() + 1e-10


def test_bounded_least_squares():
    rng = np.random.default_rng(0)
    A, rhs = rng.standard_normal((30, 20)), rng.standard_normal(30)
    lower, upper = np.full(20, -0.1), np.full(20, 0.15)
    solution = solve_dual(A.T @ A, BoxProblem(A.T @ rhs, lower, upper, np.zeros(20)), tol=1e-13)
    np.testing.assert_allclose(solution.beta, lsq_linear(A, rhs, (lower, upper), tol=1e-14).x, atol=1e-7)


def test_conditions_of_optimality_with_a_ridge_and_a_kink():
    n, rng, epsilon, ridge = 60, np.random.default_rng(1), 5.0, 0.1
    K, target = spd(n), 20 * rng.standard_normal(n)
    problem = BoxProblem(target, np.full(n, -1.0), np.full(n, 1.0), np.full(n, ridge), epsilon)
    solution = solve_dual(K, problem, tol=1e-12)
    beta, slope = solution.beta, target - K @ solution.beta - ridge * solution.beta
    inside, zero = (np.abs(beta) < 1) & (beta != 0), beta == 0
    assert all(part.any() for part in (inside, zero, np.abs(beta) == 1))
    np.testing.assert_allclose(slope[inside], epsilon * np.sign(beta[inside]), atol=1e-5)
    assert np.all(np.abs(slope[zero]) <= epsilon + 1e-5)
    for bound in (-1, 1):
        assert np.all(bound * slope[beta == bound] >= epsilon - 1e-5)


def test_a_large_offset_does_not_slow_the_descent():
    # With one weight at a time, or partners chosen by their own slope, the offset 1e6 makes every step tiny.
    rng, n = np.random.default_rng(3), 60
    A = rng.standard_normal((n, n))
    K, y = A @ A.T / n + 1e6, np.where(np.arange(n) % 2, 1.0, -1.0)
    problem = BoxProblem(y, np.where(y < 0, -1.0, 0.0), np.where(y > 0, 1.0, 0.0), np.zeros(n))
    solution = solve_dual(K, problem, max_iter=20)
    assert solution.converged
