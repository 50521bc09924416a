"""Model-selection criteria, one file each: (posterior, problem) -> value and gradient."""

from typing import Any

from softmargin.criteria._protocol import Criterion, CriterionDefaults, CriterionValue, Problem
from softmargin.criteria.bounds import GACV, JaakkolaHaussler, SupportVectorCount
from softmargin.criteria.evidence import Evidence, LaplaceEvidence, LinkEvidence
from softmargin.criteria.kwok import Kwok, KwokLevels, kwok_levels
from softmargin.criteria.loo import LeaveOneOut, leave_one_out
from softmargin.criteria.normalised import ConditionalEvidence, JointEvidence
from softmargin.criteria.radius_margin import RadiusMargin
from softmargin.criteria.span import SharpSpan, Span, span_margins
from softmargin.criteria.svm_loo import SVMLeaveOneOut, leave_one_out_margins
from softmargin.svm import Ball, smallest_ball

CRITERIA: dict[str, Any] = {
    cls.name: cls
    for cls in (
        Evidence,
        LinkEvidence,
        LaplaceEvidence,
        ConditionalEvidence,
        JointEvidence,
        LeaveOneOut,
        GACV,
        Span,
        SharpSpan,
        SVMLeaveOneOut,
        SupportVectorCount,
        JaakkolaHaussler,
        RadiusMargin,
        Kwok,
    )
}
"""The registry: name -> class. A class added here is found by `criterion=`."""


def get_criterion(name: str) -> type:
    """Return the criterion class registered under a name."""
    if name not in CRITERIA:
        raise ValueError(f"unknown criterion {name!r}; choose one of {sorted(CRITERIA)}")
    return CRITERIA[name]


__all__ = [
    "CRITERIA",
    "GACV",
    "Ball",
    "ConditionalEvidence",
    "Criterion",
    "CriterionDefaults",
    "CriterionValue",
    "Evidence",
    "JaakkolaHaussler",
    "JointEvidence",
    "Kwok",
    "KwokLevels",
    "LaplaceEvidence",
    "LeaveOneOut",
    "LinkEvidence",
    "Problem",
    "RadiusMargin",
    "SVMLeaveOneOut",
    "SharpSpan",
    "Span",
    "SupportVectorCount",
    "get_criterion",
    "kwok_levels",
    "leave_one_out",
    "leave_one_out_margins",
    "smallest_ball",
    "span_margins",
]
