"""Figures of how well classes are told apart: ROC and precision-recall curves with bands."""

from typing import Any

from softmargin.displays import GREY, label
from softmargin.experiment import Curve, Ranking
from softmargin.report.effects import COLOURS


def draw_roc(ax: Any, found: dict[str, Ranking]) -> None:
    """Share of the events found against the share of false alarms."""
    ax.plot([0, 1], [0, 1], color=GREY, linewidth=1)
    _draw(ax, {name: ranking.roc for name, ranking in found.items()})
    ax.set(xlabel="false alarms: share of the others", ylabel="found: share of the class", title="ROC")


def draw_precision(ax: Any, found: dict[str, Ranking]) -> None:
    """Share of right alarms against the share of the events found."""
    for colour, share in zip(COLOURS, dict.fromkeys(ranking.share for ranking in found.values())):
        ax.axhline(share, color=GREY if len(found) <= 2 else colour, linewidth=1, linestyle=":")
    _draw(ax, {name: ranking.precision for name, ranking in found.items()})
    ax.set(xlabel="found: share of the class", ylabel="right: share of the alarms", title="Precision and recall")


def _draw(ax: Any, curves: dict[str, Curve]) -> None:
    for colour, (name, curve) in zip(COLOURS, curves.items()):
        said = f"{label(name)}: {curve.area:.2f} ({curve.area_lower:.2f} to {curve.area_upper:.2f})"
        ax.plot(curve.x, curve.y, color=colour, label=said)
        ax.fill_between(curve.x, curve.lower, curve.upper, color=colour, alpha=0.15, linewidth=0)
    ax.set(xlim=(0, 1), ylim=(0, 1.02))
    # Below the axes: it hides no curve.
    below = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.18)}
    ax.legend(frameon=False, fontsize=9, title="area under the curve", title_fontsize=9, **below)
