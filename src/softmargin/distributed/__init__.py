"""Rows on a cluster: the same sums over blocks as a Dask graph, and predictions as Dask arrays.

Nothing is scattered: every block statistic is computed from the collection's own graph, so that a lost worker's blocks
are made again. Import costs nothing without Dask; a Dask collection brings it along.
"""

from softmargin.distributed._collections import blockwise, is_dask
from softmargin.distributed._rows import DaskRows

__all__ = ["DaskRows", "blockwise", "is_dask"]
