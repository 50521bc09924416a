"""Names of what users may give: wider than any type that could be checked."""

from typing import Any, TypeAlias

MatrixLike: TypeAlias = Any
"""Array-like, frame, sparse matrix, memory map or Dask collection of shape (n_samples, n_features)."""
VectorLike: TypeAlias = Any
"""Array-like, series or Dask collection of shape (n_samples,)."""
KernelLike: TypeAlias = Any
"""None, the name of a kernel, a kernel of scikit-learn, or a function from two sets of rows to kernel values."""
PartLike: TypeAlias = Any
"""The name of a registered part, or an object with its methods."""
Seed: TypeAlias = Any
"""int, RandomState or None."""
Attributes: TypeAlias = dict[str, Any]
"""Fitted attributes by name."""
