"""Inferences: Gram matrix, targets and likelihood in, posterior out. One file each."""

from softmargin.inference._posterior import Posterior
from softmargin.inference._protocol import Inference, check_likelihood
from softmargin.inference.ep import EP
from softmargin.inference.hmc import HMC
from softmargin.inference.laplace import Laplace
from softmargin.inference.map import MAP, classify_support
from softmargin.inference.mean_field import MeanField
from softmargin.inference.sparse import Sparse, SparsePosterior
from softmargin.inference.variational import Variational

INFERENCES: dict[str, type] = {cls.name: cls for cls in (MAP, Laplace, EP, Variational, HMC, MeanField)}
"""The registry: name -> class. A class added here is found by `inference=` and walked by the grid tests."""


def get_inference(name: str) -> type:
    """Return the inference class registered under a name."""
    if name not in INFERENCES:
        raise ValueError(f"unknown inference {name!r}; choose one of {sorted(INFERENCES)}")
    return INFERENCES[name]


__all__ = [
    "EP",
    "HMC",
    "INFERENCES",
    "MAP",
    "Inference",
    "Laplace",
    "MeanField",
    "Posterior",
    "Sparse",
    "SparsePosterior",
    "Variational",
    "check_likelihood",
    "classify_support",
    "get_inference",
]
