"""Dask collections: how to tell one, and how to predict its rows lazily."""

from collections.abc import Callable
from functools import partial, wraps
from inspect import signature
from operator import itemgetter
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

        def block(part: Any) -> Any:
            return method(self, part, *args, **kwargs)

        if hasattr(X, "to_delayed") and hasattr(X, "columns"):
            return _of_frame(X, block, block(_row_like(X, has_gaps=getattr(self, "encoder_", None) is not None)))
        X = as_dask_array(X)
        X = X.rechunk({1: -1})
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


def _row_like(X: Any, *, has_gaps: bool) -> Any:
    """One row with the columns of a Dask dataframe: of gaps, or of zeros for a model that has no place for gaps."""
    empty = X._meta
    if has_gaps:
        return empty.reset_index(drop=True).reindex([0])
    return type(empty)(np.zeros((1, len(empty.columns))), columns=empty.columns)


def _of_frame(X: Any, block: Callable[[Any], Any], probe: Any) -> Any:
    """The Dask array, or the tuple of them, of a prediction of a dataframe: its partitions stay frames with names."""
    import dask
    import dask.array as da

    # The model is in the graph once, whatever the number of partitions.
    task = dask.delayed(block, pure=False)
    lengths = X.map_partitions(len).compute()
    parts = [(task(part), int(n)) for part, n in zip(X.to_delayed(), lengths) if n > 0]
    if not parts:
        shape = (0, len(X.columns))
        raise ValueError(f"Found array with 0 sample(s) (shape={shape}) while a minimum of 1 is required.")

    def joined(array: Any, part_of: Callable[[Any], Any]) -> Any:
        return da.concatenate(
            [
                da.from_delayed(part_of(part), (n, *array.shape[1:]), dtype=array.dtype, meta=array[:0])
                for part, n in parts
            ]
        )

    if isinstance(probe, tuple):
        return tuple(joined(array, itemgetter(k)) for k, array in enumerate(probe))
    return joined(probe, lambda part: part)


def _nth(block: Callable[[Any], Any], k: int, part: Any) -> Any:
    """One of the arrays of a prediction."""
    return block(part)[k]
