"""The inference of the Gaussian processes among the members."""

from softmargin.inference import EP, ConjugateEP
from softmargin.policy import POLICY


def gaussian_inference(n_rows: int) -> EP:
    """How a Gaussian process of so many rows is inferred: if they are many, in the low rank that `EP()` stands for."""
    return EP() if n_rows > POLICY.size.dense_rows else ConjugateEP()
