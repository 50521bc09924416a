"""Small data sets that the estimators' tests share."""

import numpy as np
from sklearn.gaussian_process.kernels import RBF, ConstantKernel


def two_classes(n=40, d=3, seed=0, noise=0.6):
    """Labels 0 and 1 that follow a curved function of two of the inputs."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    f = X[:, 0] + (X[:, 1] ** 2 - 1 if d > 1 else 0) + noise * rng.standard_normal(n)
    return X, (f > 0).astype(int)


def three_classes(n=60, seed=0, spread=0.8):
    """Labels 0, 1 and 2 around the corners of a triangle."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    corners = np.array([[0.0, 0.0], [2.0, 0.0], [1.0, 1.8]])
    return corners[y] + spread * rng.standard_normal((n, 2)), y


def growing(n, seed=0):
    """A sine whose noise grows with x."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(size=n)
    return x[:, None], np.sin(2 * np.pi * x) + (0.05 + 0.5 * x) * rng.normal(size=n)


def even(n, seed=0):
    """The same sine with noise of one size."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(size=n)
    return x[:, None], np.sin(2 * np.pi * x) + 0.3 * rng.normal(size=n)


def log_loss(p, truth):
    """Mean of -ln p of the true column."""
    return float(-np.mean(np.log(p[np.arange(len(p)), truth])))


FIXED = ConstantKernel(0.8, "fixed") * RBF(2.0, "fixed") + ConstantKernel(0.3, "fixed")
"""A kernel for regression without anything to learn."""
