"""The evidence as a criterion: as the chosen inference estimates it, or with the normalised class probability."""

from dataclasses import dataclass
from typing import Any, ClassVar

from softmargin.criteria._protocol import CriterionDefaults, CriterionValue, Problem
from softmargin.inference import EP, Laplace, Posterior
from softmargin.likelihoods import Likelihood


@dataclass(frozen=True, repr=False)
class Evidence(CriterionDefaults):
    """Log evidence in nats, as the posterior's inference estimates it (MAP, Laplace, EP, variational, sampling).

    See Also
    --------
    LinkEvidence : That of a normalised likelihood.
    ConditionalEvidence : That of the labels given the inputs.
    LaplaceEvidence : Laplace's approximation.

    References
    ----------
    Sollich (2002), Bayesian methods for support vector machines, eqs. 21 and 27; Gold & Sollich (2003), Model selection
    for support vector machine classification, eq. 14.

    Examples
    --------
    >>> from softmargin import BayesianSVC
    >>> BayesianSVC(criterion=Evidence())
    BayesianSVC(criterion=Evidence())
    """

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

    See Also
    --------
    Evidence : That of the hinge itself.

    References
    ----------
    Sollich (2002), Bayesian methods for support vector machines, eq. 21 with the class probability of eqs. 10 and 11 in
    the place of eq. 4.

    Examples
    --------
    >>> from softmargin import BayesianSVC
    >>> BayesianSVC(criterion=LinkEvidence())
    BayesianSVC(criterion=LinkEvidence())
    """

    name: ClassVar[str] = "link_evidence"
    for_regression: ClassVar[bool] = False
    inference: ClassVar[Any] = EP

    def likelihood(self, likelihood: Likelihood) -> Likelihood:
        """Return the normalised likelihood."""
        return likelihood.normalised()


@dataclass(frozen=True, repr=False)
class LaplaceEvidence(Evidence):
    """Laplace's approximation to the evidence, whatever the model's inference (Gold & Sollich 2003, eqs. 15 and 17).

    See Also
    --------
    Evidence : By the model's own inference.

    References
    ----------
    Gold & Sollich (2003), Model selection for support vector machine classification, eqs. 15 and 17.

    Examples
    --------
    >>> from softmargin import BayesianSVC
    >>> BayesianSVC(criterion=LaplaceEvidence())
    BayesianSVC(criterion=LaplaceEvidence())
    """

    name: ClassVar[str] = "laplace_evidence"
    for_regression: ClassVar[bool] = False
    through_inducing_points: ClassVar[bool] = False
    inference: ClassVar[Any] = Laplace
