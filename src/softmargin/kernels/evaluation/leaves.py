"""The leaves of a kernel tree: values and contracted derivatives, one block of rows at a time.

A leaf is built for inputs X (n rows) and Z (m rows; the same rows for a Gram matrix). `rows(s)` gives the
block K[s] (or a float, for a constant), `contract(s, G)` gives sum_ij G_ij dK_ij/dtheta_a over that block and
`contract_inputs(s, G)` the derivative of sum_ij G_ij K_ij with respect to the rows of Z.
"""

from typing import Any, Protocol

import numpy as np
from scipy import sparse
from sklearn.gaussian_process.kernels import ConstantKernel, DotProduct, Kernel, WhiteKernel

from softmargin._linalg import Array
from softmargin.kernels.evaluation.distances import Inputs, inner_products, row_norms

EMPTY: Array = np.zeros(0)
KNOWN = (
    "RBF, Matern (nu = 0.5, 1.5, 2.5), RationalQuadratic, Anova, DotProduct, ConstantKernel, WhiteKernel and their "
    "sums, products and powers"
)


class NoInputDerivativeError(TypeError):
    """A kernel has no known derivative with respect to its inputs."""


class Node(Protocol):
    """A kernel at given inputs: a leaf, or a sum, product or power of nodes."""

    def rows(self, s: slice) -> Array | float:
        """Values in the block of rows s, shape (rows, m); a float if they are all the same."""
        ...

    def contract(self, s: slice, G: Array) -> Array:
        """sum_ij G_ij dK_ij/dtheta_a over the block, shape (n_theta,)."""
        ...

    def contract_inputs(self, s: slice, G: Array) -> Array | float:
        """d/dZ of sum_ij G_ij K_ij over the block, shape (m, d); 0.0 if Z does not matter."""
        ...


class Constant:
    """k = c."""

    def __init__(self, kernel: ConstantKernel) -> None:
        self.c = float(kernel.constant_value)
        self.fixed = kernel.hyperparameter_constant_value.fixed

    def rows(self, s: slice) -> float:
        return self.c

    def contract(self, s: slice, G: Array) -> Array:
        return EMPTY if self.fixed else np.array([self.c * G.sum()])

    def contract_inputs(self, s: slice, G: Array) -> float:
        return 0.0


class White:
    """k = noise on the diagonal of a Gram matrix, zero between different sets of rows."""

    def __init__(self, kernel: WhiteKernel, n: int, same: bool) -> None:
        self.noise = float(kernel.noise_level) if same else 0.0
        self.fixed = kernel.hyperparameter_noise_level.fixed
        self.n = n

    def rows(self, s: slice) -> Array | float:
        if self.noise == 0.0:
            return 0.0
        block = np.zeros((s.stop - s.start, self.n))
        np.fill_diagonal(block[:, s], self.noise)
        return block

    def contract(self, s: slice, G: Array) -> Array:
        if self.fixed:
            return EMPTY
        return np.array([self.noise * np.trace(G[:, s]) if self.noise else 0.0])

    def contract_inputs(self, s: slice, G: Array) -> float:
        return 0.0


class Dot:
    """k = sigma_0^2 + x.z on the raw inputs: their origin matters."""

    def __init__(self, kernel: DotProduct, X: Inputs, Z: Inputs) -> None:
        self.X = X
        self.variance = float(kernel.sigma_0) ** 2
        self.fixed = kernel.hyperparameter_sigma_0.fixed
        self.K = inner_products(X, Z)
        self.K += self.variance

    def rows(self, s: slice) -> Array:
        return self.K[s]

    def contract(self, s: slice, G: Array) -> Array:
        return EMPTY if self.fixed else np.array([2.0 * self.variance * G.sum()])

    def contract_inputs(self, s: slice, G: Array) -> Array:
        return np.asarray(G.T @ self.X[s])


