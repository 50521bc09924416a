import numpy as np
import pytest

from softmargin._linalg import NotPositiveDefiniteError
from softmargin.svm import BoxProblem
from softmargin.svm._face import _decouple, _solve, minimise_face


def spd(n, seed=0):
    A = np.random.default_rng(seed).standard_normal((n, n))
    return A @ A.T + np.eye(n)


def test_solve_uses_both_triangles():
    Q, x = spd(7), np.arange(7.0)
    _solve(np.ascontiguousarray(np.linalg.cholesky(Q).T), x)
    np.testing.assert_allclose(Q @ x, np.arange(7.0), atol=1e-12)


@pytest.mark.parametrize("k", [0, 3, 6])
def test_decoupled_factor_is_that_of_the_remaining_block(k):
    Q = spd(7)
    U = np.ascontiguousarray(np.linalg.cholesky(Q).T)
    _decouple(U, k)
    Q[k], Q[:, k] = 0, 0
    Q[k, k] = 1
    np.testing.assert_allclose(U.T @ U, Q, atol=1e-12)


def test_face_minimum_has_no_slope_on_the_free_weights():
    n, rng = 30, np.random.default_rng(1)
    K, target = spd(n), 20 * rng.standard_normal(n)
    problem = BoxProblem(target, np.full(n, -1.0), np.full(n, 1.0), np.full(n, 0.1), 0.3)
    beta = rng.uniform(-0.9, 0.9, n)
    beta[:5] = 0.0
    Q = K + 0.1 * np.eye(n)
    start, grad = beta.copy(), Q @ beta - target
    minimise_face(K, problem, grad, beta, 1e-14)
    free = problem.free(beta)
    assert 0 < free.sum() < n - 5
    np.testing.assert_allclose((grad + 0.3 * np.sign(beta))[free], 0, atol=1e-10)
    np.testing.assert_allclose(grad, Q @ beta - target, atol=1e-10)
    assert np.all(beta[:5] == 0)
    assert np.all(beta * start >= 0)

    def value(b):
        return 0.5 * b @ Q @ b - target @ b + 0.3 * np.abs(b).sum()

    assert value(beta) < value(start)


def test_indefinite_matrix_is_named():
    K = np.diag([1.0, -1.0])
    problem = BoxProblem(np.ones(2), np.zeros(2), np.ones(2), np.zeros(2))
    with pytest.raises(NotPositiveDefiniteError, match="has the eigenvalue -1"):
        minimise_face(K, problem, -np.ones(2), np.full(2, 0.5), 0.0)
