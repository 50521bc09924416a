"""Merged rows: copies become weights, in an order that does not depend on the input's."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_matrix

from softmargin.rows import merge_rows, spread_of

X = np.array([[1.0, 2.0], [0.0, 5.0], [1.0, 2.0], [1.0, 2.0], [0.0, 0.0]])
Y = np.array([1.0, 0.0, 1.0, 0.0, 1.0])


@pytest.mark.parametrize("container", [np.asarray, csr_matrix])
def test_copies_become_weights(container):
    rows = merge_rows(container(X), Y, None)
    # Rows 0 and 2 agree in x and y; row 3 has the other label.
    assert len(rows.y) == 4 and rows.weight.sum() == 5
    assert rows.group[0] == rows.group[2] != rows.group[3]
    dense = rows.X if isinstance(rows.X, np.ndarray) else rows.X.toarray()
    assert_array_equal(dense[rows.group], X)
    assert_array_equal(rows.y[rows.group], Y)
    assert_allclose(rows.share, [0.5, 1, 0.5, 1, 1])


def test_rows_without_copies_have_weight_one():
    assert_array_equal(merge_rows(X[1:4], Y[1:4], None).weight, np.ones(3))


def test_rows_without_weight_are_dropped():
    rows = merge_rows(X, Y, np.array([2.0, 0.0, 1.0, 1.0, 4.0]))
    assert_array_equal(rows.group == -1, [False, True, False, False, False])
    assert sorted(rows.weight) == [1, 3, 4]
    assert_allclose(rows.share, [2 / 3, 0, 1 / 3, 1, 1])


@pytest.mark.parametrize("container", [np.asarray, csr_matrix])
def test_order_is_canonical(container):
    order = np.array([3, 1, 4, 0, 2])
    one, other = merge_rows(container(X), Y, None), merge_rows(container(X[order]), Y[order], None)
    assert_array_equal(one.y, other.y)
    assert_array_equal(one.weight, other.weight)
    assert np.abs(one.X - other.X).sum() == 0


def test_stored_zeros_are_zeros():
    stored = csr_matrix(np.array([[1.0, 9.0], [1.0, 0.0]]))
    stored.data[1] = 0.0
    assert merge_rows(stored, np.ones(2), None).weight == [2.0]


def test_precomputed_merges_columns_too():
    K = X @ X.T
    rows = merge_rows(K, Y, None, precomputed=True)
    assert_array_equal(rows.X, K[np.ix_(rows.first, rows.first)])


def test_subset_follows_the_original_rows():
    rows = merge_rows(X, Y, None)
    part = rows.subset(rows.y == 1, np.ones(int((rows.y == 1).sum())))
    inside = part.group >= 0
    assert_array_equal(inside, Y == 1)
    assert_array_equal(part.X[part.group[inside]], X[inside])


@pytest.mark.parametrize("container", [np.asarray, csr_matrix])
def test_spread_is_the_weighted_standard_deviation(container):
    rng = np.random.default_rng(0)
    A = np.where(rng.random((50, 3)) < 0.5, rng.standard_normal((50, 3)), 0.0)
    w = rng.integers(1, 4, 50)
    assert_allclose(spread_of(container(A), w), np.repeat(A, w, axis=0).std(axis=0), rtol=1e-12)


@pytest.mark.parametrize("container", [np.asarray, csr_matrix])
def test_spread_far_from_the_origin(container):
    A = 1e8 + np.random.default_rng(0).standard_normal((50, 2))
    assert_allclose(spread_of(container(A), None), A.std(axis=0), rtol=1e-6)


@pytest.mark.parametrize("container", [np.asarray, csr_matrix])
def test_a_constant_column_has_no_spread(container):
    A = np.column_stack([np.full(7, 0.1), np.zeros(7), np.arange(7.0)])
    assert_array_equal(spread_of(container(A), None) > 0, [False, False, True])
