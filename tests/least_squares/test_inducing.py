"""Inducing points."""

import numpy as np
from numpy.testing import assert_allclose
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from softmargin.least_squares import centres, hard_points


def test_centres_are_cluster_means_in_units_of_the_length_scales():
    rng = np.random.default_rng(0)
    X = np.column_stack([np.repeat([0.0, 1.0], 50), rng.normal(scale=100, size=100)])
    Z = centres(X, ConstantKernel() + RBF([0.1, 1e4]), 2, np.random.RandomState(0))
    assert_allclose(np.sort(Z[:, 0]), [0.0, 1.0])


def test_few_distinct_rows_are_all_centres():
    X = np.repeat(np.arange(3.0), 5)[:, None]
    assert_allclose(np.sort(centres(X, RBF(), 10, np.random.RandomState(0)).ravel()), [0, 1, 2])


def test_hard_rows_are_preferred():
    X = np.arange(200.0)[:, None]
    miss = np.where(X[:, 0] < 30, 0.9, 1e-6)
    Z = hard_points(X, miss, RBF(), 40, 0.75, np.random.RandomState(0))
    assert np.isin(np.arange(30.0), Z).mean() > 0.9 and Z.max() > 150
