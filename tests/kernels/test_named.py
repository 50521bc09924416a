"""Kernels by name: structure, starting values, bounds, and what a change of units does."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct, Exponentiation, Matern

from softmargin import kernels


@pytest.mark.parametrize(
    ("name", "leaf", "nu"),
    [
        (None, RBF, None),
        ("rbf", RBF, None),
        ("ou", Matern, 0.5),
        ("matern32", Matern, 1.5),
        ("matern52", Matern, 2.5),
    ],
)
def test_radial_names_start_at_the_documented_values(name, leaf, nu):
    spread = np.array([0.5, 0.0, 3.0])
    kernel = kernels.make_kernel(name, 3, spread)
    assert_allclose(kernel.k1.k1.constant_value, np.exp(2))
    assert type(kernel.k1.k2) is leaf
    assert getattr(kernel.k1.k2, "nu", None) == nu
    assert_allclose(kernel.k2.constant_value, np.exp(-1.5))
    # Two of the three inputs vary; the constant one counts as if its spread were 1.
    assert_allclose(kernel.k1.k2.length_scale, np.array([0.5, 1.0, 3.0]) * np.sqrt(2) * np.exp(0.5))


@pytest.mark.parametrize("name", [None, *kernels.KERNEL_NAMES])
@pytest.mark.parametrize("spread", [None, [1e-6, 1e6], [0.0, 0.0]], ids=["none", "units", "constant"])
def test_start_lies_inside_the_bounds(name, spread):
    kernel = kernels.make_kernel(name, 2, spread)
    if kernel.n_dims:
        assert np.all(kernel.bounds[:, 0] < kernel.theta)
        assert np.all(kernel.theta < kernel.bounds[:, 1])


@pytest.mark.parametrize("name", [None, "ou", "matern32", "matern52"])
def test_a_change_of_units_changes_nothing_but_length_scales(name):
    X = np.random.default_rng(0).normal(size=(20, 2))
    units = np.array([1e-3, 1e4])
    K = kernels.gram(kernels.make_kernel(name, 2, X.std(axis=0)), X)
    scaled = kernels.make_kernel(name, 2, (X * units).std(axis=0))
    assert_allclose(kernels.gram(scaled, X * units), K, rtol=1e-12)


def test_linear_is_a_line_with_an_offset():
    kernel = kernels.make_kernel("linear", 2, [1.0, 2.0])
    assert type(kernel.k1.k2) is DotProduct
    assert kernel.n_dims == 2
    X = np.array([[1.0, 2.0], [3.0, -1.0]])
    assert_allclose(kernels.gram(kernel, X), np.exp(2) / 5 * X @ X.T + np.exp(-1.5))


def test_poly_is_cubic_with_the_same_prior_variance():
    kernel = kernels.make_kernel("poly", 2, [3.0, 4.0])
    assert type(kernel.k1.k2) is Exponentiation
    assert kernel.k1.k2.exponent == 3
    # At a row with |x|^2 = sum of spread^2.
    assert_allclose(kernels.diag(kernel, [[3.0, 4.0]]), np.exp(2) + np.exp(-1.5))


def test_one_input_has_a_scalar_length_scale():
    kernel = kernels.make_kernel(None, 1, [2.0])
    assert_allclose(np.exp(kernel.theta), [np.exp(2), 2 * np.exp(0.5), np.exp(-1.5)])
    assert kernel.clone_with_theta(kernel.theta + 0.1) != kernel


def test_a_kernel_object_is_copied():
    given = ConstantKernel(2.0) * RBF([1.0, 2.0])
    made = kernels.make_kernel(given, 2)
    assert made == given
    assert made is not given
    assert made.k2 is not given.k2


def test_precomputed_passes_the_matrix_through():
    kernel = kernels.make_kernel("precomputed", 3)
    K = np.array([[2.0, 0.5], [0.5, 1.0]])
    assert isinstance(clone(kernel), kernels.PrecomputedKernel)
    assert_array_equal(kernels.gram(kernel, K), K)
    assert_array_equal(kernels.gram(kernel, K[:1], K), K[:1])
    assert_array_equal(kernels.diag(kernel, K), [2.0, 1.0])
    assert kernels.contract(kernel, K, K).shape == (0,)
    assert kernels.roles(kernel, 2) == []
    with pytest.raises(ValueError, match=r"shape \(1, 2\)"):
        kernel.diag(K[:1])


def test_unknown_name_lists_the_names():
    with pytest.raises(ValueError, match=r"'rfb' is unknown.*'rbf', 'ou', 'matern32'.*'precomputed'"):
        kernels.make_kernel("rfb", 2)


@pytest.mark.parametrize("spread", [[1.0], [1.0, -1.0], [1.0, np.nan]])
def test_bad_spread_is_refused(spread):
    with pytest.raises(ValueError, match="spread must hold 2 finite numbers"):
        kernels.make_kernel(None, 2, spread)
