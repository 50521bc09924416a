"""The evidence of the normalised model: EP for Q(Y | X), sampling for the normaliser (Sollich 2002, eqs. 24-30).

Their maxima recover the true C on data from the model, where the naive evidence finds it too small. On real data
they do not beat leave-one-out as a way to tune. The sampled normaliser uses the same random numbers at every
hyperparameter, so that the criterion varies smoothly enough for a quasi-Newton search.
"""

from dataclasses import dataclass, field
from typing import Any, ClassVar

from softmargin.criteria._protocol import CriterionDefaults, CriterionValue, Problem
from softmargin.evidence import Schedule, normaliser
from softmargin.inference import EP, Posterior


@dataclass(frozen=True, repr=False)
class ConditionalEvidence(CriterionDefaults):
    """Log evidence of the labels given the inputs, ln Q(Y | X) - ln N(X), in nats.

    Parameters
    ----------
    schedule : Schedule
        How carefully the normaliser is annealed.
    seed : int
        Of the common random numbers.

    See Also
    --------
    JointEvidence : That of inputs and labels.
    Evidence : Without the normaliser.

    References
    ----------
    Sollich (2002), Bayesian methods for support vector machines, eqs. 24, 25 and 28.

    Examples
    --------
    >>> from softmargin import BayesianSVC
    >>> BayesianSVC(criterion=ConditionalEvidence(seed=1))
    BayesianSVC(criterion=ConditionalEvidence(seed=1))
    """

    schedule: Schedule = field(default_factory=lambda: Schedule(8, 32, n_moves=12, sampler="slice"))
    seed: int = 0

    name: ClassVar[str] = "conditional_evidence"
    uses_evidence: ClassVar[bool] = True
    inference: ClassVar[Any] = EP
    kind: ClassVar[str] = "conditional"
    resolution: ClassVar[float] = 0.1
    """Nats, about the normaliser's standard error: a search need not chase smaller gains."""

    def __call__(self, posterior: Posterior, problem: Problem) -> CriterionValue:
        """Return the normalised log evidence and its gradient."""
        norm = normaliser(
            problem.K,
            problem.likelihood,
            self.kind,
            weight=problem.weight,
            schedule=self.schedule,
            random_state=self.seed,
        )
        value = posterior.log_evidence - norm.value
        if posterior.d_gram is None or posterior.d_params is None:
            return CriterionValue(value, is_reliable=norm.is_reliable)
        d_gram, d_params = posterior.d_gram - norm.d_gram, posterior.d_params - norm.d_params
        return CriterionValue(value, d_gram, d_params, norm.is_reliable)


@dataclass(frozen=True, repr=False)
class JointEvidence(ConditionalEvidence):
    """Log evidence of inputs and labels, ln Q(Y | X) - ln Nhat, with the empirical distribution of inputs.

    See Also
    --------
    ConditionalEvidence : That of the labels given the inputs.

    References
    ----------
    Sollich (2002), Bayesian methods for support vector machines, eqs. 19, 29 and 30.

    Examples
    --------
    >>> from softmargin import BayesianSVC
    >>> BayesianSVC(criterion=JointEvidence())
    BayesianSVC(criterion=JointEvidence())
    """

    name: ClassVar[str] = "joint_evidence"
    kind: ClassVar[str] = "joint"
