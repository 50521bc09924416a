"""Hyperparameters that were learnt to be as large or as small as they may: the bound decided, not the data."""

import warnings
from collections.abc import Sequence

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import Kernel

ON_BOUND = ".* its (lower|upper) bound: a better value may lie beyond"
"""What matches the warning, for `warnings.filterwarnings`."""
CLOSE = 1e-6
"""Distance of a logarithm from its bound at which it lies on it."""


def warn_of_bounds(given: Kernel, learnt: Sequence[Kernel]) -> None:
    """Warn once of hyperparameters of a user's kernel that ended on a bound, and say what to do.

    Parameters
    ----------
    given : Kernel
        As the user gave it. What starts on its bound may stay there.
    learnt : sequence of Kernel
        The same with learnt values, one for each latent function.
    """
    for kernel in learnt:
        if kernel.n_dims != given.n_dims:
            continue
        names = [h.name for h in kernel.hyperparameters if not h.fixed for _ in range(h.n_elements)]
        for k, (name, value, bounds) in enumerate(zip(names, kernel.theta, kernel.bounds)):
            moved = np.abs(given.theta[k] - given.bounds[k]) > CLOSE
            at = (np.abs(value - bounds) <= CLOSE) & moved
            if bounds[0] < bounds[1] and np.any(at):
                side = "lower" if at[0] else "upper"
                warnings.warn(
                    f"{name} of kernel={given!r} was learnt to be {np.exp(value):.3g}, its {side} bound: a better "
                    f"value may lie beyond. Widen {name}_bounds and fit again, or fix it with {name}_bounds='fixed'",
                    ConvergenceWarning,
                    stacklevel=4,
                )
                return
