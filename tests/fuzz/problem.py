"""From a case to rows, weights, new rows and an estimator."""

import tempfile
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.metrics.pairwise import rbf_kernel

from softmargin import BayesianSVC, BayesianSVR

from .case import TABLES, Case
from .kernels import kernel_of

LARGEST = 1e307
NEW = 7
"""Number of new rows."""


@dataclass(frozen=True)
class Problem:
    """Plain arrays; `inside` puts the inputs into the container of the case."""

    X: np.ndarray
    y: np.ndarray
    weight: np.ndarray | None
    new: np.ndarray
    kinds: np.ndarray
    """Category of each row, in frames that have such a column."""
    new_kinds: np.ndarray
    turned: bool = False
    """Whether the columns of such a frame are in the other order."""

    def take(self, index: np.ndarray) -> "Problem":
        """Some of the rows."""
        weight = None if self.weight is None else self.weight[index]
        return replace(self, X=self.X[index], y=self.y[index], weight=weight, kinds=self.kinds[index])


def make_problem(case: Case) -> Problem:
    """The rows of a case."""
    rng = np.random.default_rng(case.seed)
    n, d = case.rows, len(case.columns)
    base = rng.standard_normal((n + NEW, d))
    for j, kind in enumerate(case.columns):
        base[:, j] = _column(kind, base[:, j], base, rng)
    f = _latent(base, rng)
    X, new = base[:n], base[n:]
    y = _labels(case, f[:n], rng) if case.is_classifier else _targets(case, f[:n], rng)
    if case.copies != "none" and n >= 4:
        half = n // 2
        X[half : 2 * half] = X[:half]
        if case.copies == "rows":
            y[half : 2 * half] = y[:half]
    X, new = _in_units(case, X, {"training": X[:NEW], "near": new}.get(case.new, new))
    if case.new in ("far", "very_far"):
        far = 1e6 if case.new == "far" else 1e30
        new = np.clip(new, -LARGEST / far, LARGEST / far) * far
    if case.container == "csr":
        # Which entries are stored must not depend on copies of rows.
        X, new = (np.where(np.abs(part) > np.median(np.abs(part)), part, 0.0) for part in (X, new))
    weight = _weights(case, rng)
    kinds = np.array(["left", "right", "", "=1+1"])[rng.integers(0, 4, n)]
    new_kinds = rng.choice(np.array(["left", "right", "never seen"]), len(new))
    if case.container in TABLES:
        X, new = (np.where(rng.uniform(size=part.shape) < 0.15, np.nan, part) for part in (X, new))
    return Problem(X, y, weight, new, kinds, new_kinds)


