"""What likelihoods have without saying so: by quadrature for any of them, in closed form for families of them."""

from softmargin.likelihoods.defaults.label import LabelDefaults
from softmargin.likelihoods.defaults.likelihood import LikelihoodDefaults
from softmargin.likelihoods.defaults.noise import NoiseDefaults
from softmargin.likelihoods.defaults.scale_mixture import ScaleMixtureDefaults
from softmargin.likelihoods.defaults.sigmoid import SigmoidDefaults
from softmargin.likelihoods.defaults.slack import ExpectedLoss, SlackDefaults, TiltedLoss

__all__ = [
    "ExpectedLoss",
    "LabelDefaults",
    "LikelihoodDefaults",
    "NoiseDefaults",
    "ScaleMixtureDefaults",
    "SigmoidDefaults",
    "SlackDefaults",
    "TiltedLoss",
]
