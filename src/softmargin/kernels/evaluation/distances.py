"""Squared distances in units of the length scales, as fast as BLAS and as accurate as plain differences."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from scipy import sparse

from softmargin._linalg import Array
from softmargin.kernels.evaluation.blocks import CACHE_BYTES, row_blocks

Inputs = Any
"""Rows of inputs: a float array of shape (n, d), or a SciPy CSR matrix of that shape."""

# |a|^2 + |b|^2 - 2 a.b is wrong by about eps (|a|^2 + |b|^2). Below these limits the pair is recomputed from
# its differences; the errors left are under 1e-12, in the distance itself or (smooth profiles) in its square.
NEAR = 1e-3
LARGE_NORM = 250.0
FARTHEST = 1e150
"""Length scales from the centre, beyond which a distance has no square."""


def as_inputs(X: Inputs) -> Inputs:
    """Return X as CSR if it is sparse, else as a float array of shape (n, d)."""
    if sparse.issparse(X):
        return X.tocsr()
    X = np.asarray(X, dtype=np.float64)
    if X.ndim != 2:
        raise ValueError(f"inputs must have two dimensions (rows, features), got shape {X.shape}")
    return X


def scale_inputs(X: Inputs, Z: Inputs | None, length_scale: Array) -> tuple[Inputs, Inputs]:
    """Centre both sets of rows by the same vector and divide them by the length scales.

    The centre is the column mean of Z (the training rows, when X are new rows), or of X when Z is None:
    a huge common shift of the inputs costs no digits. Sparse inputs stay sparse, hence uncentred.
    """
    if sparse.issparse(X) or sparse.issparse(Z):
        inverse = sparse.diags_array(np.broadcast_to(1.0 / length_scale, X.shape[1:]))
        A = (sparse.csr_array(X) @ inverse).tocsr()
        return A, A if Z is None else (sparse.csr_array(Z) @ inverse).tocsr()
    centre = np.mean(X if Z is None else Z, axis=0)
    A = X - centre
    A /= length_scale
    return A, A if Z is None else (Z - centre) / length_scale


def inner_products(A: Inputs, B: Inputs) -> Array:
    """A B' as a dense array; exactly symmetric for B = A (NumPy then calls syrk)."""
    product = A @ B.T
    return product.toarray() if sparse.issparse(product) else product


def squared(A: Inputs) -> Inputs:
    """Elementwise square, sparse if A is."""
    return A.multiply(A).tocsr() if sparse.issparse(A) else A * A


def row_norms(A: Inputs) -> Array:
    """|a_i|^2 of every row, shape (n,)."""
    if sparse.issparse(A):
        return np.asarray(A.multiply(A).sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", A, A)


def within_range(A: Inputs, largest: float = FARTHEST) -> Inputs:
    """The rows moved to where their squares are finite: as far from everything else as before, in effect."""
    if sparse.issparse(A):
        A = A.copy()
        A.data = np.clip(A.data, -largest, largest)
        return A
    return np.clip(A, -largest, largest)


def squared_distances(A: Inputs, B: Inputs, *, smooth: bool) -> Array:
    """|a_i - b_j|^2, shape (n, m); for B = A exactly symmetric with an exactly zero diagonal.

    `smooth` says that the kernel is a smooth function of the squared distance. The exponential of the plain
    distance is not: its cusp turns an error of 1e-16 in the square of a tiny distance into 1e-8.
    """
    same = A is B
    A, B, a2, b2 = _with_norms(A, B)
    D = inner_products(A, B)
    refine = _needs_refinement(a2, b2, smooth)
    for rows in row_blocks(*D.shape):
        _to_distances(D[rows], A[rows], B, a2[rows], b2, refine)
    if same:
        np.fill_diagonal(D, 0.0)
    return D


def triangle_of_distances(A: Array, strips: Iterable[slice], *, smooth: bool) -> Iterator[tuple[slice, Array]]:
    """Yield each strip s of rows of |a_i - a_j|^2, j < s.stop, as accurate as `squared_distances`.

    Within a strip the square of its own rows and columns is exactly symmetric, its diagonal exactly zero.
    """
    A, _, a2, _ = _with_norms(A, A)
    refine = _needs_refinement(a2, a2, smooth)
    for s in strips:
        D = inner_products(A[s], A[: s.stop])
        _to_distances(D, A[s], A[: s.stop], a2[s], a2[: s.stop], refine)
        own = D[:, s]
        own[...] = np.tril(own, -1) + np.tril(own, -1).T
        yield s, D


def _with_norms(A: Inputs, B: Inputs) -> tuple[Inputs, Inputs, Array, Array]:
    """Both sets of rows and their squared norms, the rows moved to where these are finite."""
    a2, b2 = row_norms(A), row_norms(B)
    if not (np.all(np.isfinite(a2)) and np.all(np.isfinite(b2))):
        A, B = within_range(A), within_range(B)
        a2, b2 = row_norms(A), row_norms(B)
    return A, B, a2, b2


def _needs_refinement(a2: Array, b2: Array, smooth: bool) -> bool:
    return not smooth or max(a2.max(initial=0.0), b2.max(initial=0.0)) > LARGE_NORM


def _to_distances(block: Array, A: Inputs, B: Inputs, a2: Array, b2: Array, refine: bool) -> None:
    """Turn the inner products A B' into squared distances, in place."""
    norms = a2[:, None] + b2
    block *= -2.0
    block += norms
    np.maximum(block, 0.0, out=block)
    if refine:
        norms *= NEAR
        # An infinite limit asks for the plain differences, which is right.
        with np.errstate(over="ignore"):
            norms *= norms
        _recompute_near(block, A, B, block < norms)


def _recompute_near(D: Array, A: Inputs, B: Inputs, near: Any) -> None:
    """Overwrite D_ij by the sum of squared differences where `near`, in chunks of bounded memory."""
    i, j = np.nonzero(near)
    chunk = max(1, CACHE_BYTES // (8 * A.shape[1]))
    for start in range(0, len(i), chunk):
        pairs = i[start : start + chunk], j[start : start + chunk]
        D[pairs] = row_norms(A[pairs[0]] - B[pairs[1]])
