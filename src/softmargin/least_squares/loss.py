"""The least-squares machine as the loss of a classifier."""

from dataclasses import dataclass
from typing import ClassVar

from softmargin._parts import Part
from softmargin.policy import POLICY, LeastSquaresPolicy


@dataclass(frozen=True, repr=False)
class LeastSquares(Part):
    """Squared error on one-hot targets: choose the least-squares machine alone, for two classes or more.

    Parameters
    ----------
    policy : LeastSquaresPolicy
        How it is learnt.

    Examples
    --------
    >>> from softmargin import BayesianSVC
    >>> BayesianSVC(loss=LeastSquares())
    BayesianSVC(loss=LeastSquares())
    """

    policy: LeastSquaresPolicy = POLICY.least_squares

    name: ClassVar[str] = "least_squares"
    is_classifier: ClassVar[bool] = True
