"""Kernels by the names that a case uses: those of the library, and objects that users might give."""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import (
    RBF,
    CompoundKernel,
    ConstantKernel,
    DotProduct,
    ExpSineSquared,
    Kernel,
    Matern,
    PairwiseKernel,
    RationalQuadratic,
    WhiteKernel,
)

NAMED = ("rbf", "ou", "matern32", "matern52", "linear", "poly")
STATIONARY = ("rbf", "ou", "matern32", "matern52")
"""Named kernels of which neither the units nor the origin of the inputs matter."""

OBJECTS: dict[str, Callable[[int], Kernel]] = {
    "RBF": lambda d: RBF(1.0),
    "ARD": lambda d: 2.0 * RBF(np.ones(d)) + 0.5,
    "fixed": lambda d: ConstantKernel(0.8, "fixed") * RBF(2.0, "fixed") + ConstantKernel(0.3, "fixed"),
    "Matern": lambda d: 1.0 * Matern(1.0, nu=1.5) + WhiteKernel(0.1),
    "RationalQuadratic": lambda d: RationalQuadratic(1.0, 0.5),
    "ExpSineSquared": lambda d: ExpSineSquared(1.0, 3.0),
    "DotProduct": lambda d: DotProduct(1.0),
    "power": lambda d: DotProduct(1.0) ** 2 + WhiteKernel(1.0),
    "PairwiseKernel": lambda d: PairwiseKernel(metric="laplacian"),
    "CompoundKernel": lambda d: CompoundKernel([RBF(1.0), RBF(2.0)]),
    "infinite_bounds": lambda d: RBF(1.0, (1e-5, np.inf)),
    "narrow_bounds": lambda d: RBF(1.0, (0.9, 1.1)),
    "tiny": lambda d: ConstantKernel(1e-300, (1e-305, 1e-290)) * RBF(1.0),
}
"""Makers of kernel objects, from the number of inputs."""


def kernel_of(name: str, n_features: int) -> Any:
    """The estimator's parameter `kernel`."""
    return OBJECTS[name](n_features) if name in OBJECTS else name
