"""Every tuned constant of the defaults, in one record, `POLICY`; each names the benchmark or the paper that set it.

Constants of an algorithm's own arithmetic (tolerances of rounding, block sizes) stay beside the algorithm; here is what
somebody chose by looking at data. Names in brackets are commands, ``python -m benchmarks NAME``; one that stands in the
first line of a record is that of all its constants without a name of their own. [constants] measures other values of
any constant: ``python -m benchmarks constants stack.kurtosis 3 20``. docs/decisions/ has the reasoning.
"""

from dataclasses import dataclass, field

from softmargin.policy._kinds import Logs, Range
from softmargin.policy.machines import ADDITIVE, LeastSquaresPolicy, NoisePolicy, SoftmaxPolicy, StackPolicy
from softmargin.policy.models import KernelPolicy, LikelihoodPolicy, TargetPolicy
from softmargin.policy.searches import SamplingPolicy, SearchPolicy, StructurePolicy
from softmargin.policy.sizes import LowRankPolicy, Rung, SizePolicy


@dataclass(frozen=True)
class Policy:
    """The defaults of both estimators."""

    kernel: KernelPolicy = field(default_factory=KernelPolicy)
    likelihood: LikelihoodPolicy = field(default_factory=LikelihoodPolicy)
    search: SearchPolicy = field(default_factory=SearchPolicy)
    target: TargetPolicy = field(default_factory=TargetPolicy)
    size: SizePolicy = field(default_factory=SizePolicy)
    stack: StackPolicy = field(default_factory=StackPolicy)
    structure: StructurePolicy = field(default_factory=StructurePolicy)
    low_rank: LowRankPolicy = field(default_factory=LowRankPolicy)
    least_squares: LeastSquaresPolicy = field(default_factory=LeastSquaresPolicy)
    additive: LeastSquaresPolicy = ADDITIVE
    noise: NoisePolicy = field(default_factory=NoisePolicy)
    sampling: SamplingPolicy = field(default_factory=SamplingPolicy)


POLICY = Policy()
"""The record in force."""


__all__ = [
    "POLICY",
    "KernelPolicy",
    "LeastSquaresPolicy",
    "LikelihoodPolicy",
    "Logs",
    "LowRankPolicy",
    "NoisePolicy",
    "Policy",
    "Range",
    "Rung",
    "SamplingPolicy",
    "SearchPolicy",
    "SizePolicy",
    "SoftmaxPolicy",
    "StackPolicy",
    "StructurePolicy",
    "TargetPolicy",
]
