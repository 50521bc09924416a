"""The evidence as a criterion: as the chosen inference estimates it, or with the normalised class probability."""

from dataclasses import dataclass
from typing import Any, ClassVar

from softmargin.criteria._protocol import CriterionDefaults, CriterionValue, Problem
from softmargin.inference import EP, Laplace, Posterior
from softmargin.likelihoods import Likelihood


@dataclass(frozen=True, repr=False)
class Evidence(CriterionDefaults):
    """Log evidence in nats, as the posterior's inference estimates it (MAP, Laplace, EP, variational, sampling)."""

    name: ClassVar[str] = "evidence"
    uses_evidence: ClassVar[bool] = True
    for_regression: ClassVar[bool] = True
    through_inducing_points: ClassVar[bool] = True

    def __call__(self, posterior: Posterior, problem: Problem) -> CriterionValue:
        """Return the log evidence and its gradient."""
        return CriterionValue(posterior.log_evidence, posterior.d_gram, posterior.d_params)


@dataclass(frozen=True, repr=False)
class LinkEvidence(Evidence):
    """EP evidence of the model whose likelihood is the hinge's *normalised* class probability.

    The naive evidence of Sollich 2002 uses a likelihood that does not sum to one over the labels and so
    under-estimates C; this one does sum to one, at the price of a likelihood that is not log-concave.
    """

    name: ClassVar[str] = "link_evidence"
    for_regression: ClassVar[bool] = False
    inference: ClassVar[Any] = EP

    def likelihood(self, likelihood: Likelihood) -> Likelihood:
        """Return the normalised likelihood."""
        return likelihood.normalised()


@dataclass(frozen=True, repr=False)
class LaplaceEvidence(Evidence):
    """Laplace's approximation to the evidence, whatever the model's inference (Gold & Sollich 2003, eqs. 15 and 17)."""

    name: ClassVar[str] = "laplace_evidence"
    for_regression: ClassVar[bool] = False
    through_inducing_points: ClassVar[bool] = False
    inference: ClassVar[Any] = Laplace
