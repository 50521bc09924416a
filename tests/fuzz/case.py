"""A problem in words: a frozen record of literals, from which rows and an estimator are made.

Its `repr` is the reproduction of whatever it finds: ``python -m tests.fuzz --case "Case(...)"`` runs it again.
"""

from dataclasses import dataclass, field, fields
from typing import Any

COLUMNS = ("normal", "constant", "zero", "copy", "collinear", "skewed", "integer", "binary", "heavy")
TARGETS = ("function", "constant", "two_values", "heavy", "skewed", "integer", "noise")
COPIES = ("none", "rows", "conflict")
WEIGHTS = ("none", "ones", "counts", "tiny", "huge", "mixed", "zeros")
LABELS = ("int", "str", "bool", "float", "negative")
BALANCES = ("even", "rare", "singleton")
CONTAINERS = (
    "array", "list", "float32", "fortran", "csr", "zero_csr", "frame", "table", "polars", "memmap", "dask",
    "precomputed",
)  # fmt: skip
TABLES = ("table", "polars")
"""Frames with a column of categories and with gaps in the numbers."""
RELATIONS = (
    "none", "same_seed", "row_order", "column_order", "scale", "shift", "target_scale", "target_shift", "negated",
    "copies", "memmap", "dask", "save", "pickle", "refit", "stream",
)  # fmt: skip
NEW_ROWS = ("near", "training", "far", "very_far")


@dataclass(frozen=True)
class Case:
    """One problem, one estimator and one relation that must hold.

    Parameters
    ----------
    estimator : {"svc", "svr"}
    seed : int
        Of the numbers.
    rows : int
    columns : tuple of str
        Kinds of columns, of `COLUMNS`.
    x_exponent, y_exponent : int
        Powers of ten of the inputs' and the target's units.
    x_shift : float
        Added to the inputs, in their units.
    classes, labels, balance : int, str, str
        Of a classification.
    target : str
        Of a regression, of `TARGETS`.
    copies, weights, container, new : str
        Of `COPIES`, `WEIGHTS`, `CONTAINERS`, `NEW_ROWS`.
    kernel : str
        A name of a kernel or of `tests.fuzz.kernels.OBJECTS`.
    settings : tuple of (str, literal)
        The estimator's other parameters.
    relation : str
        Of `RELATIONS`.
    """

    estimator: str = "svc"
    seed: int = 0
    rows: int = 6
    columns: tuple[str, ...] = ("normal",)
    x_exponent: int = 0
    x_shift: float = 0.0
    y_exponent: int = 0
    classes: int = 2
    labels: str = "int"
    balance: str = "even"
    target: str = "function"
    copies: str = "none"
    weights: str = "none"
    container: str = "array"
    new: str = "near"
    kernel: str = "rbf"
    settings: tuple[tuple[str, Any], ...] = field(default=())
    relation: str = "none"

    @property
    def is_classifier(self) -> bool:
        """Whether the estimator is the classifier."""
        return self.estimator == "svc"

    def get(self, name: str, default: Any = None) -> Any:
        """A parameter of the estimator that was set, or a default."""
        return dict(self.settings).get(name, default)

    def __repr__(self) -> str:
        """Only what differs from the default: short enough to paste."""
        given = [f"{f.name}={getattr(self, f.name)!r}" for f in fields(self) if getattr(self, f.name) != f.default]
        return f"Case({', '.join(given)})"


def read_case(text: str) -> Case:
    """The case that a text ``Case(...)`` describes."""
    case: Case = eval(text, {"Case": Case, "__builtins__": {}})
    return case
