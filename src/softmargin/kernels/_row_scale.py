"""A kernel divided by a function at both of its arguments: k(x, z)/(s(x) s(z)) is the covariance of f(x)/s(x)."""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from softmargin._linalg import Array


class RowScale(Kernel):
    """1/(s(x) s(z)) for a given positive function s, to multiply another kernel with; nothing in it is learnt.

    Parameters
    ----------
    scale : callable
        From rows of shape (n, d), or a CSR matrix, to s at each of them, shape (n,). A copy of the kernel has the same
        function: give an object with ``__sklearn_clone__`` if copying it takes long.

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> kernel = RBF(1.0) * RowScale(lambda X: 1.0 + X[:, 0])
    >>> kernel(np.array([[0.0], [1.0]])).round(3)
    array([[1.   , 0.303],
           [0.303, 0.25 ]])
    """

    accepts_sparse = True

    def __init__(self, scale: Callable[[Any], Array]) -> None:
        self.scale = scale

    def __call__(self, X: Any, Y: Any = None, eval_gradient: bool = False) -> Any:
        """Return 1/(s(x) s(z)) of shape (n, m), and with `eval_gradient` an empty gradient."""
        left = 1 / self.scale(X)
        K = np.outer(left, left if Y is None else 1 / self.scale(Y))
        return (K, np.zeros((*K.shape, 0))) if eval_gradient else K

    def diag(self, X: Any) -> Array:
        """1/s(x)^2, shape (n,)."""
        return np.asarray(self.scale(X) ** -2.0)

    def is_stationary(self) -> bool:
        """No."""
        return False
