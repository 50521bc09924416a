"""Repeated trials of one tuning: the same data, another seed and, for a deterministic search, another start."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import Kernel

from softmargin._checks import part_of
from softmargin.estimators import BayesianSVC
from softmargin.kernels import make_kernel
from softmargin.search import SEARCHES
from softmargin.tuning.bounds import ON_BOUND

START_WIDTH = 1.0
"""Half-width of the uniform draw around the logarithm of every kernel parameter's start."""


Draw = Callable[[Kernel, np.random.RandomState], Kernel]
"""Draws a kernel to start from, given the estimator's own."""


def fit_trial(estimator: BayesianSVC, X: Any, y: Any, seed: int, draw: Draw | None = None) -> BayesianSVC:
    """Fit a copy with its own seed; a search that follows gradients also gets a random start."""
    trial = clone(estimator)
    trial.set_params(random_state=seed)
    search: Any = part_of(trial.search, SEARCHES)
    named = not isinstance(trial.kernel, Kernel)
    if search is not None and search.needs_gradient and trial.kernel != "precomputed":
        kernel = make_kernel(trial.kernel, X.shape[1], np.std(X, axis=0))
        trial.set_params(kernel=(draw or _draw)(kernel, np.random.RandomState(seed)))
    with warnings.catch_warnings():
        if named:
            # The bounds are those of the named kernel, which nobody has chosen.
            warnings.filterwarnings("ignore", message=ON_BOUND, category=ConvergenceWarning)
        fitted: BayesianSVC = trial.fit(X, y)
    return fitted


def _draw(kernel: Kernel, rng: np.random.RandomState) -> Kernel:
    theta = kernel.theta + rng.uniform(-START_WIDTH, START_WIDTH, len(kernel.theta))
    return kernel.clone_with_theta(np.clip(theta, *kernel.bounds.T))
