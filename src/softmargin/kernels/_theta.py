"""Kernels at other hyperparameters, made quickly: a search asks for hundreds of them."""

from collections.abc import Callable
from copy import copy

import numpy as np
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    DotProduct,
    Exponentiation,
    Kernel,
    Matern,
    Product,
    RationalQuadratic,
    Sum,
    WhiteKernel,
)

from softmargin._linalg import Array
from softmargin.kernels._anova import Anova
from softmargin.kernels._columns import ColumnKernel, TiedKernel

PLAIN = (Anova, RBF, ConstantKernel, DotProduct, Matern, RationalQuadratic, WhiteKernel)
"""Leaves that hold nothing but their parameters."""


def theta_setter(kernel: Kernel) -> Callable[[Array], Kernel]:
    """Return the function theta -> kernel.clone_with_theta(theta), without scikit-learn's look at every attribute.

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import RBF, ConstantKernel
    >>> theta_setter(ConstantKernel(2.0) * RBF(1.0))(np.log([3.0, 0.5]))
    1.73**2 * RBF(length_scale=0.5)
    """
    if type(kernel) in (Sum, Product):
        left, right, n = theta_setter(kernel.k1), theta_setter(kernel.k2), kernel.k1.n_dims
        return lambda theta: type(kernel)(left(theta[:n]), right(theta[n:]))
    if type(kernel) is Exponentiation:
        base = theta_setter(kernel.kernel)
        return lambda theta: Exponentiation(base(theta), kernel.exponent)
    if type(kernel) is TiedKernel:
        inside, groups = theta_setter(kernel.kernel), kernel.groups
        return lambda theta: TiedKernel(inside(theta), groups)
    if type(kernel) is ColumnKernel:
        inside, columns, inputs = theta_setter(kernel.inner), kernel.columns, kernel.inputs
        return lambda theta: ColumnKernel(inside(theta), columns, inputs)
    if type(kernel) not in PLAIN:
        return kernel.clone_with_theta
    free = [(h.name, h.n_elements) for h in kernel.hyperparameters if not h.fixed]

    def leaf(theta: Array) -> Kernel:
        made, values = copy(kernel), np.exp(theta)
        for name, size in free:
            setattr(made, name, values[:size] if size > 1 else values[0])
            values = values[size:]
        return made

    return leaf
