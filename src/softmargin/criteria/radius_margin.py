"""The radius-margin bound R^2 sum(alpha) / n (Vapnik; Gold & Sollich 2003, eq. 9)."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from softmargin.criteria._protocol import CriterionValue, Problem
from softmargin.criteria._svm import SVMCriterion, shares, solution
from softmargin.inference import Posterior
from softmargin.svm import smallest_ball


@dataclass(frozen=True, repr=False)
class RadiusMargin(SVMCriterion):
    """R^2 sum(alpha) / n with R the radius of the smallest ball around the rows in feature space.

    sum(alpha) is the inverse squared margin when no slack is allowed; the squared hinge is that case with the kernel
    K + D, D = 1/C_i, and R is then that kernel's radius. For the hinge it is the formula without its theorem.

    See Also
    --------
    Span : A sharper estimate.

    References
    ----------
    Gold & Sollich (2003), Model selection for support vector machine classification, eq. 9.

    Examples
    --------
    >>> from softmargin import BayesianSVC
    >>> BayesianSVC(criterion=RadiusMargin())
    BayesianSVC(criterion=RadiusMargin())
    """

    name: ClassVar[str] = "radius_margin"
    smooth: ClassVar[bool] = True

    def __call__(self, posterior: Posterior, problem: Problem) -> CriterionValue:
        """Return the bound and its gradient."""
        active = solution(posterior, problem)
        ridge = active.problem.ridge
        kept = np.flatnonzero(shares(problem) > 0)
        ball = smallest_ball(problem.K[np.ix_(kept, kept)] + np.diag(ridge[kept]))
        total, n = float(active.alpha.sum()), len(problem.y) if problem.weight is None else problem.weight.sum()
        mu = np.zeros_like(ridge)
        mu[kept] = ball.mu
        # Envelope: dR^2 = sum_i mu_i dK_ii - mu'dK mu
        d_radius2 = np.diag(mu) - np.outer(mu, mu)
        through, d_params = active.pull_back(np.sign(active.beta))
        by_C = -np.sum((mu - mu**2) * ridge) / active.C
        return CriterionValue(
            ball.radius2 * total / n,
            (total * d_radius2 + ball.radius2 * through) / n,
            np.array([(total * by_C + ball.radius2 * d_params[0]) / n]),
        )
