"""How the columns of a table lie in the rows of inputs, and kernels made for that.

A table has d columns. They become G inputs (a number, its gaps, a category, a year, ...), each with a length scale of
its own, which take D >= G columns of the rows. For plain numbers all three are the same.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF, Exponentiation, Kernel, Matern, Product, Sum

from softmargin._linalg import Array
from softmargin._typing import KernelLike
from softmargin.kernels._anova import Anova
from softmargin.kernels._columns import ColumnKernel, TiedKernel
from softmargin.kernels._named import make_named


@dataclass(frozen=True)
class Layout:
    """Which input each column of the rows belongs to, and which column of the table each input.

    Examples
    --------
    >>> Layout((0, 1, 1, 1), (0, 1), ("age", "town")).leaders
    [0, 1]
    """

    groups: tuple[int, ...]
    """Input of each column of the rows, shape (D,); the columns of an input are neighbours."""
    columns: tuple[int, ...]
    """Column of the table of each input, shape (G,)."""
    names: tuple[str, ...] | None = None
    """Of the table's columns, shape (d,)."""

    @property
    def n_columns(self) -> int:
        """d."""
        return self.columns[-1] + 1

    @property
    def is_plain(self) -> bool:
        """Whether every input has one column."""
        return len(self.groups) == len(self.columns)

    @property
    def leaders(self) -> list[int]:
        """The first column of each input, shape (G,): spreads and roles of the input are found there."""
        return [c for c, group in enumerate(self.groups) if c == 0 or group != self.groups[c - 1]]

    @property
    def by_column(self) -> tuple[int, ...]:
        """Column of the table of each column of the rows, shape (D,)."""
        return tuple(self.columns[group] for group in self.groups)

    def by_table(self, values: Array) -> Array:
        """The largest of the values, shape (D,), of each column of the table; shape (d,)."""
        found = np.full(self.n_columns, -np.inf)
        np.maximum.at(found, list(self.by_column), values)
        return found

    def number_of(self, column: str | int) -> int:
        """The number of a table's column that is given by name or number."""
        if isinstance(column, str):
            if self.names is None or column not in self.names:
                there = "the rows have no column names" if self.names is None else f"there are {_listed(self.names)}"
                raise ValueError(f"ColumnKernel asks for the column {column!r}, but {there}")
            return self.names.index(column)
        if not -self.n_columns <= column < self.n_columns:
            raise ValueError(f"ColumnKernel asks for the column {column}, but there are {self.n_columns} columns")
        return int(column) % self.n_columns

    def part(self, columns: list[int]) -> tuple["Layout", list[int]]:
        """The layout of some columns of the table, each one input, and where they are in the rows."""
        where = [[c for c, column in enumerate(self.by_column) if column == j] for j in columns]
        groups = tuple(k for k, found in enumerate(where) for _ in found)
        names = None if self.names is None else tuple(self.names[j] for j in columns)
        return Layout(groups, tuple(range(len(columns))), names), [c for found in where for c in found]


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(map(repr, names[:8])) + (f", ... ({len(names)} in all)" if len(names) > 8 else "")


def make_kernel(
    kernel: KernelLike, n_features: int, spread: ArrayLike | None = None, layout: Layout | None = None
) -> Kernel:
    """Make a kernel object from a name, or copy the one given.

    Parameters
    ----------
    kernel : Kernel, str, callable or None
        A name or function (see `make_named`; None is "rbf"), or a kernel object, which is copied. The columns of a
        `ColumnKernel` are looked up, and a name in it becomes an object.
    n_features : int
        Columns of the rows.
    spread : array-like of shape (n_features,), optional
        Standard deviation of each input, at the first of its columns; 0 (a constant input) counts as 1, and None stands
        for ones.
    layout : Layout, optional
        None: every column of the rows is an input of its own.

    Returns
    -------
    Kernel
        At its starting values, with bounds.

    Examples
    --------
    >>> make_kernel("rbf", 3, layout=Layout((0, 1, 1), (0, 1))).k1.k2.groups
    (0, 1, 1)
    """
    if layout is None:
        layout = Layout(tuple(range(n_features)), tuple(range(n_features)))
    sizes = np.ones(n_features) if spread is None else np.asarray(spread, dtype=np.float64)
    if isinstance(kernel, Kernel):
        return _bound(clone(kernel), sizes, layout)
    if spread is not None and sizes.shape == (n_features,):
        spread = sizes[layout.leaders]
    made = make_named(kernel, len(layout.columns) if n_features else 0, spread)
    return made if layout.is_plain else _bound(made, sizes, layout)


def _bound(kernel: Kernel, spread: Array, layout: Layout) -> Kernel:
    """The kernel for rows that are laid out so."""
    if type(kernel) in (Sum, Product):
        return type(kernel)(_bound(kernel.k1, spread, layout), _bound(kernel.k2, spread, layout))
    if type(kernel) is Exponentiation:
        return Exponentiation(_bound(kernel.kernel, spread, layout), kernel.exponent)
    if type(kernel) is TiedKernel:
        return _tied(kernel.kernel, layout)
    if type(kernel) is ColumnKernel:
        part, where = layout.part([layout.number_of(column) for column in kernel.listed()])
        # sum of the inputs' variances, at the first column of each column of the table.
        sizes = np.zeros(len(where))
        np.add.at(sizes, np.array(part.leaders)[list(part.groups)], spread[where] ** 2)
        inside = kernel.kernel
        if not isinstance(inside, Kernel):
            inside = make_named(inside, len(part.columns), np.sqrt(sizes[part.leaders]))
        return ColumnKernel(_bound(inside, np.sqrt(sizes), part), kernel.columns, where)
    return _tied(kernel, layout)


def _tied(kernel: Kernel, layout: Layout) -> Kernel:
    """A radial kernel with a length scale for each input, or for each column of the table, tied over their columns."""
    size, width = int(np.size(getattr(kernel, "length_scale", 1.0))), len(layout.groups)
    if size in (1, width) or type(kernel) not in (RBF, Matern, Anova):
        return kernel
    if size == len(layout.columns):
        return TiedKernel(kernel, layout.groups)
    if size == layout.n_columns:
        return TiedKernel(kernel, layout.by_column)
    raise ValueError(
        f"{type(kernel).__name__} has {size} length scales but the inputs have {layout.n_columns} features; give one "
        "length scale, or one for each feature"
    )


def column_scales(kernel: Kernel, n_features: int) -> Any:
    """The length scales of the first radial kernel of each column, shape (n_features,); 1.0 if no kernel has any."""
    found = np.full(n_features, np.nan)
    _find_scales(kernel, found, np.arange(n_features))
    return 1.0 if np.all(np.isnan(found)) else np.where(np.isnan(found), 1.0, found)


def _find_scales(kernel: Kernel, found: Array, where: Any) -> None:
    if isinstance(kernel, Sum | Product):
        _find_scales(kernel.k1, found, where)
        _find_scales(kernel.k2, found, where)
    elif isinstance(kernel, Exponentiation):
        _find_scales(kernel.kernel, found, where)
    elif isinstance(kernel, ColumnKernel):
        _find_scales(kernel.inner, found, where[kernel.positions()])
    else:
        leaf = kernel.expanded() if isinstance(kernel, TiedKernel) else kernel
        scale = getattr(leaf, "length_scale", np.nan)
        found[where] = np.where(np.isnan(found[where]), scale, found[where])
