"""Evaluate a kernel tree, and contract its derivatives, without ever forming an (n, n, n_theta) array.

theta are the logarithms of the free hyperparameters in scikit-learn's order (`kernel.theta`). The leaves keep
their matrices; sums, products and powers are recomputed from them block by block:

    d(k1 + k2) = dk1 + dk2,    d(k1 k2) = k2 dk1 + k1 dk2,    d(k^p) = p k^(p-1) dk.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from sklearn.gaussian_process.kernels import (
    ConstantKernel,
    DotProduct,
    Exponentiation,
    Kernel,
    Product,
    Sum,
    WhiteKernel,
)

from softmargin._linalg import Array
from softmargin.kernels._anova import Anova
from softmargin.kernels._columns import ColumnKernel, TiedKernel
from softmargin.kernels._named import PrecomputedKernel
from softmargin.kernels.evaluation.anova import AnovaNode
from softmargin.kernels.evaluation.blocks import row_blocks
from softmargin.kernels.evaluation.distances import Inputs, as_inputs
from softmargin.kernels.evaluation.leaves import Constant, Diagonal, Dot, Foreign, ForeignDiagonal, Node, White
from softmargin.kernels.evaluation.radial import Radial, profile_of

SMALLEST_VALUE, LARGEST_VALUE = 1e-100, 1e100
"""Of a kernel's variances: inferences take squares of them, and ratios of such."""


class KernelOverflowError(ValueError):
    """Kernel values that are too large to compute with, or not finite."""


@dataclass(frozen=True)
class SumNode:
    """k1 + k2."""

    left: Node
    right: Node

    def rows(self, s: slice) -> Array | float:
        return self.left.rows(s) + self.right.rows(s)

    def contract(self, s: slice, G: Array) -> Array:
        return np.concatenate([self.left.contract(s, G), self.right.contract(s, G)])

    def contract_inputs(self, s: slice, G: Array) -> Array | float:
        return self.left.contract_inputs(s, G) + self.right.contract_inputs(s, G)


@dataclass(frozen=True)
class ProductNode:
    """k1 k2."""

    left: Node
    right: Node

    def rows(self, s: slice) -> Array | float:
        return self.left.rows(s) * self.right.rows(s)

    def contract(self, s: slice, G: Array) -> Array:
        left = self.left.contract(s, G * self.right.rows(s))
        return np.concatenate([left, self.right.contract(s, G * self.left.rows(s))])

    def contract_inputs(self, s: slice, G: Array) -> Array | float:
        left = self.left.contract_inputs(s, G * self.right.rows(s))
        return left + self.right.contract_inputs(s, G * self.left.rows(s))


@dataclass(frozen=True)
class PowerNode:
    """k^p."""

    base: Node
    exponent: float

    def rows(self, s: slice) -> Array | float:
        return self.base.rows(s) ** self.exponent

    def contract(self, s: slice, G: Array) -> Array:
        return self.base.contract(s, G * self._slope(s))

    def contract_inputs(self, s: slice, G: Array) -> Array | float:
        return self.base.contract_inputs(s, G * self._slope(s))

    def _slope(self, s: slice) -> Array | float:
        return self.exponent * self.base.rows(s) ** (self.exponent - 1)


@dataclass(frozen=True)
class TiedNode:
    """A radial kernel whose length scales are shared by columns: dk/dln l_g is the sum over the columns of g."""

    node: Node
    kernel: TiedKernel

    def rows(self, s: slice) -> Array | float:
        return self.node.rows(s)

    def contract(self, s: slice, G: Array) -> Array:
        by_column = self.node.contract(s, G)
        return by_column if self.kernel.is_fixed else self.kernel.sum_groups(by_column)

    def contract_inputs(self, s: slice, G: Array) -> Array | float:
        return self.node.contract_inputs(s, G)


@dataclass(frozen=True)
class ColumnNode:
    """A kernel of some columns of the inputs."""

    node: Node
    positions: list[int]
    n_features: int

    def rows(self, s: slice) -> Array | float:
        return self.node.rows(s)

    def contract(self, s: slice, G: Array) -> Array:
        return self.node.contract(s, G)

    def contract_inputs(self, s: slice, G: Array) -> Array | float:
        some = self.node.contract_inputs(s, G)
        whole = np.zeros((G.shape[1], self.n_features))
        whole[:, self.positions] = some
        return whole


