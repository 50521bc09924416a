"""Kernels made from others."""

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import ConstantKernel, DotProduct

from softmargin.kernels import scale_kernel


@pytest.mark.parametrize("unit", [1e180, 1e-180])
def test_scaled_kernels_have_finite_logarithms(unit):
    kernel = scale_kernel(ConstantKernel(unit, (unit / 10, 10 * unit)) * DotProduct(0.0, "fixed"), unit)
    assert np.all(np.isfinite(kernel.theta))
    assert np.all(np.isfinite(kernel.bounds))
