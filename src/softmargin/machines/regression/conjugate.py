"""Expectation propagation of a Gaussian likelihood, which is exact and needs one sweep."""

from dataclasses import dataclass

from softmargin._linalg import Array
from softmargin.inference import EP, Posterior
from softmargin.likelihoods import Likelihood
from softmargin.policy import POLICY


@dataclass(frozen=True, repr=False)
class ConjugateEP(EP):
    """Expectation propagation from the sites of a Gaussian likelihood, which are its own: no other start is better."""

    def infer(
        self,
        K: Array,
        y: Array,
        likelihood: Likelihood,
        weight: Array | None = None,
        start: Posterior | None = None,
    ) -> Posterior:
        """Infer the posterior over the latent values; see `Inference.infer`."""
        return super().infer(K, y, likelihood, weight)


def gaussian_inference(n_rows: int) -> EP:
    """How a Gaussian process of so many rows is inferred: if they are many, in the low rank that `EP()` stands for."""
    return EP() if n_rows > POLICY.size.dense_rows else ConjugateEP()