def _column(kind: str, column: np.ndarray, base: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    other = rng.standard_normal(len(column))
    return {
        "normal": column,
        "constant": np.full_like(column, 0.1),
        "zero": np.zeros_like(column),
        "copy": base[:, 0].copy(),
        "collinear": 2 * base[:, 0] - base[:, -1],
        "skewed": np.exp(2 * column),
        "integer": np.round(2 * column),
        "binary": (column > 0).astype(float),
        "heavy": column / np.maximum(np.abs(other), 1e-3),
    }[kind]


def _latent(base: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A function of the inputs with some noise, of unit scale."""
    safe = np.clip(base, -3, 3)
    return np.sin(2 * safe[:, 0]) + safe[:, -1] + 0.3 * rng.standard_normal(len(base))


def _labels(case: Case, f: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Labels that follow f, every class at least once if there are enough rows."""
    n, k = len(f), case.classes
    rank = np.argsort(np.argsort(f))
    index = (rank * k) // n
    if case.balance != "even":
        few = 1 if case.balance == "singleton" else max(n // 10, 1)
        index = np.minimum(rank // few, k - 1)
    index = np.where(rng.uniform(size=n) < 0.1, rng.integers(0, k, n), index)
    index[: min(k, n)] = np.arange(k)[: min(k, n)]
    names = {
        "int": np.arange(k),
        "str": np.array([f"class {c}" for c in "edcba"[:k]]),
        "bool": np.array([False, True]) if k == 2 else np.arange(k),
        "float": np.arange(k) * 1.0,
        "negative": np.arange(k) * 10 - 10,
    }[case.labels]
    return names[index]


def _targets(case: Case, f: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    values = {
        "function": f,
        "constant": np.full_like(f, 0.3),
        "two_values": np.sign(f),
        "heavy": f / np.maximum(np.abs(rng.standard_normal(len(f))), 1e-4),
        "skewed": np.exp(2 * f),
        "integer": np.round(3 * f),
        "noise": rng.standard_normal(len(f)),
    }[case.target]
    return _scaled(values, case.y_exponent)


def _in_units(case: Case, *parts: np.ndarray) -> list[np.ndarray]:
    return [_scaled(part + case.x_shift, case.x_exponent) for part in parts]


def _scaled(values: np.ndarray, exponent: int) -> np.ndarray:
    """Values times a power of ten, all finite."""
    with np.errstate(over="ignore"):
        return np.clip(values * 10.0**exponent, -LARGEST, LARGEST)


def _weights(case: Case, rng: np.random.Generator) -> np.ndarray | None:
    n = case.rows
    if case.weights == "none":
        return None
    weights: np.ndarray = {
        "ones": np.ones(n),
        "counts": rng.integers(1, 4, n).astype(float),
        "tiny": np.full(n, 1e-12),
        "huge": np.full(n, 1e12),
        "mixed": 10.0 ** rng.uniform(-12, 12, n),
        "zeros": rng.integers(0, 3, n).astype(float),
    }[case.weights]
    return weights


def training_rows(case: Case, problem: Problem) -> Any:
    """The training inputs in the container of the case."""
    if case.container in TABLES:
        return _table(case, problem, problem.X, problem.kinds)
    return inside(case, problem.X, problem.X)


def new_rows(case: Case, problem: Problem) -> Any:
    """The new inputs in the container of the case, or in an array if that is Dask's."""
    if case.container in TABLES:
        return _table(case, problem, problem.new, problem.new_kinds)
    return inside(replace(case, container="array") if case.container == "dask" else case, problem.new, problem.X)


def _table(case: Case, problem: Problem, X: np.ndarray, kinds: np.ndarray) -> Any:
    """A frame with gaps and a column of categories, in which the empty string is a gap too."""
    columns: dict[str, Any] = {f"x{j}": column for j, column in enumerate(X.T)}
    columns["kind"] = [str(kind) or None for kind in kinds]
    if problem.turned:
        columns = dict(reversed(columns.items()))
    if case.container == "polars":
        import polars as pl

        return pl.DataFrame(columns, schema_overrides={"kind": pl.String}, nan_to_null=True)
    import pandas as pd

    return pd.DataFrame(columns).astype({"kind": "category"})


def inside(case: Case, X: np.ndarray, training: np.ndarray) -> Any:
    """Numbers in the container of the case; `training` are the training rows (for Gram matrices)."""
    kind = case.container
    if kind == "list":
        return X.tolist()
    if kind == "float32":
        return np.clip(X, -1e38, 1e38).astype(np.float32)
    if kind == "fortran":
        return np.asfortranarray(X)
    if kind in ("csr", "zero_csr"):
        return csr_matrix(X if kind == "csr" else 0.0 * X)
    if kind == "frame":
        import pandas as pd

        return pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    if kind == "memmap":
        return on_disk(X)
    if kind == "dask":
        import dask.array as da

        return da.from_array(X, chunks=(max(len(X) // 3, 1), X.shape[1]))
    if kind == "precomputed":
        unit = 10.0**case.x_exponent
        return rbf_kernel(X / unit - case.x_shift, training / unit - case.x_shift, 0.5) + 0.2
    return X


def on_disk(X: np.ndarray) -> np.ndarray:
    """The same numbers in a memory map, whose file goes with it."""
    with tempfile.NamedTemporaryFile() as file:
        mapped = np.memmap(file.name, dtype=np.float64, mode="w+", shape=X.shape)
        mapped[:] = X
        return mapped


def make_estimator(case: Case, n_features: int) -> Any:
    """The unfitted estimator of a case."""
    settings = {name: list(value) if isinstance(value, tuple) else value for name, value in case.settings}
    kernel = "precomputed" if case.container == "precomputed" else kernel_of(case.kernel, n_features)
    return (BayesianSVC if case.is_classifier else BayesianSVR)(kernel, random_state=0, **settings)
