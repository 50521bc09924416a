"""Kernels made from others: multiplied by a factor, or without their noise."""

import numpy as np
from sklearn.base import clone
from sklearn.gaussian_process.kernels import ConstantKernel, Exponentiation, Kernel, Product, Sum, WhiteKernel

from softmargin._linalg import Array
from softmargin.kernels._columns import ColumnKernel

SMALLEST, LARGEST = float(np.finfo(float).tiny), float(np.finfo(float).max)


def scale_kernel(kernel: Kernel, factor: float) -> Kernel:
    """Return factor x kernel with the same free parameters in the same order.

    The factor goes into the constants and noise levels where there are any, else into a fixed constant in front.
    """
    if isinstance(kernel, ConstantKernel):
        bounds = kernel.constant_value_bounds
        return ConstantKernel(_scaled(kernel.constant_value, factor), _scale_bounds(bounds, factor))
    if isinstance(kernel, WhiteKernel):
        return WhiteKernel(_scaled(kernel.noise_level, factor), _scale_bounds(kernel.noise_level_bounds, factor))
    if isinstance(kernel, Sum):
        return Sum(scale_kernel(kernel.k1, factor), scale_kernel(kernel.k2, factor))
    if isinstance(kernel, Product) and _absorbs(kernel.k1):
        return Product(scale_kernel(kernel.k1, factor), clone(kernel.k2))
    if isinstance(kernel, Product) and _absorbs(kernel.k2):
        return Product(clone(kernel.k1), scale_kernel(kernel.k2, factor))
    return Product(ConstantKernel(factor, "fixed"), clone(kernel))


def without_white(kernel: Kernel) -> Kernel:
    """Return the kernel with every WhiteKernel silenced: the covariance of the function without its nugget."""
    if isinstance(kernel, WhiteKernel):
        return WhiteKernel(0.0, "fixed")
    if isinstance(kernel, Sum | Product):
        return type(kernel)(without_white(kernel.k1), without_white(kernel.k2))
    if isinstance(kernel, Exponentiation):
        return Exponentiation(without_white(kernel.kernel), kernel.exponent)
    if isinstance(kernel, ColumnKernel):
        return ColumnKernel(without_white(kernel.inner), kernel.columns, kernel.inputs)
    return kernel


def _absorbs(kernel: Kernel) -> bool:
    if isinstance(kernel, Sum):
        return _absorbs(kernel.k1) and _absorbs(kernel.k2)
    if isinstance(kernel, Product):
        return _absorbs(kernel.k1) or _absorbs(kernel.k2)
    return isinstance(kernel, ConstantKernel | WhiteKernel)


def _scaled(value: float, factor: float) -> float:
    return float(_clipped(np.asarray(value, dtype=float), factor))


def _scale_bounds(bounds: object, factor: float) -> object:
    if isinstance(bounds, str):
        return bounds
    return _clipped(np.asarray(bounds, dtype=float), factor)


def _clipped(values: Array, factor: float) -> Array:
    """Multiply, and stay among numbers with a logarithm: an amplitude may be in units of 1e90 over 1e-90, squared."""
    with np.errstate(over="ignore", under="ignore"):
        scaled: Array = np.clip(values * factor, np.where(values > 0, SMALLEST, 0.0), LARGEST)
    return scaled
