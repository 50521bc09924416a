"""What the criteria of the support vector machine share: its solution by rows, and the losses each is defined for."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from softmargin._linalg import Array
from softmargin.criteria._protocol import CriterionDefaults, Problem
from softmargin.inference import MAP, Posterior, dual_problem
from softmargin.likelihoods import LIKELIHOODS, Likelihood
from softmargin.svm import ActiveSet, active_set


@dataclass(frozen=True, repr=False)
class SVMCriterion(CriterionDefaults):
    """A criterion that is a function of the SVM's solution alone, and so of C K alone up to its scale."""

    name: ClassVar[str]
    greater_is_better: ClassVar[bool] = False
    smooth: ClassVar[bool] = False
    inference: ClassVar[Any] = MAP
    slack_powers: ClassVar[tuple[int, ...]] = (1, 2)
    """The powers p of the loss max(1 - y f, 0)^p that it is defined for."""

    def likelihood(self, likelihood: Likelihood) -> Likelihood:
        """Return the model's own likelihood, if the criterion is defined for it."""
        if likelihood.slack_power not in self.slack_powers:
            names = " or ".join(repr(name) for name in self.losses())
            raise ValueError(f"criterion {self.name!r} is defined for loss {names}; got {likelihood.name!r}")
        return likelihood

    @classmethod
    def losses(cls) -> list[str]:
        """Return the names of the registered likelihoods that it is defined for."""
        return [name for name, loss in LIKELIHOODS.items() if loss.slack_power in cls.slack_powers]


def solution(posterior: Posterior, problem: Problem) -> ActiveSet:
    """Return the SVM's exact solution and active set."""
    likelihood: Any = problem.likelihood
    box = dual_problem(likelihood, problem.y, problem.weight)
    return active_set(problem.K, box, float(likelihood.C), posterior.beta, posterior.mean)


def margins(active: ActiveSet, problem: Problem) -> Array:
    """y f at the training rows, shape (n,); rows on the margin by their alpha have exactly 1 (hinge)."""
    margin = problem.y * active.mean
    # On the free rows y f = 1 - d alpha holds exactly; computed as K b it would carry rounding.
    margin[active.free] = 1 - (active.problem.ridge * active.alpha)[active.free]
    return margin


def shares(problem: Problem) -> Array:
    """Weight of each row in an average over rows, shape (n,)."""
    if problem.weight is None:
        return np.full(len(problem.y), 1 / len(problem.y))
    return problem.weight / problem.weight.sum()
