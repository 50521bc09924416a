"""Cross-covariances in single precision, for passes over very many rows.

The squared distance |a|^2 + |b|^2 - 2 a.b comes from one product of the rows (-2a, |a|^2, 1) and (b, 1, |b|^2) and is
good to about 1e-6; the tree of sums and products is evaluated in place, in blocks that stay in the cache.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.gaussian_process.kernels import ConstantKernel, Kernel, Product, Sum

from softmargin.kernels._columns import TiedKernel
from softmargin.kernels.evaluation.blocks import row_blocks
from softmargin.kernels.evaluation.distances import Inputs, as_inputs, row_norms, scale_inputs, within_range
from softmargin.kernels.evaluation.evaluate import gram
from softmargin.kernels.evaluation.exponential import gaussian_single, matern32_single, matern52_single
from softmargin.kernels.evaluation.radial import Gaussian, Matern32, Matern52, Profile, length_scale_of, profile_of

Single = NDArray[np.float32]
Leaf = Callable[[slice, Single], Single | np.float32]
"""Evaluates some rows, into the given memory or as a constant."""
LOOPS: dict[type, Any] = {Gaussian: gaussian_single, Matern32: matern32_single, Matern52: matern52_single}
"""Compiled, in place; other profiles are evaluated by NumPy."""
FARTHEST_SINGLE = 1e15
"""Length scales from the centre, beyond which a distance has no square in single precision."""


def gram_float32(kernel: Kernel, X: Inputs, Z: Inputs, out: Single | None = None) -> Single:
    """Evaluate k(X, Z) in single precision, shape (n, m).

    Kernels other than sums and products of constants and radial kernels, and sparse inputs, are evaluated in double
    precision and rounded. `out`, if given, is C-contiguous memory for the result.
    """
    X, Z = as_inputs(X), as_inputs(Z)
    K = np.empty((X.shape[0], Z.shape[0]), dtype=np.float32) if out is None else out
    if sparse.issparse(X) or sparse.issparse(Z) or not _is_known(kernel):
        K[...] = gram(kernel, X, Z)
        return K
    value = _build(kernel, X, Z)
    for s in row_blocks(*K.shape):
        rows = value(s, K[s])
        if not isinstance(rows, np.ndarray):
            K[s] = rows
    return K


def _is_known(kernel: Kernel) -> bool:
    if type(kernel) in (Sum, Product):
        return _is_known(kernel.k1) and _is_known(kernel.k2)
    if type(kernel) is TiedKernel:
        return _is_known(kernel.kernel)
    profile = profile_of(kernel)
    # The cusp of a kernel that is not smooth would magnify the error of a small distance.
    return type(kernel) is ConstantKernel or (profile is not None and profile.smooth)


def _build(kernel: Kernel, X: Inputs, Z: Inputs) -> Leaf:
    if type(kernel) is ConstantKernel:
        constant = np.float32(kernel.constant_value)
        return lambda s, out: constant
    if type(kernel) in (Sum, Product):
        combine = np.add if type(kernel) is Sum else np.multiply
        return _combined(combine, _build(kernel.k1, X, Z), _build(kernel.k2, X, Z))
    if type(kernel) is TiedKernel:
        return _build(kernel.expanded(), X, Z)
    profile = profile_of(kernel)
    assert profile is not None
    return _radial(profile, *scale_inputs(X, Z, length_scale_of(kernel, X.shape[1])))


def _combined(combine: np.ufunc, left: Leaf, right: Leaf) -> Leaf:
    def rows(s: slice, out: Single) -> Single | np.float32:
        a = left(s, out)
        b = right(s, np.empty_like(out) if isinstance(a, np.ndarray) else out)
        if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
            return combine(a, b, out=out)
        return combine(a, b)

    return rows


def _radial(profile: Profile, A: Inputs, B: Inputs) -> Leaf:
    A, B = within_range(A, FARTHEST_SINGLE), within_range(B, FARTHEST_SINGLE)
    left = np.empty((A.shape[0], A.shape[1] + 2), dtype=np.float32)
    np.multiply(A, -2, out=left[:, :-2], casting="same_kind")
    left[:, -2], left[:, -1] = row_norms(A), 1
    right = np.column_stack([B, np.ones(len(B)), row_norms(B)]).astype(np.float32).T.copy()
    loop = LOOPS.get(type(profile))

    def rows(s: slice, out: Single) -> Single:
        np.matmul(left[s], right, out=out)
        if loop is not None:
            loop(out)
        else:
            np.maximum(out, 0, out=out)
            out[...] = profile.value(out)  # type: ignore[arg-type]
        return out

    return rows
