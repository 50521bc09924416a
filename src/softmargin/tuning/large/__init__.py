"""Tuning where rows are many: a prior of low rank, inducing points on rows anywhere, streams."""

from softmargin.tuning.large.low_rank import fit_low_rank
from softmargin.tuning.large.refine import Sample
from softmargin.tuning.large.sparse import fit_sparse, leave_rows_out
from softmargin.tuning.large.stream import RememberedRows, update

__all__ = ["RememberedRows", "Sample", "fit_low_rank", "fit_sparse", "leave_rows_out", "update"]
