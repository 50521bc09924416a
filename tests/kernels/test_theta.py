"""Setting theta quickly gives scikit-learn's own kernel."""

import numpy as np
import pytest

from softmargin.kernels import gram, theta_setter

from .cases import KERNELS


@pytest.mark.parametrize("name", KERNELS)
def test_a_set_kernel_is_the_cloned_one(name):
    kernel = KERNELS[name]
    before = kernel.theta.copy()
    theta = before + np.linspace(-0.3, 0.4, len(before))
    made = theta_setter(kernel)(theta)
    np.testing.assert_allclose(made.theta, theta, rtol=1e-14, atol=1e-14)
    assert made == kernel.clone_with_theta(theta)
    X = np.random.default_rng(0).standard_normal((4, 3))
    np.testing.assert_array_equal(gram(made, X), gram(kernel.clone_with_theta(theta), X))
    np.testing.assert_array_equal(kernel.theta, before)
