"""Functions of linear kernels as coefficients: f(x) = coef . x + intercept."""

import math
from typing import Any, NamedTuple

import numpy as np
from sklearn.gaussian_process.kernels import (
    ConstantKernel,
    DotProduct,
    Exponentiation,
    Kernel,
    Product,
    Sum,
    WhiteKernel,
)

from softmargin._linalg import Array
from softmargin.kernels._columns import ColumnKernel
from softmargin.kernels.evaluation.evaluate import contract_inputs, gram


class Coefficients(NamedTuple):
    """Linear functions."""

    coef: Array
    """Shape (n_functions, d)."""
    intercept: Array
    """Shape (n_functions,)."""


def polynomial_degree(kernel: Kernel) -> float:
    """Degree of k(x, z) in x: 1 for a linear kernel, infinity for one that is no polynomial.

    Examples
    --------
    >>> polynomial_degree(ConstantKernel(2.0) * DotProduct() + ConstantKernel(1.0))
    1.0
    """
    if isinstance(kernel, ConstantKernel | WhiteKernel):
        return 0.0
    if type(kernel) is DotProduct:
        return 1.0
    if isinstance(kernel, ColumnKernel):
        return polynomial_degree(kernel.inner)
    if isinstance(kernel, Sum):
        return max(polynomial_degree(kernel.k1), polynomial_degree(kernel.k2))
    if isinstance(kernel, Product):
        return polynomial_degree(kernel.k1) + polynomial_degree(kernel.k2)
    if isinstance(kernel, Exponentiation) and float(kernel.exponent).is_integer() and kernel.exponent >= 0:
        return polynomial_degree(kernel.kernel) * float(kernel.exponent)
    return math.inf


def linear_coefficients(kernel: Kernel, basis: Any, weights: Array) -> Coefficients | None:
    """Coefficients of k(x, basis) @ weights for weights of shape (m, n_functions); None if k is not linear in x.

    They are the slopes and the values at x = 0.
    """
    if polynomial_degree(kernel) > 1:
        return None
    origin = np.zeros((1, basis.shape[1]))
    slopes = [contract_inputs(kernel, basis, origin, column[:, None])[0] for column in weights.T]
    return Coefficients(np.array(slopes), gram(kernel, origin, basis)[0] @ weights)
