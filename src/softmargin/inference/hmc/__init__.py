"""Sampling from the posterior: Hybrid Monte Carlo, elliptical slice sampling, annealing. One file each."""

from softmargin.inference.hmc._hmc import HMC
from softmargin.inference.hmc.annealing import Annealed, Schedule, anneal
from softmargin.inference.hmc.diagnostics import Diagnostics, diagnose
from softmargin.inference.hmc.gradients import gram_gradient, mean_weights
from softmargin.inference.hmc.posterior import SampledPosterior
from softmargin.inference.hmc.reference import Reference, Spectrum
from softmargin.inference.hmc.sampling import SAMPLERS, Draws, Settings, sample
from softmargin.inference.hmc.targets import ConditionalNormaliser, DataTarget, JointNormaliser, Target

__all__ = [
    "HMC",
    "SAMPLERS",
    "Annealed",
    "ConditionalNormaliser",
    "DataTarget",
    "Diagnostics",
    "Draws",
    "JointNormaliser",
    "Reference",
    "SampledPosterior",
    "Schedule",
    "Settings",
    "Spectrum",
    "Target",
    "anneal",
    "diagnose",
    "gram_gradient",
    "mean_weights",
    "sample",
]
