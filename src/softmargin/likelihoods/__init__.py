"""Likelihoods p(y | f), one file each. Open one to read its formulas; see `_protocol.py` for the contract."""

from typing import Any

from softmargin.likelihoods._defaults import LikelihoodDefaults
from softmargin.likelihoods._protocol import (
    Derivatives,
    ExpectedLogProb,
    Likelihood,
    MapCurvature,
    TiltedMoments,
    TiltedSlopes,
)
from softmargin.likelihoods.epsilon_insensitive import EpsilonInsensitive
from softmargin.likelihoods.hinge import Hinge
from softmargin.likelihoods.link import Link, SquaredLink
from softmargin.likelihoods.logistic import Logistic
from softmargin.likelihoods.noise_mixture import NoiseMixture, SampledMixture
from softmargin.likelihoods.squared_hinge import SquaredHinge

LIKELIHOODS: dict[str, Any] = {
    cls.name: cls for cls in (Hinge, SquaredHinge, Link, SquaredLink, Logistic, EpsilonInsensitive)
}
"""The registry: name -> class. A class added here is found by `loss=` and walked by the grid tests."""


def get_likelihood(name: str) -> Any:
    """Return the likelihood class registered under a name."""
    if name not in LIKELIHOODS:
        raise ValueError(f"unknown loss {name!r}; choose one of {sorted(LIKELIHOODS)}")
    return LIKELIHOODS[name]


__all__ = [
    "LIKELIHOODS",
    "Derivatives",
    "EpsilonInsensitive",
    "ExpectedLogProb",
    "Hinge",
    "Likelihood",
    "LikelihoodDefaults",
    "Link",
    "Logistic",
    "MapCurvature",
    "NoiseMixture",
    "SampledMixture",
    "SquaredHinge",
    "SquaredLink",
    "TiltedMoments",
    "TiltedSlopes",
    "get_likelihood",
]
