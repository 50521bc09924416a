"""Tables: read them, and guess what their columns mean; the encoder of `rows` makes inputs of them."""

from softmargin._text import BUNDLED, printable
from softmargin.tables.columns import Choice, Table, read_table
from softmargin.tables.fitted import columns_of, conform, importance_by_column, relevance_by_column, unseen_categories
from softmargin.tables.reading import DataError, read_frame, short

__all__ = [
    "BUNDLED",
    "Choice",
    "DataError",
    "Table",
    "columns_of",
    "conform",
    "importance_by_column",
    "printable",
    "read_frame",
    "read_table",
    "relevance_by_column",
    "short",
    "unseen_categories",
]
