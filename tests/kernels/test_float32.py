"""Single-precision cross-covariances against the double-precision ones."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct, Matern, RationalQuadratic

from softmargin.kernels import gram, gram_float32

KERNELS = {
    "rbf": ConstantKernel(5.0) * RBF([1.0, 2.0, 3.0]) + ConstantKernel(0.3),
    "matern32": 2.0 * Matern(1.5, nu=1.5),
    "matern52_sum": Matern([1.0, 1.0, 2.0], nu=2.5) + RBF(0.5) * RBF(3.0),
    "rational": RationalQuadratic(1.0, 2.0) + 1.0,
    "ou": 2.0 * Matern(1.5, nu=0.5),
    "linear": 0.5 * DotProduct(1.0) + RBF(1.0),
    "constant": ConstantKernel(2.0) * ConstantKernel(3.0),
}


@pytest.mark.parametrize("name", KERNELS)
def test_single_precision_agrees_with_double(name):
    rng = np.random.default_rng(0)
    # A common shift of the inputs must cost no digits.
    X, Z = rng.normal(size=(700, 3)) + 100, rng.normal(size=(40, 3)) + 100
    K = gram_float32(KERNELS[name], X, Z)
    assert K.dtype == np.float32
    np.testing.assert_allclose(K, gram(KERNELS[name], X, Z), rtol=2e-5, atol=2e-6)


def test_sparse_inputs_are_evaluated_in_double_precision():
    X = csr_array(np.eye(4)[:, :3])
    np.testing.assert_allclose(gram_float32(KERNELS["rbf"], X, X), gram(KERNELS["rbf"], X, X), rtol=1e-6)
