"""Cross-covariances in single precision, for passes over very many rows.

The squared distance |a|^2 + |b|^2 - 2 a.b comes from one product of the rows (-2a, |a|^2, 1) and (b, 1, |b|^2) and is
good to about 1e-6; the tree of sums and products is evaluated in blocks that stay in the cache.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.gaussian_process.kernels import ConstantKernel, Kernel, Product, Sum

from softmargin.kernels._blocks import row_blocks
from softmargin.kernels._distances import Inputs, as_inputs, row_norms, scale_inputs
from softmargin.kernels._evaluate import gram
from softmargin.kernels._radial import Profile, _length_scale, profile_of

Single = NDArray[np.float32]
Leaf = Callable[[slice], Single | np.float32]


def gram_single(kernel: Kernel, X: Inputs, Z: Inputs) -> Single:
    """Evaluate k(X, Z) in single precision, shape (n, m).

    Kernels other than sums and products of constants and radial kernels, and sparse inputs, are evaluated in double
    precision and rounded.
    """
    X, Z = as_inputs(X), as_inputs(Z)
    if sparse.issparse(X) or sparse.issparse(Z) or not _is_known(kernel):
        return gram(kernel, X, Z).astype(np.float32)
    value = _build(kernel, X, Z)
    K = np.empty((len(X), len(Z)), dtype=np.float32)
    for s in row_blocks(*K.shape):
        K[s] = value(s)
    return K


def _is_known(kernel: Kernel) -> bool:
    if type(kernel) in (Sum, Product):
        return _is_known(kernel.k1) and _is_known(kernel.k2)
    profile = profile_of(kernel)
    # The cusp of a kernel that is not smooth would magnify the error of a small distance.
    return type(kernel) is ConstantKernel or (profile is not None and profile.smooth)


def _build(kernel: Kernel, X: Inputs, Z: Inputs) -> Leaf:
    if type(kernel) is ConstantKernel:
        constant = np.float32(kernel.constant_value)
        return lambda s: constant
    if type(kernel) in (Sum, Product):
        left, right = _build(kernel.k1, X, Z), _build(kernel.k2, X, Z)
        combine = np.add if type(kernel) is Sum else np.multiply
        return lambda s: _in_place(combine, left(s), right(s))
    profile = profile_of(kernel)
    assert profile is not None
    return _radial(profile, *scale_inputs(X, Z, _length_scale(kernel, X.shape[1])))


def _in_place(combine: np.ufunc, a: Single | np.float32, b: Single | np.float32) -> Single | np.float32:
    """Combine two values, into the memory of an array among them."""
    if isinstance(a, np.ndarray):
        return combine(a, b, out=a)
    return combine(a, b, out=b) if isinstance(b, np.ndarray) else combine(a, b)


def _radial(profile: Profile, A: Inputs, B: Inputs) -> Leaf:
    left = np.column_stack([-2 * A, row_norms(A), np.ones(len(A))]).astype(np.float32)
    right = np.column_stack([B, np.ones(len(B)), row_norms(B)]).astype(np.float32)

    def rows(s: slice) -> Single:
        D2 = left[s] @ right.T
        np.maximum(D2, 0, out=D2)
        return profile.value(D2)  # type: ignore[arg-type, return-value]

    return rows
