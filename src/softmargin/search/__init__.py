"""Searches over hyperparameters: objective in, best point and path out."""

from softmargin.search.coordinates import (
    Coordinates,
    FixedNoise,
    LogParameter,
    Model,
    NoiseCoordinates,
    NoiseShape,
)
from softmargin.search.gradient_ascent import GradientAscent
from softmargin.search.hyperprior import HyperPrior
from softmargin.search.lbfgs import LBFGS, SearchResult
from softmargin.search.objective import Evaluation, Objective, Subspace, path_row
from softmargin.search.random_walk import RandomWalk
from softmargin.search.watch import StopSearch, notify, watching

SEARCHES: dict[str, type] = {cls.name: cls for cls in (LBFGS, RandomWalk, GradientAscent)}
"""The registry: name -> class. A class added here is found by `search=`."""


def get_search(name: str) -> type:
    """Return the search class registered under a name."""
    if name not in SEARCHES:
        raise ValueError(f"unknown search {name!r}; choose one of {sorted(SEARCHES)} or None")
    return SEARCHES[name]


__all__ = [
    "LBFGS",
    "SEARCHES",
    "Coordinates",
    "Evaluation",
    "FixedNoise",
    "GradientAscent",
    "HyperPrior",
    "LogParameter",
    "Model",
    "NoiseCoordinates",
    "NoiseShape",
    "Objective",
    "RandomWalk",
    "SearchResult",
    "StopSearch",
    "Subspace",
    "get_search",
    "notify",
    "path_row",
    "watching",
]