def _build(kernel: Kernel, leaf: Callable[[Kernel], Node]) -> Node:
    """Mirror the kernel's tree, with its leaves at given inputs."""
    if type(kernel) is Sum:
        return SumNode(_build(kernel.k1, leaf), _build(kernel.k2, leaf))
    if type(kernel) is Product:
        return ProductNode(_build(kernel.k1, leaf), _build(kernel.k2, leaf))
    if type(kernel) is Exponentiation:
        return PowerNode(_build(kernel.kernel, leaf), float(kernel.exponent))
    return leaf(kernel)


def _tree(kernel: Kernel, X: Inputs, Z: Inputs | None, *, gradient: bool) -> Node:
    """The kernel at inputs X (n rows) and Z (m rows; None for the same rows)."""

    def leaf(kernel: Kernel) -> Node:
        if type(kernel) is TiedKernel:
            return TiedNode(leaf(kernel.expanded()), kernel)
        if type(kernel) is ColumnKernel:
            chosen = None if Z is None else kernel.select(Z)
            node = _tree(kernel.inner, kernel.select(X), chosen, gradient=gradient)
            return ColumnNode(node, kernel.positions(), X.shape[1])
        profile = profile_of(kernel)
        if profile is not None:
            return Radial(kernel, profile, X, Z, gradient=gradient)
        if type(kernel) is Anova:
            return AnovaNode(kernel, X, Z)
        if type(kernel) is ConstantKernel:
            return Constant(kernel)
        if type(kernel) is DotProduct:
            return Dot(kernel, X, X if Z is None else Z)
        if type(kernel) is WhiteKernel:
            return White(kernel, X.shape[0], same=Z is None)
        return Foreign(kernel, X, Z)

    return _build(kernel, leaf)


def _diagonal_tree(kernel: Kernel, X: Inputs) -> Node:
    """k(x, x) at the rows of X, as a tree of columns."""

    def leaf(kernel: Kernel) -> Node:
        if type(kernel) is TiedKernel:
            return Diagonal.of(kernel.kernel, X)
        if type(kernel) is ColumnKernel:
            return _diagonal_tree(kernel.inner, kernel.select(X))
        if profile_of(kernel) is not None or type(kernel) in (Anova, ConstantKernel, DotProduct, WhiteKernel):
            return Diagonal.of(kernel, X)
        return ForeignDiagonal(kernel, X)

    return _build(kernel, leaf)


def _spare(node: Node) -> Array | None:
    """A leaf's matrix, to be overwritten by the values of the tree: a second large one would take time and memory."""
    match node:
        case Radial() | Dot():
            return node.K
        case SumNode() | ProductNode():
            left = _spare(node.left)
            return _spare(node.right) if left is None else left
        case PowerNode():
            return _spare(node.base)
        case TiedNode() | ColumnNode():
            return _spare(node.node)
        case _:
            return None


def _fill(node: Node, shape: tuple[int, int], out: Array | None = None, *, is_gram: bool = False) -> Array:
    """All values; those of a Gram matrix have its diagonal among them, and so must not all be tiny.

    `out` may be the matrix of a leaf, read block by block before it is overwritten.
    """
    K = np.empty(shape) if out is None else out
    # What overflows is found below; what underflows is zero.
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        for s in row_blocks(*shape):
            rows = node.rows(s)
            if getattr(rows, "base", None) is not K:
                K[s] = rows
        largest = float(max(np.max(K, initial=0.0), -np.min(K, initial=0.0)))
    # A nan fails the comparison.
    if not largest <= LARGEST_VALUE or (is_gram and 0 < largest < SMALLEST_VALUE):
        raise KernelOverflowError(
            f"the kernel's largest value at these inputs is {largest:.2g} (in units of the target's variance, in a "
            f"regression); it must lie between {SMALLEST_VALUE:g} and {LARGEST_VALUE:g}. Standardise the inputs, and "
            "give the kernel starting values and bounds that fit the units of the inputs and the target"
        )
    return K


def _check_weights(W: Array, shape: tuple[int, int]) -> Array:
    W = np.asarray(W, dtype=np.float64)
    if W.shape != shape:
        raise ValueError(f"the weights must have the kernel matrix's shape {shape}, not {W.shape}")
    return W


def _contract(node: Node, W: Array, shape: tuple[int, int]) -> Array:
    W = _check_weights(W, shape)
    first, *others = list(row_blocks(*shape)) or [slice(0, 0)]
    total = node.contract(first, W[first])
    for s in others:
        total += node.contract(s, W[s])
    return total


@dataclass(frozen=True)
class KernelEvaluation:
    """A Gram matrix together with what the contraction at the same hyperparameters can reuse."""

    K: Array
    """Kernel matrix, shape (n, n) or (n, m)."""
    node: Node = field(repr=False)

    def contract(self, W: Array) -> Array:
        """sum_ij W_ij dK_ij/dtheta_a, shape (n_theta,), for W of K's shape."""
        return _contract(self.node, W, self.K.shape)


