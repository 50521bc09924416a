"""Dense symmetric linear algebra shared by the inferences: LAPACK's own routines, no explicit inverses of K."""

import logging

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

Array = NDArray[np.float64]

logger = logging.getLogger(__name__)

MAX_JITTER = 1e-4


class NotPositiveDefiniteError(np.linalg.LinAlgError):
    """A matrix that should be positive definite is not, even with jitter."""


def cholesky(A: Array, *, overwrite: bool = False) -> Array:
    """Factor A = L L' and return L (lower triangle, zeros above).

    Raises `NotPositiveDefiniteError` rather than adding jitter: see `jittered_cholesky` for that.
    """
    L, info = lapack.dpotrf(A, lower=1, clean=1, overwrite_a=int(overwrite))
    if info != 0:
        raise NotPositiveDefiniteError(f"the leading minor of order {info} is not positive definite")
    return L


def jittered_cholesky(A: Array) -> tuple[Array, float]:
    """Factor A + jitter I = L L' with the smallest jitter of a geometric ladder that works.

    The ladder is relative to the mean of the diagonal: 0, 1e-12, 1e-11, ... Returns L and the jitter used
    (absolute); a jitter above 1e-12 is logged.
    """
    scale = float(np.mean(np.diag(A))) or 1.0
    relative = 0.0
    while relative <= MAX_JITTER:
        try:
            L = cholesky(A + relative * scale * np.eye(len(A)) if relative else A)
        except NotPositiveDefiniteError:
            relative = 10 * relative or 1e-12
            continue
        if relative > 1e-12:
            logger.info("added jitter %.1e (relative) to a Gram matrix of order %d", relative, len(A))
        return L, relative * scale
    raise NotPositiveDefiniteError(
        f"the Gram matrix of order {len(A)} is not positive semi-definite: "
        f"its smallest eigenvalue is {np.linalg.eigvalsh(A)[0]:.3g}"
    )


STRIP = 128
"""Rows mirrored at a time."""


def inverse_from_cholesky(L: Array, *, overwrite: bool = False) -> Array:
    """A^-1 (full, symmetric) from the lower Cholesky factor L of A."""
    inverse, info = lapack.dpotri(L, lower=1, overwrite_c=int(overwrite))
    assert info == 0
    # Mirror in place, a strip of rows at a time: copies of n^2 numbers are what limits large fits.
    for i in range(0, len(inverse), STRIP):
        j = min(i + STRIP, len(inverse))
        corner = np.tril(inverse[i:j, i:j])
        inverse[i:j, i:j] = corner + np.tril(corner, -1).T
        inverse[i:j, j:] = inverse[j:, i:j].T
    return inverse


def log_det_from_cholesky(L: Array) -> float:
    """ln det A from the lower Cholesky factor L of A."""
    return 2.0 * float(np.sum(np.log(np.diag(L))))
