"""Model-selection criteria, one file each: (posterior, problem) -> value and gradient."""

from softmargin.criteria._protocol import Criterion, CriterionValue, Problem
from softmargin.criteria.evidence import Evidence, LinkEvidence
from softmargin.criteria.loo import LeaveOneOut, leave_one_out

CRITERIA: dict[str, type] = {cls.name: cls for cls in (Evidence, LinkEvidence, LeaveOneOut)}
"""The registry: name -> class. A class added here is found by `criterion=`."""


def get_criterion(name: str) -> type:
    """Return the criterion class registered under a name."""
    if name not in CRITERIA:
        raise ValueError(f"unknown criterion {name!r}; choose one of {sorted(CRITERIA)}")
    return CRITERIA[name]


__all__ = [
    "CRITERIA",
    "Criterion",
    "CriterionValue",
    "Evidence",
    "LeaveOneOut",
    "LinkEvidence",
    "Problem",
    "get_criterion",
    "leave_one_out",
]
