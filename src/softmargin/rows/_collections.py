"""Dask collections: how to tell one, and how to predict its rows lazily."""

from collections.abc import Callable
from functools import partial, wraps
from inspect import signature
from typing import Any, TypeVar

import numpy as np

Method = TypeVar("Method", bound=Callable[..., Any])


def is_dask(X: Any) -> bool:
    """Whether X is a Dask array or dataframe; does not import Dask."""
    return type(X).__module__.split(".")[0] in ("dask", "dask_expr") and hasattr(X, "__dask_graph__")


def as_dask_array(X: Any) -> Any:
    """A Dask array with known row chunks, from a Dask array or dataframe (whose partitions are counted)."""
    if hasattr(X, "to_dask_array"):
        return X.to_dask_array(lengths=True)
    if np.any(np.isnan(np.concatenate([np.asarray(chunks, dtype=float) for chunks in X.chunks]))):
        X = X.compute_chunk_sizes()
    return X


def blockwise(method: Method) -> Method:
    """Let a prediction method of one argument X give a Dask array for a Dask collection.

    The fitted model goes into the graph; every block of rows is predicted where it is. A prediction of several arrays
    (``return_std=True``) is a tuple of Dask arrays.
    """

    @wraps(method)
    def predict(self: Any, X: Any, *args: Any, **kwargs: Any) -> Any:
        if not is_dask(X):
            return method(self, X, *args, **kwargs)
        asked = signature(method).bind(self, X, *args, **kwargs).arguments
        if asked.get("return_cov"):
            raise ValueError(
                "return_cov=True needs all rows at once, which a Dask collection does not give; use return_std=True, "
                "or predict some rows with X[...].compute()"
            )
        X = as_dask_array(X)
        X = X.rechunk({1: -1})

        def block(part: Any) -> Any:
            return method(self, part, *args, **kwargs)

        # The shape and type of one row's prediction.
        probe = block(np.zeros((1, X.shape[1])))
        if isinstance(probe, tuple):
            return tuple(_mapped(X, partial(_nth, block, k), array) for k, array in enumerate(probe))
        return _mapped(X, block, probe)

    return predict  # type: ignore[return-value]


def _mapped(X: Any, block: Callable[[Any], Any], probe: Any) -> Any:
    """The Dask array of a prediction; `probe` is that of one row."""
    if probe.ndim == 1:
        return X.map_blocks(block, dtype=probe.dtype, drop_axis=1, meta=probe[:0])
    return X.map_blocks(block, dtype=probe.dtype, chunks=(X.chunks[0], (probe.shape[1],)), meta=probe[:0])


def _nth(block: Callable[[Any], Any], k: int, part: Any) -> Any:
    """One of the arrays of a prediction."""
    return block(part)[k]