def evaluate(kernel: Kernel, X: Inputs, Z: Inputs | None = None) -> KernelEvaluation:
    """Evaluate a kernel matrix and keep the leaves, for contractions at the same hyperparameters.

    Parameters
    ----------
    kernel : Kernel
        Covariance of the prior.
    X : array or CSR matrix of shape (n, d)
        Rows of inputs.
    Z : array or CSR matrix of shape (m, d), optional
        Evaluate k(X, Z) instead of the Gram matrix k(X, X).

    Returns
    -------
    KernelEvaluation
        Holds n^2 (n m) doubles for K, and for each leaf of the tree that is not constant n^2 (RBF with a length
        scale per input, DotProduct) or 2 n^2 (other radial kernels).
    """
    X = as_inputs(X)
    Z = None if Z is None else as_inputs(Z)
    node = _tree(kernel, X, Z, gradient=True)
    shape = (X.shape[0], X.shape[0] if Z is None else Z.shape[0])
    return KernelEvaluation(_fill(node, shape, is_gram=Z is None), node)


def gram(kernel: Kernel, X: Inputs, Y: Inputs | None = None) -> Array:
    """Evaluate k(X, Y), shape (n, m), or the Gram matrix k(X, X), exactly symmetric, if Y is None.

    Give the training rows as Y and new rows as X: stationary kernels centre both by the mean of Y, so that a
    huge common shift of the inputs costs no digits. Sparse inputs give a dense result.

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> gram(RBF(1.0), [[0.0], [1.0]]).round(4)
    array([[1.    , 0.6065],
           [0.6065, 1.    ]])
    """
    X = as_inputs(X)
    Y = None if Y is None else as_inputs(Y)
    if isinstance(kernel, PrecomputedKernel):
        return kernel(X)
    if Y is not None and X.shape[1] != Y.shape[1]:
        raise ValueError(f"X has {X.shape[1]} features but Y has {Y.shape[1]}")
    m = X.shape[0] if Y is None else Y.shape[0]
    node = _tree(kernel, X, Y, gradient=False)
    return _fill(node, (X.shape[0], m), _spare(node), is_gram=Y is None)


def diag(kernel: Kernel, X: Inputs) -> Array:
    """Evaluate k(x, x) at every row, shape (n,)."""
    X = as_inputs(X)
    return _fill(_diagonal_tree(kernel, X), (X.shape[0], 1))[:, 0]


def contract(kernel: Kernel, X: Inputs, W: Array) -> Array:
    """Contract a Gram matrix: sum_ij W_ij dK_ij/dtheta_a, shape (n_theta,).

    W is symmetric of shape (n, n). Use `evaluate` when the Gram matrix is needed too: the work is shared.
    """
    X = as_inputs(X)
    n = X.shape[0]
    return _contract(_tree(kernel, X, None, gradient=True), W, (n, n))


def contract_cross(kernel: Kernel, X: Inputs, Z: Inputs, W: Array) -> Array:
    """Contract a cross-covariance: sum_ij W_ij dk(x_i, z_j)/dtheta_a, for W of shape (n, m)."""
    X, Z = as_inputs(X), as_inputs(Z)
    shape = (X.shape[0], Z.shape[0])
    return _contract(_tree(kernel, X, Z, gradient=True), W, shape)


def contract_diag(kernel: Kernel, X: Inputs, w: Array) -> Array:
    """Contract the diagonal: sum_i w_i dk(x_i, x_i)/dtheta_a, for w of shape (n,)."""
    X = as_inputs(X)
    w = np.asarray(w, dtype=np.float64)[:, None]
    return _contract(_diagonal_tree(kernel, X), w, (X.shape[0], 1))


def contract_inputs(kernel: Kernel, X: Inputs, Z: Inputs, W: Array) -> Array:
    """Differentiate sum_ij W_ij k(x_i, z_j) with respect to Z, shape (m, d), for W of shape (n, m).

    X stays fixed: for the Gram matrix of Z itself and a symmetric W, pass X = Z and double the result.
    """
    X, Z = as_inputs(X), as_inputs(Z)
    node = _tree(kernel, X, Z, gradient=True)
    W = _check_weights(W, (X.shape[0], Z.shape[0]))
    total = np.zeros(Z.shape)
    for s in row_blocks(*W.shape):
        total += node.contract_inputs(s, W[s])
    return total
