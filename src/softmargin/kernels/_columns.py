"""Kernels of some columns, and kernels whose length scales are tied over several columns.

`ColumnKernel` applies a kernel to chosen columns. `TiedKernel` is what a fit makes of a radial kernel where one input
of a table takes several columns: a category of L values is L columns of zeros and ones with one length scale l, so that
an RBF is the overlap kernel, |e_a - e_b|^2/(2 l^2) = [a != b]/l^2.
"""

from collections.abc import Iterable
from copy import copy
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import Hyperparameter, Kernel

from softmargin._linalg import Array
from softmargin.kernels._named import make_named


class _Wrapper(Kernel):
    """A kernel around another one whose hyperparameters are its own."""

    kernel: Any

    @property
    def inner(self) -> Kernel:
        """The kernel inside, as an object."""
        return self.kernel

    @property
    def hyperparameters(self) -> list[Hyperparameter]:
        """Those of the kernel inside."""
        return [
            Hyperparameter(f"kernel__{h.name}", h.value_type, h.bounds, h.n_elements)
            for h in self.inner.hyperparameters
        ]

    @property
    def theta(self) -> Array:
        """Logarithms of the free hyperparameters, shape (n_theta,)."""
        return np.asarray(self.inner.theta)

    @theta.setter
    def theta(self, theta: Array) -> None:
        self.kernel = self.inner.clone_with_theta(theta)

    @property
    def bounds(self) -> Array:
        """Bounds of theta, shape (n_theta, 2)."""
        return np.asarray(self.inner.bounds)

    @property
    def requires_vector_input(self) -> bool:
        """Columns are chosen of rows that have some."""
        return True

    def is_stationary(self) -> bool:
        """Whether the kernel inside is."""
        return bool(self.inner.is_stationary())

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters, and with `deep` those of the kernel inside."""
        params: dict[str, Any] = {name: getattr(self, name) for name in self._names()}
        if deep and isinstance(self.kernel, Kernel):
            params |= {f"kernel__{name}": value for name, value in self.kernel.get_params().items()}
        return params

    def _names(self) -> tuple[str, ...]:
        return ("kernel",)

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return False
        mine, others = self.get_params(deep=False), other.get_params(deep=False)
        return all(np.array_equal(mine[name], others[name]) for name in mine)

    __hash__ = None  # type: ignore[assignment]


class TiedKernel(_Wrapper):
    """A radial kernel with fewer length scales than columns: column c has the length scale ``groups[c]``.

    A fit makes it where a table's input takes several columns; see `ColumnEncoder`.

    Parameters
    ----------
    kernel : RBF, Matern or Anova
        With a length scale for each group.
    groups : tuple of int, of length n_columns
        Number of the length scale of each column; columns of one group share it.

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> TiedKernel(RBF([1.0, 2.0]), (0, 1, 1)).expanded()
    RBF(length_scale=[1, 2, 2])
    """

    def __init__(self, kernel: Kernel, groups: tuple[int, ...]) -> None:
        self.kernel = kernel
        self.groups = groups

    def _names(self) -> tuple[str, ...]:
        return ("kernel", "groups")

    def expanded(self) -> Kernel:
        """The radial kernel with a length scale for each column."""
        made = copy(self.kernel)
        made.length_scale = np.asarray(self.kernel.length_scale, dtype=np.float64)[list(self.groups)]
        made.length_scale_bounds = self.kernel.length_scale_bounds if self.is_fixed else (1e-5, 1e5)
        return made

    @property
    def is_fixed(self) -> bool:
        """Whether the length scales are not learnt."""
        return isinstance(self.kernel.length_scale_bounds, str)

    def sum_groups(self, gradient: Array) -> Array:
        """Add up the last axis, of the columns, into one of the groups."""
        member = np.zeros((len(self.groups), self.kernel.n_dims))
        member[np.arange(len(self.groups)), list(self.groups)] = 1.0
        return np.asarray(gradient @ member)

    def __call__(self, X: Any, Y: Any = None, eval_gradient: bool = False) -> Any:
        if not eval_gradient:
            return self.expanded()(X, Y)
        K, gradient = self.expanded()(X, Y, eval_gradient=True)
        return K, gradient if self.is_fixed else self.sum_groups(gradient)

    def diag(self, X: Any) -> Array:
        """k(x, x), shape (n,)."""
        return np.asarray(self.kernel.diag(X))

    def __repr__(self) -> str:
        # One length scale for each input reads right without the columns behind it.
        return repr(self.kernel)


class ColumnKernel(_Wrapper):
    """A kernel of some columns: ``ColumnKernel("rbf", ["age", "bmi"]) + ColumnKernel("linear", ["dose"])``.

    It can be added, multiplied and raised to powers with any kernel of scikit-learn, and its hyperparameters are
    learnt like theirs.

    Parameters
    ----------
    kernel : str or Kernel
        A name stands for what ``BayesianSVC(kernel=name)`` makes of these columns, with a length scale for each of them
        and an offset. A kernel object has one length scale, or one for each of the columns.
    columns : list of str or int, or one of them
        Names of a frame's columns, or their numbers.
    inputs : list of int, optional
        Where these columns are in the rows that the kernel is given, if they are elsewhere. A fit sets it: a category
        takes several columns of its inputs, which share one length scale.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> X = np.array([[0.0, 5.0], [1.0, -5.0]])
    >>> ColumnKernel(RBF(1.0), [0])(X).round(4)
    array([[1.    , 0.6065],
           [0.6065, 1.    ]])
    """

    def __init__(self, kernel: Any, columns: Any, inputs: Any = None) -> None:
        self.kernel = kernel
        self.columns = columns
        self.inputs = inputs

    def _names(self) -> tuple[str, ...]:
        return ("kernel", "columns", "inputs")

    @property
    def inner(self) -> Kernel:
        """The kernel inside, as an object."""
        if isinstance(self.kernel, Kernel):
            return self.kernel
        return make_named(self.kernel, len(self.listed()))

    def listed(self) -> list[Any]:
        """The columns as a list of names and numbers."""
        one = isinstance(self.columns, str) or not isinstance(self.columns, Iterable)
        listed = [self.columns] if one else list(self.columns)
        wrong = [c for c in listed if isinstance(c, bool | np.bool_) or not isinstance(c, str | int | np.integer)]
        if wrong or not listed or len(set(listed)) < len(listed):
            raise ValueError(
                f"columns={self.columns!r} of a ColumnKernel must be distinct names or numbers of columns, "
                "such as ['age', 'bmi'] or [0, 3]"
            )
        return listed

    def positions(self) -> list[int]:
        """The numbers of the columns in rows without names."""
        if self.inputs is not None:
            return list(self.inputs)
        listed = self.listed()
        names = [c for c in listed if isinstance(c, str)]
        if names:
            raise ValueError(
                f"ColumnKernel has the column names {names}, but the rows are an array without names; fit a frame with "
                "these columns, or give their numbers"
            )
        return [int(c) for c in listed]

    def select(self, X: Any) -> Any:
        """The columns of rows X, an array or CSR matrix of shape (n, d) or a frame; shape (n, n_columns)."""
        if hasattr(X, "columns") and self.inputs is None:
            import narwhals.stable.v1 as nw

            frame = nw.from_native(X, eager_only=True)
            names = [c if isinstance(c, str) else frame.columns[c] for c in self.listed()]
            return np.asarray(frame.select(names).to_numpy(), dtype=np.float64)
        positions = self.positions()
        X = X if hasattr(X, "shape") and hasattr(X, "dtype") else np.asarray(X, dtype=np.float64)
        if max(positions) >= X.shape[1] or min(positions) < -X.shape[1]:
            raise ValueError(f"ColumnKernel has columns={self.columns!r}, but the rows have {X.shape[1]} columns")
        return X[:, positions]

    def __call__(self, X: Any, Y: Any = None, eval_gradient: bool = False) -> Any:
        return self.inner(self.select(X), None if Y is None else self.select(Y), eval_gradient=eval_gradient)

    def diag(self, X: Any) -> Array:
        """k(x, x), shape (n,)."""
        return np.asarray(self.inner.diag(self.select(X)))

    def __repr__(self) -> str:
        return f"ColumnKernel({self.kernel!r}, {self.columns!r})"
