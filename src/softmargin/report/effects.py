"""Figures of what columns do: importance, and effect curves with their posterior band."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

from softmargin.displays import BLUE, ORANGE, label
from softmargin.experiment import ColumnImportance, Effect, Experiment

MOST = 15
COLOURS = [BLUE, ORANGE, "#3a9d6e", "#b0578d", "#8a6d3b", "#5b6475"]


def draw_importances(ax: Any, importances: list[ColumnImportance]) -> None:
    """Bars of importance, the largest on top."""
    shown = importances[:MOST][::-1]
    ax.barh(range(len(shown)), [entry.importance for entry in shown], color=BLUE)
    ax.set_yticks(range(len(shown)), [label(entry.name) for entry in shown])
    ax.set(xlabel="importance (shares of 1)", xlim=(0, None))


def draw_effect(ax: Any, effect: Effect, *, ylabel: str, ylim: tuple[float, float] | None) -> None:
    """One effect curve for each class, or one with its band."""
    x: Any = np.asarray(effect.values) if effect.is_number else np.arange(len(effect.values))
    for k, (colour, (name, curve)) in enumerate(zip(COLOURS, effect.curves.items())):
        lower, upper = effect.bands.get(name, (None, None))
        if effect.is_number:
            ax.plot(x, curve, color=colour, label=label(name))
            if lower is not None:
                ax.fill_between(x, lower, upper, color=colour, alpha=0.2, linewidth=0)
        else:
            # Points of several classes stand beside each other.
            beside = x + 0.1 * (k - (min(len(effect.curves), len(COLOURS)) - 1) / 2)
            ax.plot(beside, curve, "o", color=colour, label=label(name))
            if lower is not None:
                ax.vlines(beside, lower, upper, color=colour, alpha=0.5)
    if len(effect.curves) > 1:
        # Above the axes: it hides no point.
        ax.legend(frameon=False, fontsize=9, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, columnspacing=1.2)
    if not effect.is_number:
        ax.set_xticks(x, [label(value[:14]) for value in effect.values], rotation=30, ha="right")
    if effect.is_date:
        dates = AutoDateLocator(maxticks=6)
        ax.xaxis.set_major_locator(dates)
        ax.xaxis.set_major_formatter(ConciseDateFormatter(dates))
    ax.set(xlabel=label(effect.name), ylabel=ylabel)
    if ylim is not None:
        ax.set_ylim(*ylim)


def effect_drawers(experiment: Experiment, found: list[Effect]) -> list[Callable[[Any], None]]:
    """What draws each effect, all on one scale."""
    if experiment.regression:
        ylabel = label(experiment.table.y.name)
    else:
        classes = experiment.model.classes_
        ylabel = f"probability of {label(classes[1])}" if len(classes) == 2 else "probability"
    ends = [
        end
        for effect in found
        for curve in (*effect.curves.values(), *(end for ends in effect.bands.values() for end in ends))
        for end in (float(np.min(curve)), float(np.max(curve)))
    ]
    room = 0.05 * (max(ends) - min(ends)) or 0.05
    low, high = min(ends) - room, max(ends) + room
    ylim = (low, high) if experiment.regression else (max(low, 0.0), min(high, 1.0))
    return [partial(draw_effect, effect=effect, ylabel=ylabel, ylim=ylim) for effect in found]
