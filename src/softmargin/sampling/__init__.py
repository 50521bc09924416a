"""Sampling from the posterior: Hybrid Monte Carlo, elliptical slice sampling, annealing. One file each."""

from softmargin.sampling.annealing import Annealed, Schedule, anneal
from softmargin.sampling.chains import SAMPLERS, Draws, Settings, sample
from softmargin.sampling.diagnostics import Diagnostics, can_diagnose, diagnose, warn_if_failed
from softmargin.sampling.gradients import gram_gradient, mean_weights
from softmargin.sampling.reference import Reference, Spectrum
from softmargin.sampling.targets import ConditionalNormaliser, DataTarget, JointNormaliser, Target

__all__ = [
    "SAMPLERS",
    "Annealed",
    "ConditionalNormaliser",
    "DataTarget",
    "Diagnostics",
    "Draws",
    "JointNormaliser",
    "Reference",
    "Schedule",
    "Settings",
    "Spectrum",
    "Target",
    "anneal",
    "can_diagnose",
    "diagnose",
    "gram_gradient",
    "mean_weights",
    "sample",
    "warn_if_failed",
]
