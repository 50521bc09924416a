import numpy as np
import pytest

from softmargin.likelihoods import EpsilonInsensitive, Hinge, SquaredHinge
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


@pytest.mark.parametrize("likelihood", [Hinge(30.0), SquaredHinge(3.0), EpsilonInsensitive(30.0, 0.1)])
def test_cold_start_solves_what_a_start_from_zero_solves(likelihood):
    n = 1200
    K, _ = hinge_problem(n, 1.0)
    target = np.sign(K[0] - np.median(K[0])) if likelihood.is_classifier else K[0] / K[0].std()
    problem = likelihood.dual(target)
    cold = solve_dual(K, problem, tol=1e-10)
    warm = solve_dual(K, problem, start=np.zeros(n), tol=1e-10)
    assert cold.converged
    assert warm.converged
    # The primal is strongly convex in f: (f - g)' K^-1 (f - g) / 2 <= gap, and |f_i|^2 <= K_ii f'K^-1 f.
    room = np.sqrt(2 * K.max()) * (np.sqrt(cold.measure.gap) + np.sqrt(warm.measure.gap))
    assert np.abs(cold.mean - warm.mean).max() <= room + 1e-12


class WatchedGram(Gram):
    """Remembers how many rows each working set had."""

    def __init__(self, K):
        super().__init__(K)
        self.sizes = []

    def block(self, rows):
        self.sizes.append(len(rows))
        return super().block(rows)


def test_cold_start_finds_a_small_first_face():
    # From zero, the first working set here has 1,189 rows, of which 476 are free in the end.
    rng = np.random.default_rng(1)
    X = rng.standard_normal((2000, 10))
    y = np.where(X[:, 0] + 0.5 * np.sin(2 * X[:, 1]) + 0.5 * rng.standard_normal(2000) > 0, 1.0, -1.0)
    gram, problem = WatchedGram(rbf(X, 3.2) + 1), Hinge(100.0).dual(y)
    solution = solve_dual(gram, problem)
    assert solution.converged
    assert max(gram.sizes) < 2 * np.count_nonzero(problem.free(solution.beta))


@pytest.mark.parametrize("likelihood", [Hinge(3.0), SquaredHinge(3.0), EpsilonInsensitive(3.0, 0.1)])
def test_a_repeated_row_has_the_weights_of_its_copies(likelihood):
    K, _ = hinge_problem(40, 1.0)
    target = np.sign(K[0] - np.median(K[0])) if likelihood.is_classifier else K[0] / K[0].std()
    once = solve_dual(K, likelihood.dual(target).repeated(3), tol=1e-12)
    thrice = solve_dual(np.tile(K, (3, 3)), likelihood.dual(np.tile(target, 3)), tol=1e-12)
    np.testing.assert_allclose(once.mean, thrice.mean[:40], atol=1e-5)
    np.testing.assert_allclose(once.measure.primal, thrice.measure.primal, rtol=1e-10)


def test_rounds_that_gain_nothing_end():
    # With bounds of 1e12 the gap stays where rounding leaves it, for a thousand rounds.
    rng = np.random.default_rng(1)
    X = rng.standard_normal((8, 2))
    K, y = 50 * rbf(X, 1.0) + 0.3, np.where(np.arange(8) % 5 == 0, 1.0, -1.0)
    iterations = [solve_dual(K, Hinge(C).dual(y, np.full(8, 1e12)), tol=1e-12).n_iter for C in (1.0, 3.0, 10.0)]
    assert max(iterations) < 200
