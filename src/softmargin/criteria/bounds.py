"""Simple estimates and bounds of the leave-one-out error (Gold & Sollich 2003, section 3.1).

Averages are over rows; a row of weight w counts w times and is left out as a whole.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from softmargin.criteria._protocol import CriterionValue, Problem
from softmargin.criteria._svm import SVMCriterion, margins, shares, solution
from softmargin.inference import Posterior


@dataclass(frozen=True, repr=False)
class GACV(SVMCriterion):
    """Wahba's generalised approximate cross-validation of the hinge loss (Gold & Sollich 2003, eq. 13).

    The average of l(y f) + alpha K_ii g, g = 2 if y f < -1 and 1 otherwise (alpha is 0 where y f > 1). It jumps where
    a row crosses y f = -1.

    See Also
    --------
    Span : The paper's other rival of the evidence.
    SupportVectorCount : A cruder bound.

    References
    ----------
    Gold & Sollich (2003), Model selection for support vector machine classification, eq. 13.

    Examples
    --------
    >>> from softmargin import BayesianSVC
    >>> BayesianSVC(criterion=GACV())
    BayesianSVC(criterion=GACV())
    """

    name: ClassVar[str] = "gacv"
    slack_powers: ClassVar[tuple[int, ...]] = (1,)

    def __call__(self, posterior: Posterior, problem: Problem) -> CriterionValue:
        """Return the estimate of the left-out hinge loss."""
        active = solution(posterior, problem)
        margin = margins(active, problem)
        moved = active.alpha * np.diag(problem.K) * np.where(margin < -1, 2, 1)
        return CriterionValue(float(shares(problem) @ (np.maximum(1 - margin, 0) + moved)))


@dataclass(frozen=True, repr=False)
class SupportVectorCount(SVMCriterion):
    """Training error plus the fraction of support vectors: leaving out any other row changes nothing.

    See Also
    --------
    JaakkolaHaussler : A tighter bound.

    References
    ----------
    Gold & Sollich (2003), Model selection for support vector machine classification, section 3.1, below eq. 10.

    Examples
    --------
    >>> from softmargin import BayesianSVC
    >>> BayesianSVC(criterion=SupportVectorCount(), search='random_walk')
    BayesianSVC(criterion=SupportVectorCount(), search='random_walk')
    """

    name: ClassVar[str] = "sv_count"

    def __call__(self, posterior: Posterior, problem: Problem) -> CriterionValue:
        """Return the bound."""
        active = solution(posterior, problem)
        wrong = problem.y * active.mean < 0
        return CriterionValue(float(shares(problem) @ (wrong + (active.alpha > 0))))


@dataclass(frozen=True, repr=False)
class JaakkolaHaussler(SVMCriterion):
    """The bound y (f - f without the row) <= alpha K_ii as an error: the fraction of rows with alpha K_ii >= y f.

    See Also
    --------
    SVMLeaveOneOut : The error itself.

    References
    ----------
    Gold & Sollich (2003), Model selection for support vector machine classification, section 3.1, above eq. 11.

    Examples
    --------
    >>> from softmargin import BayesianSVC
    >>> BayesianSVC(criterion=JaakkolaHaussler(), search='random_walk')
    BayesianSVC(criterion=JaakkolaHaussler(), search='random_walk')
    """

    name: ClassVar[str] = "jaakkola_haussler"

    def __call__(self, posterior: Posterior, problem: Problem) -> CriterionValue:
        """Return the bound."""
        active = solution(posterior, problem)
        worst = margins(active, problem) - active.alpha * np.diag(problem.K)
        return CriterionValue(float(shares(problem) @ (worst <= 0)))
