"""Which kernel objects can be learnt: one matrix, positive starting values and finite bounds."""

import numpy as np
from sklearn.gaussian_process.kernels import CompoundKernel, Kernel


def check_kernel(kernel: Kernel) -> None:
    """Raise a ValueError that says what a kernel object lacks.

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> check_kernel(RBF(1.0, (1e-5, np.inf)))
    Traceback (most recent call last):
    ...
    ValueError: the bounds (1e-05, inf) of length_scale in kernel=RBF(length_scale=1) must be finite, positive ...
    """
    parts = [kernel, *(value for value in kernel.get_params(deep=True).values() if isinstance(value, Kernel))]
    if any(isinstance(part, CompoundKernel) for part in parts):
        raise ValueError(
            f"kernel={kernel!r} stands for several kernel matrices, where one is needed; give the sum of its parts, or "
            "fit an estimator for each"
        )
    params = kernel.get_params()
    for h in kernel.hyperparameters:
        if h.fixed or h.name not in params:
            continue  # what a fit makes itself, of a kernel given by name
        bounds = np.atleast_2d(np.asarray(h.bounds, dtype=float))
        if not np.all(np.isfinite(bounds) & (bounds > 0)):
            low, high = bounds[0]
            raise ValueError(
                f"the bounds ({low:g}, {high:g}) of {h.name} in kernel={kernel!r} must be finite, positive numbers; "
                "give such numbers, e.g. (1e-5, 1e5), or 'fixed'"
            )
        value = np.asarray(params[h.name], dtype=float)
        if not np.all(np.isfinite(value) & (value > 0)):
            raise ValueError(
                f"{h.name}={value} in kernel={kernel!r} must be positive and finite, since its logarithm is learnt; "
                f"give another value, or {h.name}_bounds='fixed'"
            )
