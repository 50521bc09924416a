"""Expectation propagation in a low-rank prior: full EP's posterior, evidence and leave-one-out for many rows."""

from softmargin.inference._sparse_sums import WhitenedGaussian, WhitenedPrior
from softmargin.inference.low_rank.ep import LowRankEP
from softmargin.inference.low_rank.loo import LeaveOneOutValue, low_rank_leave_one_out
from softmargin.inference.low_rank.posterior import LowRankPosterior
from softmargin.inference.low_rank.sums import TiltedStatistic, weighted_gram

__all__ = [
    "LeaveOneOutValue",
    "LowRankEP",
    "LowRankPosterior",
    "TiltedStatistic",
    "WhitenedGaussian",
    "WhitenedPrior",
    "low_rank_leave_one_out",
    "weighted_gram",
]
