"""Objectives on small problems with known structure, for the tests of searches."""

import numpy as np

from softmargin.criteria import Evidence, LinkEvidence
from softmargin.inference import EP
from softmargin.kernels import make_kernel
from softmargin.likelihoods import Hinge
from softmargin.policy import POLICY
from softmargin.tuning import Coordinates, HyperPrior, LogParameters, NoiseShape, Objective


def objective_for(X, y, *, kernel=None, prior=True, criterion=None, weight=None, **kwargs):
    """The objective that the default climbs first, and the spread of its inputs; labels are -1 and +1."""
    spread, d = X.std(axis=0), X.shape[1]
    labels = set(np.unique(y)) <= {-1.0, 1.0}
    noise = LogParameters(Hinge(1.0), ("C",), (POLICY.likelihood.C,)) if labels else NoiseShape()
    coordinates = Coordinates(make_kernel(kernel, d, spread), noise, d)
    hyperprior = HyperPrior() if labels else HyperPrior.for_regression()
    log_prior = hyperprior.bind(coordinates, spread) if prior else None
    chosen = criterion or (LinkEvidence() if labels else Evidence())
    return Objective(X, y, weight, coordinates, chosen, EP(tol=1e-4), log_prior, **kwargs), spread


def checkerboard(seed):
    """Four by four fields."""
    X = np.random.default_rng(seed).uniform(0, 4, size=(150, 2))
    return X, np.where(np.floor(X).sum(axis=1) % 2 == 0, 1.0, -1.0)


def two_waves(seed):
    """sin(1.3 x0) + cos^2(x1)/2: long length scales see the first wave only."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-5, 5, size=(60, 2))
    f = np.sin(1.3 * X[:, 0]) + 0.5 * np.cos(X[:, 1]) ** 2
    return X, np.where(f + 0.1 * rng.normal(size=60) > np.median(f), 1.0, -1.0)


def product(seed):
    """Waves in two of five inputs that multiply each other."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(250, 5))
    f = np.sin(2 * X[:, 0]) * np.sin(2 * X[:, 1])
    return X, np.where(f + 0.1 * rng.normal(size=250) > 0, 1.0, -1.0)


def fast_labels(seed):
    """A trend and a fast wave among eight inputs."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(200, 8))
    f = X[:, 0] + 1.5 * np.sin(4 * X[:, 1])
    return X, np.where(f + 0.2 * rng.normal(size=200) > 0, 1.0, -1.0)


def fast_targets(seed):
    """Two trends and a fast wave among twelve inputs."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(150, 12))
    y = X[:, 0] + 0.7 * X[:, 2] + np.sin(5 * X[:, 7]) + 0.2 * rng.normal(size=150)
    return X, (y - np.median(y)) / y.std()


def noise_labels(seed):
    """Nothing to find."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(60, 3)), rng.choice([-1.0, 1.0], size=60)


def noise_targets(seed):
    """Nothing to find."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(80, 5)), rng.normal(size=80)
