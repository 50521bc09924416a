"""Small problems of every kind for low-rank EP."""

import numpy as np
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern

from softmargin.likelihoods import EpsilonInsensitive, Hinge, Link, Logistic, SquaredHinge

KERNEL = ConstantKernel(5.0) * Matern([1.0, 1.5, 3.0], nu=2.5) + ConstantKernel(0.3)
SMOOTH_KERNEL = ConstantKernel(5.0) * RBF([1.0, 1.5, 3.0]) + ConstantKernel(0.3)
LIKELIHOODS = [Hinge(2.0), SquaredHinge(1.5), Link(1.0), Logistic(1.0), EpsilonInsensitive(5.0, 0.1)]


def problem(likelihood, n=200, seed=0):
    """Inputs, targets with some noise, and weights."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.5 * rng.normal(size=n)
    return X, np.sign(y) if likelihood.is_classifier else y, rng.uniform(0.5, 2, size=n)


def slope(function, value, step=1e-4):
    """Central difference of fourth order."""
    at = [function(value + k * step) for k in (-2, -1, 1, 2)]
    return (8 * (at[2] - at[1]) - (at[3] - at[0])) / (12 * step)


def theta_slopes(function, kernel):
    """Differences of function(kernel) with respect to every entry of kernel.theta."""
    theta = kernel.theta

    def along(i):
        return lambda x: function(kernel.clone_with_theta(np.where(np.arange(len(theta)) == i, x, theta)))

    return np.array([slope(along(i), theta[i]) for i in range(len(theta))])
