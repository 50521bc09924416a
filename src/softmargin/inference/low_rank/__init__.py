"""Expectation propagation in a low-rank prior: full EP's posterior, evidence and leave-one-out for many rows."""

from softmargin.inference.low_rank.ep import LowRankEP
from softmargin.inference.low_rank.loo import LeaveOneOutValue, leave_one_out
from softmargin.inference.low_rank.posterior import LowRankPosterior

__all__ = ["LeaveOneOutValue", "LowRankEP", "LowRankPosterior", "leave_one_out"]
