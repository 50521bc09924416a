"""The least-squares machine: one Gaussian-process regression on one-hot targets for all classes.

Its exact leave-one-out outputs are read by one softmax (Rasmussen & Williams 2006, section 5.4.2, has the leave-one-out
of a regression; Rifkin, Yeo & Poggio 2003 regression on labels). Kernel, noise and softmax maximise the leave-one-out
log-likelihood with exact gradients. Above some thousand rows the regression lives on inducing points.
"""

from softmargin.least_squares.dense import DenseRidge, DenseRows
from softmargin.least_squares.fit import fit_least_squares, rank_for, refinements, useful_rank
from softmargin.least_squares.inducing import centres, hard_points
from softmargin.least_squares.loss import LeastSquares
from softmargin.least_squares.low_rank import LowRankRidge, LowRankRows
from softmargin.least_squares.machine import LeastSquaresMachine
from softmargin.least_squares.rows import LabelledRows
from softmargin.least_squares.search import LooObjective
from softmargin.least_squares.softmax import SoftmaxFit, link_value
from softmargin.least_squares.space import SearchSpace, default_kernel
from softmargin.least_squares.sums import LowRankSums

__all__ = [
    "DenseRidge",
    "DenseRows",
    "LabelledRows",
    "LeastSquares",
    "LeastSquaresMachine",
    "LooObjective",
    "LowRankRidge",
    "LowRankRows",
    "LowRankSums",
    "SearchSpace",
    "SoftmaxFit",
    "centres",
    "default_kernel",
    "fit_least_squares",
    "hard_points",
    "link_value",
    "rank_for",
    "refinements",
    "useful_rank",
]
