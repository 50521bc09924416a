"""Plots in scikit-learn's form: `Display.from_estimator(...)` computes and draws, `plot(ax=...)` draws again.

Every display keeps its numbers as attributes, and after drawing the axes as `ax_` and the figure as `figure_`.
Needs matplotlib (the extra ``plots``).
"""

from softmargin.displays._base import BLUE, GREY, ORANGE, label
from softmargin.displays._evidence import EvidenceSurfaceDisplay, SearchPathDisplay
from softmargin.displays._functions import LatentDisplay, PriorSampleDisplay
from softmargin.displays._inputs import MarginDisplay, RelevanceDisplay
from softmargin.displays._intervals import CoverageDisplay, IntervalDisplay

__all__ = [
    "BLUE",
    "GREY",
    "ORANGE",
    "CoverageDisplay",
    "EvidenceSurfaceDisplay",
    "IntervalDisplay",
    "LatentDisplay",
    "MarginDisplay",
    "PriorSampleDisplay",
    "RelevanceDisplay",
    "SearchPathDisplay",
    "label",
]
