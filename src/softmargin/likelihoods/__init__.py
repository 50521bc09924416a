"""Likelihoods p(y | f), one file each. Open one to read its formulas; see `_protocol.py` for the contract.

The imports below are the registry: a likelihood added here is found by `loss=` and walked by the tests.
"""

from typing import Any

from softmargin.likelihoods._protocol import Derivatives as Derivatives
from softmargin.likelihoods._protocol import ExpectedLogProb as ExpectedLogProb
from softmargin.likelihoods._protocol import Kink as Kink
from softmargin.likelihoods._protocol import Likelihood as Likelihood
from softmargin.likelihoods._protocol import MapCurvature as MapCurvature
from softmargin.likelihoods._protocol import TiltedMoments as TiltedMoments
from softmargin.likelihoods._protocol import TiltedSlopes as TiltedSlopes
from softmargin.likelihoods.defaults import LikelihoodDefaults as LikelihoodDefaults
from softmargin.likelihoods.epsilon_insensitive import EpsilonInsensitive as EpsilonInsensitive
from softmargin.likelihoods.gaussian import Gaussian as Gaussian
from softmargin.likelihoods.hinge import Hinge as Hinge
from softmargin.likelihoods.integrals.gauss import LOG_SQRT_2PI as LOG_SQRT_2PI
from softmargin.likelihoods.integrals.ratios import ratios as ratios
from softmargin.likelihoods.integrals.superposition import Superposition as Superposition
from softmargin.likelihoods.link import Link as Link
from softmargin.likelihoods.link import SquaredLink as SquaredLink
from softmargin.likelihoods.logistic import Logistic as Logistic
from softmargin.likelihoods.noise_mixture import NoiseMixture as NoiseMixture
from softmargin.likelihoods.noise_mixture import SampledMixture as SampledMixture
from softmargin.likelihoods.probit import Probit as Probit
from softmargin.likelihoods.squared_hinge import SquaredHinge as SquaredHinge
from softmargin.likelihoods.student_t import StudentT as StudentT

LIKELIHOODS: dict[str, Any] = {
    cls.name: cls
    for cls in tuple(vars().values())
    if isinstance(cls, type) and issubclass(cls, LikelihoodDefaults) and cls is not LikelihoodDefaults
}
"""The registry: name -> class, of every likelihood imported above."""


def get_likelihood(name: str) -> Any:
    """Return the likelihood class registered under a name."""
    if name not in LIKELIHOODS:
        raise ValueError(f"unknown loss {name!r}; choose one of {sorted(LIKELIHOODS)}")
    return LIKELIHOODS[name]
