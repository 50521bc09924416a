"""A kernel divided by a function of both arguments."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

from softmargin.kernels import RowScale, contract_diag, diag, evaluate, gram, theta_setter, without_white

X = np.random.default_rng(0).normal(size=(7, 2))
PLAIN = ConstantKernel(2.0) * RBF([0.7, 1.3]) + ConstantKernel(0.3) + WhiteKernel(0.1)


def scale(X):
    first = X[:, 0]
    return np.exp(0.5 * np.asarray(first.toarray() if sparse.issparse(first) else first).ravel())


KERNEL = PLAIN * RowScale(scale)


def test_values_are_those_of_the_kernel_over_the_scales():
    s = scale(X)
    assert_allclose(gram(KERNEL, X), PLAIN(X) / np.outer(s, s))
    assert_allclose(gram(KERNEL, X[:3], X), PLAIN(X[:3], X) / np.outer(s[:3], s))
    assert_allclose(diag(KERNEL, X), PLAIN.diag(X) / s**2)
    assert_allclose(diag(without_white(KERNEL), X), 2.3 / s**2)
    assert_allclose(KERNEL(X), gram(KERNEL, X))


def test_contractions_are_derivatives():
    W = np.random.default_rng(1).normal(size=(7, 7))
    W, w, theta, h = W + W.T, W[0], KERNEL.theta, 1e-6
    at = theta_setter(KERNEL)
    steps = h * np.eye(len(theta))
    by_gram = [np.sum(W * (gram(at(theta + e), X) - gram(at(theta - e), X))) / (2 * h) for e in steps]
    by_diag = [w @ (diag(at(theta + e), X) - diag(at(theta - e), X)) / (2 * h) for e in steps]
    assert_allclose(evaluate(KERNEL, X).contract(W), by_gram, rtol=1e-6)
    assert_allclose(contract_diag(KERNEL, X, w), by_diag, rtol=1e-6, atol=1e-9)


def test_sparse_rows_give_the_same():
    kernel = ConstantKernel(2.0) * RBF([0.7, 1.3]) * RowScale(scale)
    assert_allclose(gram(kernel, sparse.csr_matrix(X)), gram(kernel, X))
    assert_allclose(diag(kernel, sparse.csr_matrix(X)), diag(kernel, X))


def test_nothing_is_learnt_and_copies_share_the_function():
    kernel = RowScale(scale)
    assert kernel.n_dims == 0
    assert clone(kernel).scale is scale
    value, gradient = kernel(X, eval_gradient=True)
    assert gradient.shape == (7, 7, 0)
    assert value[0, 1] == pytest.approx(1 / (scale(X)[0] * scale(X)[1]))
    assert not kernel.is_stationary()
