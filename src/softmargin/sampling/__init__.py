"""Sampling from the posterior: Hybrid Monte Carlo, elliptical slice sampling, annealing. One file each."""

from softmargin.sampling.annealing import Annealed, Schedule, anneal
from softmargin.sampling.chains import Draws, Settings, sample
from softmargin.sampling.diagnostics import Diagnostics, can_diagnose, diagnose, warn_if_failed
from softmargin.sampling.gradients import gram_gradient, mean_weights
from softmargin.sampling.reference import Reference, Spectrum
from softmargin.sampling.samplers import SAMPLERS, Leapfrog, Rotation, Sampler, Slice, get_sampler
from softmargin.sampling.targets import ConditionalNormaliser, DataTarget, JointNormaliser, Target

__all__ = [
    "SAMPLERS",
    "Annealed",
    "ConditionalNormaliser",
    "DataTarget",
    "Diagnostics",
    "Draws",
    "JointNormaliser",
    "Leapfrog",
    "Reference",
    "Rotation",
    "Sampler",
    "Schedule",
    "Settings",
    "Slice",
    "Spectrum",
    "Target",
    "anneal",
    "can_diagnose",
    "diagnose",
    "get_sampler",
    "gram_gradient",
    "mean_weights",
    "sample",
    "warn_if_failed",
]
