import numpy as np
import pytest

from softmargin.likelihoods import Hinge
from softmargin.svm import Gram, solve_dual

from .problems import rbf


def hinge_problem(n, C, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 4))
    y = np.where(X[:, 0] + 0.7 * rng.standard_normal(n) > 0, 1.0, -1.0)
    return rbf(X, 2.0) + 1, Hinge(C).dual(y)


class DriftingGram(Gram):
    """Every product but the initial one is wrong in the sixth digit until most rounds are over."""

    calls = 0

    def product(self, rows, x):
        self.calls += 1
        return super().product(rows, x) * (1 + 1e-5 * (1 < self.calls < 8))


def test_convergence_is_not_claimed_from_an_updated_mean():
    K, problem = hinge_problem(700, 3.0)
    gram = DriftingGram(K)
    solution = solve_dual(gram, problem)
    assert solution.converged
    assert gram.calls > 8
    np.testing.assert_allclose(solution.mean, K @ solution.beta, atol=1e-10)
    assert problem.measure(solution.beta, K @ solution.beta, gram.diag).relative <= 1.001e-6


@pytest.mark.parametrize("C", [0.1, 10.0])
def test_cold_start_above_the_small_size(C):
    K, problem = hinge_problem(1536, C)  # three working sets
    solution = solve_dual(Gram(K), problem)
    assert solution.converged
    assert solution.measure.relative <= 1e-6
    assert np.all(problem.clip(solution.beta) == solution.beta)


def test_rounds_that_gain_nothing_end():
    # With bounds of 1e12 the gap stays where rounding leaves it, for a thousand rounds.
    rng = np.random.default_rng(1)
    X = rng.standard_normal((8, 2))
    K, y = 50 * rbf(X, 1.0) + 0.3, np.where(np.arange(8) % 5 == 0, 1.0, -1.0)
    iterations = [solve_dual(K, Hinge(C).dual(y, np.full(8, 1e12)), tol=1e-12).n_iter for C in (1.0, 3.0, 10.0)]
    assert max(iterations) < 200
