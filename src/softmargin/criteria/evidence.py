"""The evidence as a criterion: as the chosen inference estimates it, or with the normalised class probability."""

from dataclasses import dataclass
from typing import ClassVar

from softmargin.criteria._protocol import CriterionValue, Problem
from softmargin.inference import Posterior
from softmargin.likelihoods import Likelihood


@dataclass(frozen=True)
class Evidence:
    """Log evidence in nats, as the posterior's inference estimates it (MAP, Laplace, EP, variational, sampling)."""

    name: ClassVar[str] = "evidence"
    greater_is_better: ClassVar[bool] = True
    smooth: ClassVar[bool] = True
    inference: ClassVar[str | None] = None

    def likelihood(self, likelihood: Likelihood) -> Likelihood:
        """Return the model's own likelihood."""
        return likelihood

    def __call__(self, posterior: Posterior, problem: Problem) -> CriterionValue:
        """Return the log evidence and its gradient."""
        return CriterionValue(posterior.log_evidence, posterior.d_gram, posterior.d_params)


@dataclass(frozen=True)
class LinkEvidence(Evidence):
    """EP evidence of the model whose likelihood is the hinge's *normalised* class probability.

    The naive evidence of Sollich 2002 uses a likelihood that does not sum to one over the labels and so
    under-estimates C; this one does sum to one, at the price of a likelihood that is not log-concave.
    """

    name: ClassVar[str] = "link_evidence"
    inference: ClassVar[str | None] = "ep"

    def likelihood(self, likelihood: Likelihood) -> Likelihood:
        """Return the normalised likelihood."""
        return likelihood.normalised()


@dataclass(frozen=True)
class LaplaceEvidence(Evidence):
    """Laplace's approximation to the evidence, whatever the model's inference (Gold & Sollich 2003, eqs. 15 and 17)."""

    name: ClassVar[str] = "laplace_evidence"
    inference: ClassVar[str | None] = "laplace"
