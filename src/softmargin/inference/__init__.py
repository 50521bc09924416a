"""Inferences: Gram matrix, targets and likelihood in, posterior out. One file each."""

from typing import Any

from softmargin.inference._inducing import inducing_points
from softmargin.inference._protocol import Inference, InferenceDefaults, check_likelihood
from softmargin.inference.ep import EP, ConjugateEP
from softmargin.inference.hmc import HMC
from softmargin.inference.laplace import Laplace
from softmargin.inference.map import MAP, classify_support, dual_problem
from softmargin.inference.mean_field import MeanField
from softmargin.inference.posterior import LatentPosterior, Posterior
from softmargin.inference.sampled import SampledPosterior
from softmargin.inference.sparse import Sparse, SparsePosterior
from softmargin.inference.variational import Variational

INFERENCES: dict[str, Any] = {cls.name: cls for cls in (MAP, Laplace, EP, Variational, HMC)}
"""The registry: name -> class. A class added here is found by `inference=` and walked by the grid tests."""
REPRODUCTIONS: dict[str, Any] = {MeanField.name: MeanField}
"""The regression paper's own iteration: slow, with EP's fixed point, and offered by BayesianSVR only."""


def get_inference(name: str) -> type:
    """Return the inference class registered under a name."""
    known = INFERENCES | REPRODUCTIONS
    if name not in known:
        raise ValueError(f"unknown inference {name!r}; choose one of {sorted(known)}")
    return known[name]


__all__ = [
    "EP",
    "HMC",
    "INFERENCES",
    "MAP",
    "REPRODUCTIONS",
    "ConjugateEP",
    "Inference",
    "InferenceDefaults",
    "Laplace",
    "LatentPosterior",
    "MeanField",
    "Posterior",
    "SampledPosterior",
    "Sparse",
    "SparsePosterior",
    "Variational",
    "check_likelihood",
    "classify_support",
    "dual_problem",
    "get_inference",
    "inducing_points",
]
