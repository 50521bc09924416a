"""Kernels of some columns, and length scales that several columns share."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import approx_fprime
from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct, Matern, WhiteKernel

from softmargin.kernels import ColumnKernel, Layout, TiedKernel, column_scales, gram, make_kernel, roles
from tests.kernels.cases import inputs

LAYOUT = Layout((0, 1, 1, 1, 2), (0, 1, 2), ("age", "town", "dose"))
"""A number, a category of three values, a number."""


def tree() -> ColumnKernel:
    return ColumnKernel("rbf", [0, 2]) * ColumnKernel(DotProduct(0.5), 1) + ColumnKernel(RBF([1.0, 2.0]), [1, 0]) ** 2


def test_a_tied_rbf_on_zeros_and_ones_is_the_overlap_kernel():
    codes = np.array([0, 1, 2, 2, 0])
    kernel = TiedKernel(RBF([0.8, 1.7]), (0, 1, 1, 1))
    X = np.column_stack([np.zeros(5), np.eye(3)[codes]])
    assert_allclose(gram(kernel, X), np.exp(-1.0 * (codes[:, None] != codes) / 1.7**2), rtol=1e-12)


@pytest.mark.parametrize("kernel", [tree(), TiedKernel(Matern([0.7, 1.9], nu=1.5), (0, 1, 1))])
def test_gradient_is_that_of_finite_differences(kernel):
    X = inputs(5)
    _, gradient = kernel(X, eval_gradient=True)

    def value(theta):
        return kernel.clone_with_theta(theta)(X).ravel()

    assert_allclose(gradient.reshape(25, -1), approx_fprime(kernel.theta, value, 1e-7), atol=1e-5)


def test_columns_are_those_asked_for():
    X = inputs(6)
    assert_array_equal(ColumnKernel(RBF([1.0, 3.0]), [2, 0])(X), RBF([1.0, 3.0])(X[:, [2, 0]]))
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    assert_array_equal(ColumnKernel(RBF([1.0, 3.0]), ["c", "a"])(frame), RBF([1.0, 3.0])(X[:, [2, 0]]))
    assert_array_equal(ColumnKernel(RBF(2.0), "c").diag(frame), np.ones(6))


def test_clone_and_parameters():
    kernel = tree()
    again = clone(kernel)
    assert again == kernel and again is not kernel
    assert kernel.get_params()["k1__k1__columns"] == [0, 2]
    again.set_params(k2__kernel__kernel__length_scale=[5.0, 6.0])
    assert again != kernel
    assert_allclose(np.exp(again.theta[-2:]), [5.0, 6.0])
    moved = kernel.clone_with_theta(kernel.theta + 0.1)
    assert_allclose(moved.theta, kernel.theta + 0.1)
    assert_allclose(moved.bounds, kernel.bounds)
    assert tree().is_stationary() is False and ColumnKernel(RBF(), [0]).is_stationary()
    assert repr(ColumnKernel(RBF(2.0), ["age"])) == "ColumnKernel(RBF(length_scale=2), ['age'])"


def test_scikit_learns_regressor_learns_it():
    X = inputs(30)
    y = np.sin(X[:, 2]) + 0.5 * X[:, 0] + 0.1 * np.random.default_rng(2).normal(size=30)
    kernel = ColumnKernel(RBF(2.0), [2]) + ColumnKernel(DotProduct(0.1, "fixed"), [0]) + WhiteKernel(1e-2)
    model = GaussianProcessRegressor(kernel, normalize_y=True).fit(X, y)
    assert model.score(X, y) > 0.95
    assert model.kernel_.k1.k1.columns == [2]


def test_a_named_kernel_has_one_length_scale_for_each_input():
    kernel = make_kernel("rbf", 5, [2.0, 0.8, 0, 0, 0], LAYOUT)
    tied = kernel.k1.k2
    assert tied.groups == LAYOUT.groups
    # Two inputs vary; the third is constant and counts as one of spread 1.
    unit = np.sqrt(2) * np.exp(0.5)
    assert_allclose(tied.kernel.length_scale, np.array([2.0, 0.8, 1.0]) * unit)
    assert [role.input for role in roles(kernel, 5) if role.kind == "length_scale"] == [0, 1, 4]
    assert_allclose(column_scales(kernel, 5), np.array([2.0, 0.8, 0.8, 0.8, 1.0]) * unit)


def test_names_become_the_columns_of_the_inputs():
    kernel = make_kernel(ColumnKernel("rbf", ["dose", "town"]), 5, [2.0, 0.8, 0, 0, 3.0], LAYOUT)
    assert kernel.inputs == [4, 1, 2, 3] and kernel.columns == ["dose", "town"]
    tied = kernel.kernel.k1.k2
    assert tied.groups == (0, 1, 1, 1)
    assert_allclose(tied.kernel.length_scale, np.array([3.0, 0.8]) * np.sqrt(2) * np.exp(0.5))
    assert [role.input for role in roles(kernel, 5) if role.kind == "length_scale"] == [4, 1]
    # A learnt kernel may be given again, to rows laid out otherwise.
    again = make_kernel(kernel, 3, None, Layout((0, 1, 2), (0, 1, 2), LAYOUT.names))
    assert again.inputs == [2, 1] and again.kernel.k1.k2 == tied.kernel


def test_a_given_kernel_has_one_length_scale_for_each_column_of_the_table():
    gaps = Layout((0, 1, 2, 2), (0, 0, 1))
    assert make_kernel(RBF([1.0, 2.0]), 4, None, gaps).groups == (0, 0, 1, 1)
    assert make_kernel(RBF([1.0, 2.0, 3.0]), 4, None, gaps).groups == (0, 1, 2, 2)
    assert make_kernel(RBF(1.0), 4, None, gaps) == RBF(1.0)
    with pytest.raises(ValueError, match="5 length scales but the inputs have 2 features"):
        make_kernel(RBF(np.ones(5)), 4, None, gaps)


def test_an_isotropic_kernel_of_columns_has_the_unit_of_the_first():
    kernel = ConstantKernel() * ColumnKernel(RBF(1.0), [2, 1])
    assert [(r.kind, r.input) for r in roles(kernel, 3)] == [("amplitude", None), ("length_scale", 2)]


@pytest.mark.parametrize(
    ("columns", "match"),
    [
        (["age", "weight"], "asks for the column 'weight', but there are 'age', 'town', 'dose'"),
        ([3], "asks for the column 3, but there are 3 columns"),
        ([0, 0], "must be distinct names or numbers"),
        ([], "must be distinct names or numbers"),
        ([True, False], "must be distinct names or numbers"),
    ],
)
def test_wrong_columns_are_named(columns, match):
    with pytest.raises(ValueError, match=match):
        make_kernel(ColumnKernel(RBF(), columns), 5, None, LAYOUT)


def test_names_need_a_frame():
    with pytest.raises(ValueError, match=r"names \['age'\], but the rows are an array"):
        ColumnKernel(RBF(), ["age"])(inputs(3))
    with pytest.raises(ValueError, match="rows have 3 columns"):
        ColumnKernel(RBF(), [7])(inputs(3))
