"""Leave-one-out on the papers' own sets: the span's prediction, and what the exact one costs."""

import time

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from softmargin.criteria import Problem, SVMLeaveOneOut, leave_one_out_margins, span_margins
from softmargin.datasets import load_pima, load_twonorm
from softmargin.inference import MAP
from softmargin.likelihoods import Hinge, SquaredHinge

SETTINGS = ((1.0, 1.0, 2.0), (10.0, 1.0, 4.0), (0.3, 3.0, 1.5))
"""C, amplitude and length scale."""


def make_problem(load, loss, setting):
    C, amplitude, length = setting
    bunch = load()
    X, y = bunch.data[bunch.train], np.where(bunch.target[bunch.train] > 0, 1.0, -1.0)
    distance = ((X[:, None] - X[None]) ** 2).sum(-1)
    return Problem(amplitude * np.exp(-0.5 * distance / length**2) + 0.1, y, loss(C))


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("loss", [Hinge, SquaredHinge])
@pytest.mark.parametrize("load", [load_pima, load_twonorm])
def test_span_follows_the_left_out_margins(load, loss, setting):
    problem = make_problem(load, loss, setting)
    posterior = MAP(tol=1e-10, gradients=False).infer(problem.K, problem.y, problem.likelihood)
    exact, predicted = leave_one_out_margins(posterior, problem), span_margins(posterior, problem)
    assert np.corrcoef(exact, predicted)[0, 1] > 0.99


@pytest.mark.slow
@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("loss", [Hinge, SquaredHinge])
def test_exact_equals_training_again_at_a_quarter_of_its_cost(loss, setting):
    problem = make_problem(load_pima, loss, setting)
    solver = MAP(tol=1e-8, gradients=False)
    with threadpool_limits(1):
        posterior = solver.infer(problem.K, problem.y, problem.likelihood)
        leave_one_out_margins(posterior, problem)
        start = time.process_time()
        margins = leave_one_out_margins(posterior, problem)
        middle = time.process_time()
        brute = np.array([without(i, problem, solver) for i in range(len(problem.y))])
        end = time.process_time()
    np.testing.assert_allclose(margins, brute, atol=1e-3)
    assert SVMLeaveOneOut()(posterior, problem).value == pytest.approx(np.mean(brute <= 0), abs=1e-12)
    assert middle - start < 0.25 * (end - middle)


def without(i, problem, solver):
    """Margin of row i after training from scratch on the others."""
    rest = np.delete(np.arange(len(problem.y)), i)
    weights = solver.infer(problem.K[np.ix_(rest, rest)], problem.y[rest], problem.likelihood).beta
    return problem.y[i] * problem.K[i, rest] @ weights
