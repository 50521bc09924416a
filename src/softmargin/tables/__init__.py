"""Tables: read them, guess what the columns mean, build the pipeline."""

from softmargin.tables.columns import Table, conform, read_table
from softmargin.tables.pipeline import (
    columns_of,
    importance_by_column,
    make_pipeline,
    relevance_by_column,
    sources_of,
    unseen_categories,
)
from softmargin.tables.reading import BUNDLED, DataError, printable, read_frame, short

__all__ = [
    "BUNDLED",
    "DataError",
    "Table",
    "columns_of",
    "conform",
    "importance_by_column",
    "make_pipeline",
    "printable",
    "read_frame",
    "read_table",
    "relevance_by_column",
    "short",
    "sources_of",
    "unseen_categories",
]
