"""Dense symmetric linear algebra shared by the inferences: LAPACK's own routines, no explicit inverses of K."""

import logging
from functools import cache
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas, lapack, solve_triangular

Array = NDArray[np.float64]

logger = logging.getLogger(__name__)

MAX_JITTER = 1e-4
MAX_SHIFT = 1e-10


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


def shifted_cholesky(A: Array) -> Array:
    """Factor A = D + B with D > 0 diagonal and B positive semi-definite, whose D rounding may have swallowed.

    Where B is singular and 1e16 times as large as D, A has no digit of D left. Its diagonal is then raised by the least
    share of a geometric ladder, 1e-15, 1e-14, ..., that works: less than what is known of B.
    """
    share = 0.0
    while share <= MAX_SHIFT:
        try:
            return cholesky(A + np.diag(share * np.diag(A)) if share else A)
        except NotPositiveDefiniteError:
            share = 10 * share or 1e-15
    raise NotPositiveDefiniteError(
        f"a matrix of order {len(A)} is not positive definite: the Gram matrix it holds is not positive semi-definite"
    )


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


KEPT_BYTES = 30 * 2**20
"""Arrays up to this size are kept by the process when they are freed; glibc learns from nothing above 32 MiB."""


@cache
def keep_freed_memory() -> None:
    """Let the C library keep freed arrays for the next ones, once in a process.

    glibc gives arrays above 128 KiB back to the system at once and gets them again, zeroed, page by page: for a few
    hundred rows that doubles the cost of everything but the factorisations. A freed block raises its limits to the
    block's size. Where the C library is another one, this does nothing.
    """
    np.empty(KEPT_BYTES, dtype=np.uint8)


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


HALVES_FROM, HALVES_UP_TO = 128, 700
"""Orders of triangular matrices that are inverted by halves."""


def inverse_of_triangle(L: Array) -> Array:
    """L^-1 of a lower triangular L (what lies above its diagonal is not read, and zero in the result).

    By halves, [[A, 0], [B, C]]^-1 = [[A^-1, 0], [-C^-1 B A^-1, C^-1]]: LAPACK's own routine reaches half the speed of
    a product at these orders.
    """
    n = len(L)
    if not HALVES_FROM <= n <= HALVES_UP_TO:
        return lapack.dtrtri(L, lower=1)[0]
    h, inverse = n // 2, np.zeros((n, n), order="F")
    inverse[:h, :h], inverse[h:, h:] = (inverse_of_triangle(part) for part in (L[:h, :h], L[h:, h:]))
    corner = blas.dtrmm(-1.0, inverse[h:, h:], L[h:, :h], lower=1)
    inverse[h:, :h] = blas.dtrmm(1.0, inverse[:h, :h], corner, side=1, lower=1, overwrite_b=1)
    return inverse


def log_det_from_cholesky(L: Array) -> float:
    """ln det A from the lower Cholesky factor L of A."""
    return 2.0 * float(np.sum(np.log(np.diag(L))))


class LinearMap(Protocol):
    """A linear map of vectors, of which no matrix is needed; any callable of this form."""

    def __call__(self, x: Array, /) -> Array:
        """Apply it to x of shape (n,)."""
        ...


def gmres(apply: LinearMap, b: Array, *, rtol: float, max_steps: int = 100) -> Array:
    """Solve apply(x) = b for a linear `apply`, in the Krylov space of b (without restarts).

    SciPy's `gmres` orthogonalises one vector at a time in Python, which for the few hundred unknowns of an adjoint
    costs more than the products do; here each step is two matrix products with the basis so far.

    Examples
    --------
    >>> A, b = np.array([[2.0, 1.0], [0.0, 4.0]]), np.array([4.0, 4.0])
    >>> gmres(lambda x: A @ x, b, rtol=1e-12).round(6)
    array([1.5, 1. ])
    """
    steps = min(max_steps, len(b))
    norm = float(np.linalg.norm(b))
    if norm == 0:
        return np.zeros_like(b)
    basis, R, rotated = np.empty((steps + 1, len(b))), np.zeros((steps, steps)), np.zeros(steps + 1)
    basis[0], rotated[0] = b / norm, norm
    cosines, sines = np.zeros(steps), np.zeros(steps)
    for k in range(steps):
        Q, new = basis[: k + 1], apply(basis[k])
        column = np.zeros(k + 2)
        for _ in range(2):
            along = Q @ new
            new = new - along @ Q
            column[:-1] += along
        column[-1] = np.linalg.norm(new)
        # Givens rotations make the Hessenberg matrix of `apply` in this basis triangular.
        for j in range(k):
            column[j], column[j + 1] = (
                cosines[j] * column[j] + sines[j] * column[j + 1],
                cosines[j] * column[j + 1] - sines[j] * column[j],
            )
        length = float(np.hypot(column[k], column[k + 1]))
        cosines[k], sines[k] = column[k] / length, column[k + 1] / length
        R[:k, k], R[k, k] = column[:k], length
        rotated[k], rotated[k + 1] = cosines[k] * rotated[k], -sines[k] * rotated[k]
        if abs(rotated[k + 1]) <= rtol * norm:
            break
        basis[k + 1] = new / column[k + 1]
    return solve_triangular(R[: k + 1, : k + 1], rotated[: k + 1]) @ basis[: k + 1]
