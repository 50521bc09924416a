"""Kernels of every type and some compositions, shared by the kernel tests."""

import numpy as np
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    DotProduct,
    ExpSineSquared,
    Kernel,
    Matern,
    RationalQuadratic,
    WhiteKernel,
)

from softmargin.kernels import Anova, ColumnKernel, TiedKernel

ARD = np.array([0.7, 1.9, 4.0])

LEAVES: dict[str, Kernel] = {
    "constant": ConstantKernel(2.3),
    "rbf": RBF(1.4),
    "rbf_ard": RBF(ARD),
    **{f"matern{nu}": Matern(1.4, nu=nu) for nu in (0.5, 1.5, 2.5)},
    **{f"matern{nu}_ard": Matern(ARD, nu=nu) for nu in (0.5, 1.5, 2.5, np.inf)},
    "dot": DotProduct(0.8),
    "white": WhiteKernel(0.4),
    "rational": RationalQuadratic(1.2, 0.7),
    "rational_alpha_fixed": RationalQuadratic(1.2, 0.7, alpha_bounds="fixed"),
    "rational_length_fixed": RationalQuadratic(1.2, 0.7, length_scale_bounds="fixed"),
    "rbf_fixed": RBF(1.4, "fixed"),
    "dot_fixed": DotProduct(0.0, "fixed"),
    "tied": TiedKernel(RBF(ARD[:2]), (0, 1, 1)),
    "tied_matern": TiedKernel(Matern(ARD[:2], nu=1.5), (1, 0, 1)),
    "tied_fixed": TiedKernel(RBF(ARD[:2], "fixed"), (0, 1, 1)),
    "anova": Anova(1.4, interaction=0.6),
    "anova_ard": Anova(ARD, interaction=0.6),
    "anova_fixed": Anova(ARD, "fixed"),
    "tied_anova": TiedKernel(Anova(ARD[:2], interaction=0.3), (0, 1, 1)),
    "columns": ColumnKernel(RBF(ARD[:2]), [2, 0]),
    "column_by_name": ColumnKernel("rbf", 1),
    "foreign_matern": Matern(1.4, nu=0.8),
    "foreign_periodic": ExpSineSquared(1.1, 2.0),
}

COMPOSITIONS: dict[str, Kernel] = {
    "default": ConstantKernel(3.0) * RBF(ARD) + ConstantKernel(0.2),
    "poly": ConstantKernel(0.1) * DotProduct(1.1) ** 3 + ConstantKernel(0.2),
    "noisy": ConstantKernel(3.0) * Matern(ARD, nu=1.5) + WhiteKernel(0.1),
    "product": RBF(ARD) * Matern(0.9, nu=0.5) * DotProduct(0.5),
    "sum_of_products": RBF(0.8) * DotProduct(0.3) + ConstantKernel(0.5) * RationalQuadratic() + RBF(ARD),
    "power_of_sum": (RBF(ARD) + ConstantKernel(0.7) * DotProduct(0.3)) ** 2,
    "partly_fixed": ConstantKernel(3.0, "fixed") * RBF(ARD) * ConstantKernel(0.5) + ConstantKernel(1.0, "fixed"),
    "foreign_inside": ConstantKernel(2.0) * ExpSineSquared(1.1, 2.0) + RBF(ARD) * Matern(1.0, nu=0.8),
    "white_factor": WhiteKernel(0.3) * RBF(1.0) + RBF(ARD),
    "columns_inside": ColumnKernel(ConstantKernel(2.0) * Matern(ARD[:2], nu=2.5) + DotProduct(0.4), [1, 2]) ** 2
    + ConstantKernel(0.3) * ColumnKernel("linear", [0]) * TiedKernel(RBF(ARD[:2]), (0, 0, 1)),
    "anova_inside": ConstantKernel(0.8) * Anova(ARD, interaction=0.3) + ConstantKernel(0.2),
    "columns_in_columns": ColumnKernel(ColumnKernel(RBF(0.7), [1]) + WhiteKernel(0.2), [2, 0]),
    "all_constant": ConstantKernel(2.0) * ConstantKernel(0.3) + ConstantKernel(1.0),
}

KERNELS = LEAVES | COMPOSITIONS
OURS = [name for name in KERNELS if "foreign" not in name]


def inputs(n: int, d: int = 3, seed: int = 0) -> np.ndarray:
    """Rows in three units, with two equal rows."""
    X = np.random.default_rng(seed).normal(size=(n, d)) * np.array([1.0, 2.0, 5.0])[:d] + 0.3
    X[-1] = X[0]
    return X


def symmetric(n: int, seed: int = 1) -> np.ndarray:
    W = np.random.default_rng(seed).normal(size=(n, n))
    return W + W.T


def finite_difference(f, theta: np.ndarray, step: float = 1e-5) -> np.ndarray:
    """Central differences of the scalar f, shape (len(theta),)."""
    return np.array([(f(theta + e) - f(theta - e)) / (2 * step) for e in step * np.eye(len(theta))])
