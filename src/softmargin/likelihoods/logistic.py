"""The logistic likelihood sigmoid(C y f): Gaussian-process classification, for comparison (Sollich 2002, figure 8)."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import expit

from softmargin.likelihoods._protocol import Array, MapCurvature
from softmargin.likelihoods.defaults import SigmoidDefaults


@dataclass(frozen=True)
class Logistic(SigmoidDefaults):
    """Logistic likelihood: ln-odds C f. Already normalised over y.

    Parameters
    ----------
    C : float
        Slope of the log-odds.

    See Also
    --------
    Probit : The same with a Gaussian's tails.
    Link : The class probability of the hinge.

    References
    ----------
    Sollich (2002), Bayesian methods for support vector machines, last paragraph of section 2, figure 8 and note 5: eq.
    4 with the loss ln(1 + exp(-C z))/C and kappa = 1.

    Examples
    --------
    >>> import numpy as np
    >>> Logistic(C=2.0).prob(1.0, np.array([0.5])).round(4)
    array([0.7311])
    """

    name: ClassVar[str] = "logistic"

    def map_curvature(self, y: Array, f: Array, weight: Array | None = None) -> MapCurvature:
        """W = w C^2 p (1 - p), p = sigmoid(C f), and its derivatives; the slope is C (y01 - p) w."""
        w = np.ones_like(y) if weight is None else weight
        p = expit(self.C * f)
        W = w * self.C**2 * p * (1 - p)
        d_C = 2 * W / self.C + f * W * (1 - 2 * p)
        slope_d_C = w * ((y > 0) - p) - f * W / self.C
        return MapCurvature(W, self.C * W * (1 - 2 * p), d_C[None], slope_d_C[None])
