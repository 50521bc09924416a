"""Kernel values of new rows as nodes of a graph: the same formulas as in `softmargin.kernels`."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    DotProduct,
    Exponentiation,
    Kernel,
    Matern,
    Product,
    RationalQuadratic,
    Sum,
    WhiteKernel,
)

from softmargin._linalg import Array
from softmargin.deployment.graph import Tensor
from softmargin.kernels import Anova, ColumnKernel, RowScale, TiedKernel
from softmargin.machines.regression.noise_scale import NoiseScale

KNOWN = (
    "RBF, Matern (nu = 0.5, 1.5, 2.5), RationalQuadratic, Anova, DotProduct, ConstantKernel and WhiteKernel, of all or "
    "some columns, and their sums, products and integer powers"
)


class ExportError(ValueError):
    """A model, or a part of it, has no ONNX graph; the message says which and what to do."""


def gram(kernel: Kernel, X: Tensor, basis: Any) -> Tensor:
    """k(X, basis), shape (n, m)."""
    basis = np.asarray(basis.toarray() if issparse(basis) else basis, dtype=np.float64)
    return _walk(kernel, X, lambda leaf, X: _cross(leaf, X, basis), basis)


def diagonal(kernel: Kernel, X: Tensor) -> Tensor:
    """k(x, x), shape (n, 1)."""
    return _walk(kernel, X, _diagonal, None)


def _walk(kernel: Kernel, X: Tensor, leaf: Callable[[Kernel, Tensor], Tensor], basis: Array | None) -> Tensor:
    if type(kernel) is Sum:
        return _walk(kernel.k1, X, leaf, basis) + _walk(kernel.k2, X, leaf, basis)
    if type(kernel) is Product:
        return _walk(kernel.k1, X, leaf, basis) * _walk(kernel.k2, X, leaf, basis)
    if type(kernel) is Exponentiation and float(kernel.exponent).is_integer():
        return X.graph.call("Pow", _walk(kernel.kernel, X, leaf, basis), float(kernel.exponent))
    if type(kernel) is ColumnKernel:
        where = np.asarray(kernel.positions())
        part = X.graph.call("Gather", X, where, axis=1)
        return diagonal(kernel.inner, part) if basis is None else gram(kernel.inner, part, basis[:, where])
    return leaf(kernel.expanded() if type(kernel) is TiedKernel else kernel, X)


def _cross(kernel: Kernel, X: Tensor, basis: Array) -> Tensor:
    # Not a scalar: onnxruntime makes the factor of a matrix product an attribute in single precision.
    if type(kernel) is ConstantKernel:
        return X.graph.constant(np.full((1, len(basis)), float(kernel.constant_value)))
    if type(kernel) is WhiteKernel:
        return X.graph.constant(np.zeros((1, len(basis))))
    if type(kernel) is RowScale:
        return (1.0 / scale_of(kernel, X)) * (1.0 / np.asarray(kernel.scale(basis)))[None, :]
    if type(kernel) is DotProduct:
        return X @ basis.T.copy() + float(kernel.sigma_0) ** 2
    if type(kernel) is Anova:
        return _anova(kernel, X, basis)
    return _profile(kernel, _squared_distances(kernel, X, basis))


def _anova(kernel: Anova, X: Tensor, basis: Array) -> Tensor:
    """prod_a [1 + w/(1 + u_a^2)]/(1 + w), shape (n, m)."""
    scale, w = np.broadcast_to(np.asarray(kernel.length_scale, dtype=np.float64), basis.shape[1:]), kernel.interaction
    K = X.graph.constant(np.full((1, len(basis)), (1.0 + w) ** -basis.shape[1]))
    for a in range(basis.shape[1]):
        u = (X.graph.call("Gather", X, np.array([a]), axis=1) - basis[None, :, a].copy()) / float(scale[a])
        K = K * (w / (u * u + 1.0) + 1.0)
    return K


def _squared_distances(kernel: Kernel, X: Tensor, basis: Array) -> Tensor:
    """sum_a (x_a - z_a)^2/l_a^2, shape (n, m); centred, so that a common shift of the inputs costs no digits."""
    scale = getattr(kernel, "length_scale", None)
    if scale is None:
        raise ExportError(f"{type(kernel).__name__} has no ONNX graph; kernels that have are {KNOWN}")
    centre, scale = basis.mean(axis=0), np.broadcast_to(np.asarray(scale, dtype=np.float64), basis.shape[1:])
    A, B = (X - centre) / scale.copy(), (basis - centre) / scale
    squares = (A * A).sum() + (B * B).sum(axis=1)[None, :] - (A @ (2.0 * B.T))
    return squares.maximum(0.0)


def _profile(kernel: Kernel, D2: Tensor) -> Tensor:
    """The kernel as a function of the squared distance."""
    nu = getattr(kernel, "nu", None)
    if type(kernel) is RBF or (type(kernel) is Matern and nu == np.inf):
        return (-0.5 * D2).exp()
    if type(kernel) is Matern and nu == 0.5:
        return (-D2.sqrt()).exp()
    if type(kernel) is Matern and nu == 1.5:
        t = (3.0 * D2).sqrt()
        return (1.0 + t) * (-t).exp()
    if type(kernel) is Matern and nu == 2.5:
        t = (5.0 * D2).sqrt()
        return (1.0 + t + t * t / 3.0) * (-t).exp()
    if type(kernel) is RationalQuadratic:
        alpha = float(kernel.alpha)
        return ((D2 / (2.0 * alpha) + 1.0).log() * -alpha).exp()
    raise ExportError(f"{kernel} has no ONNX graph; kernels that have are {KNOWN}")


def scale_of(kernel: RowScale, X: Tensor) -> Tensor:
    """s(x) of a kernel that is divided by it, shape (n, 1)."""
    from softmargin.deployment.noise import log_scale

    if not isinstance(kernel.scale, NoiseScale):
        raise ExportError(f"{kernel} has no ONNX graph unless its scale was learnt by BayesianSVR(noise='varying')")
    return log_scale(kernel.scale, X).exp()


def _diagonal(kernel: Kernel, X: Tensor) -> Tensor:
    if type(kernel) is RowScale:
        s = scale_of(kernel, X)
        return 1.0 / (s * s)
    if type(kernel) is DotProduct:
        return (X * X).sum() + float(kernel.sigma_0) ** 2
    values = {ConstantKernel: "constant_value", WhiteKernel: "noise_level"}
    name = values.get(type(kernel))
    # Every other kernel that has a graph is radial.
    return X.graph.constant(np.full((1, 1), 1.0 if name is None else float(getattr(kernel, name))))