class Foreign:
    """A kernel we have no formulas for: its own values and `eval_gradient`."""

    def __init__(self, kernel: Kernel, X: Inputs, Z: Inputs | None) -> None:
        _refuse_sparse(kernel, X, Z)
        self.kernel, self.X, self.Z = kernel, X, Z
        self.K = kernel(X, Z)
        self.gradient: Array | None = None

    def rows(self, s: slice) -> Array:
        return self.K[s]

    def contract(self, s: slice, G: Array) -> Array:
        if self.kernel.n_dims == 0:
            return EMPTY
        if self.gradient is None:
            self.gradient = self._eval_gradient()
        return np.einsum("ij,ija->a", G, self.gradient[s])

    def _eval_gradient(self) -> Array:
        """dK/dtheta, shape (n, m, n_theta); scikit-learn offers it for square matrices only."""
        if self.Z is None:
            return self.kernel(self.X, eval_gradient=True)[1]
        n = len(self.X)
        return self.kernel(np.vstack([self.X, self.Z]), eval_gradient=True)[1][:n, n:]

    def contract_inputs(self, s: slice, G: Array) -> Array:
        raise NoInputDerivativeError(
            f"no derivative with respect to the inputs is known for {type(self.kernel).__name__}; use {KNOWN}"
        )


class Diagonal:
    """k(x, x) of a leaf as a column of shape (n, 1): sums, products and powers work on it unchanged."""

    def __init__(self, values: Array | float, slopes: list[float]) -> None:
        self.values = values
        self.slopes = slopes
        """dk(x, x)/dtheta_a for each parameter of the leaf, the same at every x."""

    @classmethod
    def of(cls, kernel: Kernel, X: Inputs) -> "Diagonal":
        """The diagonal of a leaf: 1 for every radial kernel, whatever its parameters."""
        free = not any(h.fixed for h in kernel.hyperparameters)
        if isinstance(kernel, ConstantKernel):
            return cls(kernel.constant_value, [kernel.constant_value] * free)
        if isinstance(kernel, WhiteKernel):
            return cls(kernel.noise_level, [kernel.noise_level] * free)
        if isinstance(kernel, DotProduct):
            variance = float(kernel.sigma_0) ** 2
            return cls(row_norms(X)[:, None] + variance, [2.0 * variance] * free)
        return cls(1.0, [0.0] * kernel.n_dims)

    def rows(self, s: slice) -> Array | float:
        return self.values[s] if isinstance(self.values, np.ndarray) else self.values

    def contract(self, s: slice, G: Array) -> Array:
        return np.array(self.slopes) * G.sum()

    def contract_inputs(self, s: slice, G: Array) -> Array | float:
        raise TypeError("the derivative of the diagonal with respect to the inputs is not needed anywhere")


class ForeignDiagonal:
    """k(x, x) of a kernel we have no formulas for."""

    BLOCK = 64
    """Rows whose full gradient is evaluated at once to read its diagonal."""

    def __init__(self, kernel: Kernel, X: Inputs) -> None:
        _refuse_sparse(kernel, X, None)
        self.kernel, self.X = kernel, X

    def rows(self, s: slice) -> Array:
        return self.kernel.diag(self.X[s])[:, None]

    def contract(self, s: slice, G: Array) -> Array:
        total = np.zeros(self.kernel.n_dims)
        if not len(total):
            return total
        for start in range(s.start, s.stop, self.BLOCK):
            stop = min(start + self.BLOCK, s.stop)
            gradient = self.kernel(self.X[start:stop], eval_gradient=True)[1]
            total += np.einsum("i,iia->a", G[start - s.start : stop - s.start, 0], gradient)
        return total

    def contract_inputs(self, s: slice, G: Array) -> Array | float:
        raise TypeError("the derivative of the diagonal with respect to the inputs is not needed anywhere")


def _refuse_sparse(kernel: Any, X: Inputs, Z: Inputs | None) -> None:
    if (sparse.issparse(X) or sparse.issparse(Z)) and not getattr(kernel, "accepts_sparse", False):
        raise ValueError(
            f"{type(kernel).__name__} cannot be evaluated on sparse inputs; convert them with X.toarray(), "
            f"or use {KNOWN}"
        )
