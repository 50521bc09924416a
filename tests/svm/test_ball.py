"""The smallest enclosing ball: optimality conditions and known answers."""

import numpy as np
import pytest

from softmargin.svm import smallest_ball


@pytest.mark.parametrize("n", [2, 7, 80])
@pytest.mark.parametrize("length", [0.3, 1.0, 5.0])
def test_optimality_conditions(n, length):
    X = np.random.default_rng(n).normal(size=(n, 3))
    K = np.exp(-0.5 * ((X[:, None] - X[None]) ** 2).sum(-1) / length**2)
    ball = smallest_ball(K)
    assert ball.mu.min() >= 0
    assert ball.mu.sum() == pytest.approx(1)
    distance = np.diag(K) - 2 * K @ ball.mu + ball.mu @ K @ ball.mu
    assert distance.max() <= ball.radius2 * (1 + 1e-9)
    assert np.allclose(distance[ball.mu > 0], ball.radius2, rtol=1e-8)


def test_linear_kernel_in_the_plane():
    """More rows than dimensions: an equilateral triangle with points inside has the triangle's circumcircle."""
    angles = np.pi * np.array([0.5, 7 / 6, 11 / 6])
    rng = np.random.default_rng(0)
    inside = 0.4 * rng.uniform(-1, 1, size=(30, 2))
    X = np.vstack([np.stack([np.cos(angles), np.sin(angles)], axis=1), inside]) + 5.0
    ball = smallest_ball(X @ X.T)
    assert ball.radius2 == pytest.approx(1.0, rel=1e-9)
    assert np.allclose(ball.mu @ X, 5.0, atol=1e-7)


def test_one_row_and_copies():
    assert smallest_ball(np.array([[3.0]])).radius2 == pytest.approx(0, abs=1e-12)
    assert smallest_ball(np.full((4, 4), 2.0)).radius2 == pytest.approx(0, abs=1e-12)
