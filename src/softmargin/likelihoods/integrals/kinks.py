"""What stands for the curvature of a loss with a kink in Laplace's approximation, at the free rows of the SVM."""

import numpy as np

from softmargin._linalg import Array


def kink_precision(alpha: Array, C: Array) -> tuple[Array, Array, Array]:
    """tau = 2 pi g^2, g = alpha (C - alpha)/C, and its derivatives with respect to alpha and C.

    The Gaussian with the integral C/(alpha (C - alpha)) of the two exponential flanks of the kink (Sollich 2002,
    eq. 32; Gold & Sollich 2003, eq. 15).
    """
    g = alpha * (C - alpha) / C
    return 2 * np.pi * g**2, 4 * np.pi * g * (1 - 2 * alpha / C), 4 * np.pi * g * (alpha / C) ** 2


def smoothed_precision(alpha: Array, C: Array, smoothing: float) -> tuple[Array, Array, Array]:
    """tau = C exp(-a C/alpha), because 1 - y f = alpha/C, and its derivatives with respect to alpha and C.

    The squared hinge's curvature C, which jumps to 0 at y f = 1, made continuous (Gold & Sollich 2003, eq. 17).
    """
    ratio = smoothing * C / alpha
    tau = C * np.exp(-ratio)
    return tau, tau * ratio / alpha, np.exp(-ratio) * (1 - ratio)
