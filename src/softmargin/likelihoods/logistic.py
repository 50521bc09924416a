"""The logistic likelihood sigmoid(C y f): Gaussian-process classification, for comparison (Sollich 2002, figure 8)."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from softmargin.likelihoods._protocol import Array
from softmargin.likelihoods._sigmoid_quadrature import LOGISTIC
from softmargin.likelihoods.link import Link


@dataclass(frozen=True)
class Logistic(Link):
    """Logistic likelihood: ln-odds C f. Already normalised over y.

    Parameters
    ----------
    C : float
        Slope of the log-odds.

    Examples
    --------
    >>> import numpy as np
    >>> Logistic(C=2.0).prob(1.0, np.array([0.5])).round(4)
    array([0.7311])
    """

    name: ClassVar[str] = "logistic"
    _kind: ClassVar[int] = LOGISTIC

    def odds(self, z: Array) -> tuple[Array, Array, Array]:
        """Return r(z) = z and its first two derivatives."""
        return z, np.ones_like(z), np.zeros_like(z)
