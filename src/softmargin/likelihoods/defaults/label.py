"""Likelihoods p(y f) of class labels y = -1, +1: what follows from their symmetry."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from softmargin.likelihoods._protocol import Array, TiltedMoments
from softmargin.likelihoods.defaults.likelihood import LikelihoodDefaults


@dataclass(frozen=True)
class LabelDefaults(LikelihoodDefaults):
    """Base class.

    Parameters
    ----------
    C : float
        Inverse noise level.
    """

    C: float = 1.0

    param_names: ClassVar[tuple[str, ...]] = ("C",)
    is_classifier: ClassVar[bool] = True

    def tilted_moments(self, y: Array, m: Array, v: Array, weight: Array | None = None) -> TiltedMoments:
        """Integrate p(y f)^w against N(f; m, v), by quadrature over y f: mirrored rows have mirrored moments."""
        z = super().tilted_moments(np.ones_like(m), y * m, v, weight)
        return TiltedMoments(z.log_z, y * z.d_mean, z.d2_mean, z.d_params)
