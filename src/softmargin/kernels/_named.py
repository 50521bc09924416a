"""Kernels by name, with starting values and bounds in the units of the inputs."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    DotProduct,
    Exponentiation,
    Kernel,
    Matern,
)

from softmargin._linalg import Array
from softmargin.policy import POLICY

KERNEL_NAMES = ("rbf", "ou", "matern32", "matern52", "linear", "poly", "precomputed")


DIAGONAL_ROWS = 64
"""Rows of the small Gram matrices from which the diagonal of a function is read."""


class PrecomputedKernel(Kernel):
    """The kernel matrix is given: the inputs *are* k(rows, training rows), and nothing in it is learnt."""

    # scikit-learn reads a kernel's parameters from the signature of its own constructor.
    def __init__(self) -> None:
        pass

    def __call__(self, X: Any, Y: Any = None, eval_gradient: bool = False) -> Any:
        K = np.asarray(X, dtype=np.float64)
        return (K, np.zeros((*K.shape, 0))) if eval_gradient else K

    def diag(self, X: Any) -> Array:
        """k(x, x) of the training rows: the diagonal of their square matrix."""
        K = np.asarray(X, dtype=np.float64)
        if K.ndim != 2 or K.shape[0] != K.shape[1]:
            raise ValueError(
                f"k(x, x) cannot be read from a precomputed matrix of shape {K.shape}: only the square one "
                "of the training rows has it on its diagonal"
            )
        return K.diagonal().copy()

    def is_stationary(self) -> bool:
        """Unknown, so no."""
        return False


class CallableKernel(Kernel):
    """k(X, Y) is a function that returns the Gram matrix; nothing in it is learnt.

    Parameters
    ----------
    function : callable
        From rows X of shape (n, d) and Y of shape (m, d) to kernel values of shape (n, m).

    Examples
    --------
    >>> CallableKernel(lambda X, Y: X @ Y.T)(np.eye(2))
    array([[1., 0.],
           [0., 1.]])
    """

    def __init__(self, function: Callable[[Any, Any], Any]) -> None:
        self.function = function

    def __call__(self, X: Any, Y: Any = None, eval_gradient: bool = False) -> Any:
        X = np.asarray(X, dtype=np.float64)
        Y = X if Y is None else np.asarray(Y, dtype=np.float64)
        K = np.array(self.function(X, Y), dtype=np.float64)
        if K.shape != (len(X), len(Y)):
            raise ValueError(
                f"the kernel function returned shape {K.shape} for {len(X)} and {len(Y)} rows; it must return the "
                f"kernel values of all pairs, shape {(len(X), len(Y))}"
            )
        if not np.all(np.isfinite(K)):
            raise ValueError("the kernel function returned values that are not finite; kernel values must be numbers")
        return (K, np.zeros((*K.shape, 0))) if eval_gradient else K

    def diag(self, X: Any) -> Array:
        """k(x, x) of every row, shape (n,), from small Gram matrices."""
        blocks = [self(X[first : first + DIAGONAL_ROWS]).diagonal() for first in range(0, len(X), DIAGONAL_ROWS)]
        return np.concatenate(blocks) if blocks else np.empty(0)

    def is_stationary(self) -> bool:
        """Unknown, so no."""
        return False


def make_named(kernel: Any, n_features: int, spread: ArrayLike | None = None) -> Kernel:
    """Make a kernel object from a name or a function.

    Parameters
    ----------
    kernel : str, callable or None
        - None or "rbf": amplitude x RBF with a length scale for each input + offset;
        - "ou", "matern32", "matern52": the same with Matern nu = 0.5 (Ornstein-Uhlenbeck), 1.5, 2.5;
        - "linear": amplitude x DotProduct + offset;
        - "poly": amplitude x (sigma_0^2 + x.z)^3 + offset; give a kernel object for another degree;
        - "precomputed": the inputs are kernel values (see `PrecomputedKernel`);
        - a function (X, Y) -> kernel values: amplitude x these values + offset.
    n_features : int
        Number of columns.
    spread : array-like of shape (n_features,), optional
        Standard deviation of each input; 0 (a constant input) counts as 1, and None stands for ones.

    Returns
    -------
    Kernel
        At its starting values, with bounds.

    Notes
    -----
    Starting values are e^2 for the amplitude, e^-1.5 for the offset and ``spread_a * sqrt(d_eff) * e^0.5``
    for the length scales, with d_eff the number of inputs that are not constant. Bounds: 1e-3 to 1e5, 1e-4
    to 1e4, and ``spread_a * sqrt(d_eff)`` times 1e-2 to 1e4. So a change of an input's unit changes its
    length scale and nothing else.

    DotProduct has no scale per input: "linear" and "poly" see the raw inputs, whose units and origin matter.
    Standardise the inputs first. Their amplitude is started (and bounded) such that the prior variance at a
    typical row, ``|x|^2 = sum(spread^2)``, is e^2 as well.

    Examples
    --------
    >>> make_named("linear", n_features=2)
    1.92**2 * DotProduct(sigma_0=0) + 0.472**2
    """
    start = POLICY.kernel
    if callable(kernel):
        amplitude = ConstantKernel(start.amplitude, start.amplitude_bounds)
        return amplitude * CallableKernel(kernel) + ConstantKernel(start.offset, start.offset_bounds)
    if kernel is not None and kernel not in KERNEL_NAMES:
        names = ", ".join(repr(name) for name in KERNEL_NAMES)
        raise ValueError(f"kernel={kernel!r} is unknown; use None, a scikit-learn Kernel object, or one of {names}")
    if kernel == "precomputed":
        return PrecomputedKernel()
    scale, varying = _positive_spread(spread, n_features)
    offset = ConstantKernel(start.offset, start.offset_bounds)
    if kernel in ("linear", "poly"):
        return _dot_product(kernel, float(np.sum(scale[varying] ** 2)) or 1.0) + offset
    length_scale, bounds = _length_scales(scale, int(varying.sum()))
    shape = {
        "ou": lambda: Matern(length_scale, bounds, nu=0.5),
        "matern32": lambda: Matern(length_scale, bounds, nu=1.5),
        "matern52": lambda: Matern(length_scale, bounds, nu=2.5),
    }.get(kernel or "rbf", lambda: RBF(length_scale, bounds))()
    return ConstantKernel(start.amplitude, start.amplitude_bounds) * shape + offset


def _positive_spread(spread: ArrayLike | None, n_features: int) -> tuple[Array, NDArray[np.bool_]]:
    """The spreads with zeros replaced by ones, and which inputs vary, both of shape (d,)."""
    scale = np.ones(n_features) if spread is None else np.asarray(spread, dtype=np.float64)
    if scale.shape != (n_features,) or not np.all(np.isfinite(scale)) or np.any(scale < 0):
        raise ValueError(f"spread must hold {n_features} finite numbers >= 0, one per feature, got {spread!r}")
    varying = scale > 0
    return np.where(varying, scale, 1.0), varying


def _length_scales(scale: Array, n_varying: int) -> tuple[Any, Any]:
    """Starting length scales and their bounds: floats for one input, else of shape (d,) and (d, 2)."""
    unit = scale * math.sqrt(max(n_varying, 1))
    factor, (low, high) = POLICY.kernel.length_factor, POLICY.kernel.length_bounds
    if len(scale) == 1:
        return float(unit[0]) * factor, (low * unit[0], high * unit[0])
    return unit * factor, np.outer(unit, (low, high))


def _dot_product(kernel: str, norm: float) -> Kernel:
    """Amplitude x (a power of) DotProduct with prior variance `amplitude` at rows of squared norm `norm`."""
    if kernel == "linear":
        typical = norm
        shape: Kernel = DotProduct(sigma_0=0.0, sigma_0_bounds="fixed")
    else:
        # sigma_0^2 = |x|^2 weighs every degree.
        root = math.sqrt(norm)
        typical = math.prod([2.0 * norm] * POLICY.kernel.degree)
        shape = Exponentiation(DotProduct(root, (1e-2 * root, 1e2 * root)), POLICY.kernel.degree)
    low, high = POLICY.kernel.amplitude_bounds
    if not (0 < typical < math.inf and low / typical > 0 and math.isfinite(high / typical)):
        raise ValueError(
            f"kernel={kernel!r} takes powers of the raw inputs, whose size of {math.sqrt(norm):.2g} is out of range; "
            "standardise the inputs first"
        )
    return ConstantKernel(POLICY.kernel.amplitude / typical, (low / typical, high / typical)) * shape
