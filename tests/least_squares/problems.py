"""Small problems shared by the tests of the least-squares machine."""

import numpy as np
from sklearn.gaussian_process.kernels import ConstantKernel, Matern

KERNEL = ConstantKernel(0.3) + Matern([1.5, 0.7, 2.0], nu=2.5)
POINT = np.concatenate([KERNEL.theta, np.log([0.08, 4.0])])


def blobs(n=30, n_classes=3, d=3, seed=0):
    """Overlapping classes; every class has rows."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % n_classes
    X = rng.normal(size=(n, d)) + 1.2 * rng.normal(size=(n_classes, d))[labels]
    return X, labels


def copies(seed=0, n=14):
    """Merged rows with whole weights, and the same rows written out; `group` maps the latter to the former."""
    X, labels = blobs(n, seed=seed)
    # The same input with two labels.
    X[1] = X[0]
    weight = np.random.default_rng(seed).integers(1, 5, size=n).astype(float)
    group = np.repeat(np.arange(n), weight.astype(int))
    return X, labels, weight, group


def one_hot(labels, n_classes=3):
    return np.eye(n_classes)[labels] - 1.0 / n_classes
