"""A kernel of functions whose inputs interact little: main effects, and interactions of ever higher order for less.

    k(x, z) = prod_a [1 + w c(u_a)] / (1 + w),    c(u) = 1/(1 + u^2),    u_a = (x_a - z_a)/l_a.

Multiplied out, it is the sum over all sets S of inputs of w^|S| prod_{a in S} c(u_a) (the ANOVA kernel of Stitson et
al. 1999), divided by its value at x = z: a small w leaves sums of functions of one input, a large one the product
kernel. Rows that are close in some inputs only are correlated all the same, so few rows suffice for many inputs.
"""

from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import Hyperparameter, Kernel

from softmargin._linalg import Array


class Anova(Kernel):
    """Product over inputs of a constant plus a Cauchy kernel of that input alone.

    Parameters
    ----------
    length_scale : float or ndarray of shape (d,)
        One for all inputs, or one for each. An infinite length scale leaves the input out.
    length_scale_bounds : (float, float) or "fixed"
        Bounds on `length_scale`.
    interaction : float
        w, positive; not learnt. About 1/d for d inputs: then all interactions together weigh as much as the main
        effects.

    See Also
    --------
    sklearn.gaussian_process.kernels.RBF : The product kernel whose factors decay to zero.

    References
    ----------
    Stitson, Gammerman, Vapnik, Vovk, Watkins & Weston (1999), Support vector regression with ANOVA decomposition
    kernels.

    Examples
    --------
    >>> X = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 100.0]])
    >>> Anova([1.0, 1.0], interaction=0.5)(X).round(3)
    array([[1.   , 0.833, 0.556],
           [0.833, 1.   , 0.667],
           [0.556, 0.667, 1.   ]])
    """

    def __init__(self, length_scale: Any = 1.0, length_scale_bounds: Any = (1e-5, 1e5), interaction: float = 1.0):
        self.length_scale = length_scale
        self.length_scale_bounds = length_scale_bounds
        self.interaction = interaction

    @property
    def hyperparameter_length_scale(self) -> Hyperparameter:
        """What is learnt."""
        size = int(np.size(self.length_scale))
        return Hyperparameter("length_scale", "numeric", self.length_scale_bounds, size)

    def weight(self) -> float:
        """The weight w, checked."""
        w = float(self.interaction)
        if not 0 < w < np.inf:
            raise ValueError(f"interaction={self.interaction!r} of Anova must be positive and finite, such as 1/d")
        return w

    def __call__(self, X: Any, Y: Any = None, eval_gradient: bool = False) -> Any:
        X = np.atleast_2d(np.asarray(X, dtype=np.float64))
        Y = X if Y is None else np.atleast_2d(np.asarray(Y, dtype=np.float64))
        scale = np.broadcast_to(np.asarray(self.length_scale, dtype=np.float64), X.shape[1:])
        u2 = ((X[:, None, :] - Y[None, :, :]) / scale) ** 2
        K = np.prod(factor(u2, self.weight()), axis=2)
        if not eval_gradient:
            return K
        if self.hyperparameter_length_scale.fixed:
            return K, np.empty((*K.shape, 0))
        slopes = K[:, :, None] * 2.0 * u2 * log_slope(u2, self.weight())
        return K, slopes if np.size(self.length_scale) > 1 else slopes.sum(axis=2, keepdims=True)

    def diag(self, X: Any) -> Array:
        """k(x, x) = 1, shape (n,)."""
        return np.ones(len(X))

    def is_stationary(self) -> bool:
        """It depends on differences of inputs alone."""
        return True

    def __repr__(self) -> str:
        scales = ", ".join(f"{scale:.3g}" for scale in np.ravel(self.length_scale))
        return f"Anova(length_scale=[{scales}], interaction={self.interaction:.3g})"


def factor(u2: Array, w: float) -> Array:
    """[1 + w c(u)]/(1 + w) as a function of u^2."""
    f: Array = 1.0 + u2
    np.divide(w, f, out=f)
    f += 1.0
    f /= 1.0 + w
    return f


def log_slope(u2: Array, w: float) -> Array:
    """w/[(1 + u^2)(1 + u^2 + w)]: minus the derivative of ln `factor` in u^2."""
    t: Array = 1.0 + u2
    slope: Array = t + w
    slope *= t
    return np.divide(w, slope, out=slope)
