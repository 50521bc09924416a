"""Rows of data: training rows with merged copies, sources of rows that are read in blocks, encodings of targets.

The only room that knows Dask: on a cluster the same sums over blocks are a graph, nothing is scattered, and the blocks
of a lost worker are recomputed. Importing it does not import Dask; a Dask collection brings it along.
"""

from softmargin.rows._collections import blockwise, is_dask
from softmargin.rows._dask import FAN_IN, DaskRows
from softmargin.rows._sizes import check_input_sizes, check_sample_sizes
from softmargin.rows._workspace import Workspace
from softmargin.rows.columns import CategoryColumn, DateColumn, NumberColumn
from softmargin.rows.encodings import ClassEncoding, PairEncoding, ScaledEncoding, ThinnedEncoding
from softmargin.rows.frames import ColumnEncoder
from softmargin.rows.source import BLOCK_ROWS, Encoded, Encoding, LocalRows, Mappable, Mapped, RowSource, Summable
from softmargin.rows.training import TrainingRows, class_weights, is_heavy_tailed, merge_rows, spread_of
from softmargin.rows.validation import CheckedRows, Columns, check_new, check_rows, check_weights

__all__ = [
    "BLOCK_ROWS",
    "FAN_IN",
    "CategoryColumn",
    "CheckedRows",
    "ClassEncoding",
    "ColumnEncoder",
    "Columns",
    "DaskRows",
    "DateColumn",
    "Encoded",
    "Encoding",
    "LocalRows",
    "Mappable",
    "Mapped",
    "NumberColumn",
    "PairEncoding",
    "RowSource",
    "ScaledEncoding",
    "Summable",
    "ThinnedEncoding",
    "TrainingRows",
    "Workspace",
    "blockwise",
    "check_input_sizes",
    "check_new",
    "check_rows",
    "check_sample_sizes",
    "check_weights",
    "class_weights",
    "is_dask",
    "is_heavy_tailed",
    "merge_rows",
    "spread_of",
]
