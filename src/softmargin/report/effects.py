"""Figures of what columns do: importance, and effect curves with their posterior band."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from softmargin.displays import BLUE, GREY, ORANGE, label
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
    x: Any = effect.values if effect.is_number else np.arange(len(effect.values))
    for colour, (name, curve) in zip(COLOURS, effect.curves.items()):
        if effect.is_number:
            ax.plot(x, curve, color=colour, label=label(name))
        else:
            ax.plot(x, curve, "o", color=colour, label=label(name))
    if effect.lower is not None and effect.upper is not None:
        if effect.is_number:
            ax.fill_between(x, effect.lower, effect.upper, color=BLUE, alpha=0.2, linewidth=0)
        else:
            ax.vlines(x, effect.lower, effect.upper, color=BLUE, alpha=0.5)
    elif len(effect.curves) > 1:
        ax.legend(frameon=False, fontsize=9, labelcolor=GREY)
    if not effect.is_number:
        ax.set_xticks(x, [label(value[:14]) for value in effect.values], rotation=30, ha="right")
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
        for curve in (*effect.curves.values(), effect.lower, effect.upper)
        if curve is not None
        for end in (float(np.min(curve)), float(np.max(curve)))
    ]
    room = 0.05 * (max(ends) - min(ends)) or 0.05
    low, high = min(ends) - room, max(ends) + room
    ylim = (low, high) if experiment.regression else (max(low, 0.0), min(high, 1.0))
    return [partial(draw_effect, effect=effect, ylabel=ylabel, ylim=ylim) for effect in found]
