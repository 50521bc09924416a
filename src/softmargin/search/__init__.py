"""Searches over hyperparameters: objective in, best point and path out. One file each."""

from typing import Any

from softmargin.search._ascent_rules import AdamRule, AscentRule, PaperRule
from softmargin.search._protocol import Evaluation, Objective, ScaledObjective, Search, SearchResult
from softmargin.search.gradient_ascent import GradientAscent
from softmargin.search.hyper_sampling import HyperparameterSampling
from softmargin.search.lbfgs import LBFGS
from softmargin.search.random_walk import RandomWalk
from softmargin.search.watch import Callback, Listener, Report, StopSearch, notify, watching

SEARCHES: dict[str, Any] = {cls.name: cls for cls in (LBFGS, RandomWalk, GradientAscent, HyperparameterSampling)}
"""The registry: name -> class. A class added here is found by `search=`."""


def get_search(name: str) -> type:
    """Return the search class registered under a name."""
    if name not in SEARCHES:
        raise ValueError(f"unknown search {name!r}; choose one of {sorted(SEARCHES)} or None")
    return SEARCHES[name]


__all__ = [
    "LBFGS",
    "SEARCHES",
    "AdamRule",
    "AscentRule",
    "Callback",
    "Evaluation",
    "GradientAscent",
    "HyperparameterSampling",
    "Listener",
    "Objective",
    "PaperRule",
    "RandomWalk",
    "Report",
    "ScaledObjective",
    "Search",
    "SearchResult",
    "StopSearch",
    "get_search",
    "notify",
    "watching",
]
