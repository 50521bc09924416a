"""Kernels made from others."""

import numpy as np
from sklearn.gaussian_process.kernels import ConstantKernel, DotProduct

from softmargin.kernels import scale_kernel


def test_scaled_kernels_stay_finite():
    kernel = scale_kernel(ConstantKernel(1e180, (1e170, 1e190)) * DotProduct(0.0, "fixed"), 1e180)
    assert np.isfinite(kernel.k1.constant_value)
    assert np.all(np.isfinite(kernel.k1.constant_value_bounds))
