"""Leave-one-copy-out outputs against refits, and their gradient against finite differences."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from softmargin.kernels import gram
from softmargin.least_squares import DenseRidge, DenseRows, LooObjective, SearchSpace, fit_least_squares
from softmargin.policy import LeastSquaresPolicy

from .problems import KERNEL, POINT, blobs, copies, one_hot

S2 = 0.07
POLICY = LeastSquaresPolicy(search_iter=0)


def refit_without_one_copy(K, Y, weight, s2, i):
    """Mean at row i of the regression in which row i has one copy less (none at all below one copy)."""
    left = weight.copy()
    left[i] = max(weight[i] - 1.0, 0.0)
    keep = left > 0
    return K[i, keep] @ np.linalg.solve(K[np.ix_(keep, keep)] + np.diag(s2 / left[keep]), Y[keep])


@pytest.mark.parametrize("kind", ["ones", "copies", "fractions"])
def test_outputs_equal_refits(kind):
    X, labels = blobs()
    X[3] = X[4]
    rng = np.random.default_rng(1)
    weight = {
        "ones": np.ones(30),
        "copies": rng.integers(1, 4, size=30).astype(float),
        "fractions": rng.uniform(0.1, 2.5, size=30),
    }[kind]
    K, Y = gram(KERNEL, X), one_hot(labels)
    ridge = DenseRidge.solve(K, Y, weight, S2)
    expected = [refit_without_one_copy(K, Y, weight, S2, i) for i in range(30)]
    assert_allclose(ridge.M, expected, rtol=0, atol=1e-10)
    kept, group = np.delete(np.arange(30), 4), np.r_[0:4, 3:29]
    assert_allclose(DenseRidge.solve(gram(KERNEL, X[kept]), Y, weight, S2, group=group).M, expected, rtol=0, atol=1e-10)


def test_merged_rows_equal_written_out_copies():
    X, labels, weight, group = copies()
    Y = one_hot(labels)
    merged = DenseRidge.solve(gram(KERNEL, X), Y, weight, S2)
    written = DenseRidge.solve(gram(KERNEL, X[group]), Y[group], np.ones(len(group)), S2)
    assert_allclose(written.M, merged.M[group], rtol=0, atol=1e-11)
    assert_allclose(written.A * weight[group, None], merged.A[group], rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("weighted", [False, True])
def test_gradient_equals_finite_differences(weighted):
    X, labels = blobs()
    weight = np.random.default_rng(2).uniform(0.2, 3.0, size=30) if weighted else np.ones(30)
    space = SearchSpace.build(KERNEL, X, weight, X.std(axis=0), LeastSquaresPolicy())
    objective = LooObjective(DenseRows(X, one_hot(labels), weight), labels, space)
    gradient = objective(POINT).gradient
    h = 1e-5
    for a, step in enumerate(h * np.eye(len(POINT))):
        difference = (objective(POINT + step).value - objective(POINT - step).value) / (2 * h)
        assert gradient[a] == pytest.approx(difference, rel=1e-6, abs=1e-7), space.names[a]


def test_objective_of_copies_equals_that_of_weights():
    X, labels, weight, group = copies()
    spread = X[group].std(axis=0)
    values = []
    for X_, labels_, weight_ in ((X, labels, weight), (X[group], labels[group], np.ones(len(group)))):
        space = SearchSpace.build(KERNEL, X_, weight_, spread, LeastSquaresPolicy())
        values.append(LooObjective(DenseRows(X_, one_hot(labels_), weight_), labels_, space)(POINT))
    assert values[0].value == pytest.approx(values[1].value, rel=1e-11)
    assert_allclose(values[0].gradient, values[1].gradient, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("weight", [1e-6, 1e6])
def test_extreme_weights_stay_finite(weight):
    X, labels = blobs()
    X[1] = X[0]
    space = SearchSpace.build(KERNEL, X, np.full(30, weight), X.std(axis=0), LeastSquaresPolicy())
    evaluation = LooObjective(DenseRows(X, one_hot(labels), np.full(30, weight)), labels, space)(POINT)
    assert np.isfinite(evaluation.value) and np.all(np.isfinite(evaluation.gradient))


@pytest.mark.parametrize("whole", [False, True])
def test_gradient_with_several_rows_at_an_input(whole):
    X, labels = blobs()
    weight, group = np.random.default_rng(2).uniform(0.2, 3.0, size=30), np.arange(30) // 2
    space = SearchSpace.build(KERNEL, X[::2], weight[::2], X.std(axis=0), LeastSquaresPolicy())
    objective = LooObjective(DenseRows(X[::2], one_hot(labels), weight, whole, group), labels, space)
    gradient, h = objective(POINT).gradient, 1e-5
    for a, step in enumerate(h * np.eye(len(POINT))):
        difference = (objective(POINT + step).value - objective(POINT - step).value) / (2 * h)
        assert gradient[a] == pytest.approx(difference, rel=1e-6, abs=1e-7), space.names[a]


def test_conflicting_labels_of_large_weight_leave_all_digits():
    # One row for each label had coefficients of 1e12 that cancel; their mean at the input is what the others see.
    X, labels = blobs(10)
    X[5:] = X[:5]
    order = np.argsort(np.arange(10) % 5, kind="stable")
    X, labels = X[order], labels[order]
    machines = [
        fit_least_squares(X, labels, np.full(10, w), 3, KERNEL, spread=X.std(axis=0), policy=POLICY)
        for w in (1e12, 1e13)
    ]
    few = machines[0].loo_outputs, machines[1].loo_outputs
    assert_allclose(few[0], few[1], atol=1e-9)
    assert len(machines[0].basis) == 5
