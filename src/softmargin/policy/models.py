"""Kernels, likelihoods and regression targets: starts and bounds."""

import math
from dataclasses import dataclass

from softmargin.policy._kinds import Range


@dataclass(frozen=True)
class KernelPolicy:
    """Starts and bounds of named kernels, in units of each input's spread times sqrt(number of inputs) [constants]."""

    amplitude: float = math.exp(2.0)
    """Prior variance of the latent function of a classifier at the start [five_sets]."""
    amplitude_bounds: Range = (1e-3, 1e5)
    offset: float = math.exp(-1.5)
    """Prior variance of the offset at the start [five_sets]."""
    offset_bounds: Range = (1e-4, 1e4)
    length_factor: float = math.exp(0.5)
    """Start of the length scales: typical rows then have correlation exp(-1/e) [five_sets]."""
    length_bounds: Range = (1e-2, 1e4)
    """Below, rows do not correlate; above, the input is irrelevant."""
    degree: int = 3
    """Of the kernel "poly"."""


@dataclass(frozen=True)
class LikelihoodPolicy:
    """Bounds of the likelihoods' parameters, of scaled targets in regression [constants]."""

    C: Range = (1e-2, 1e3)
    sigma: Range = (1e-4, 1e2)
    shape: Range = (1e-2, 30.0)
    """Of epsilon C: from nearly Laplace to nearly uniform noise."""
    epsilon: Range = (1e-6, 1e2)
    df: Range = (2.1, 1e2)
    """Degrees of freedom of Student's t: from where its variance is finite to where it is Gaussian in effect."""
    start_shape: tuple[float, float] = (0.4, 2.2)
    """(sigma, epsilon C) at the start of a regression [regression]."""


@dataclass(frozen=True)
class TargetPolicy:
    """Regression targets: their scaling, gross errors, the start of their kernel [constants]."""

    amplitude: float = 1.65
    """Prior variance of the function at the start, in units of the target's robust variance [regression]."""
    length_factor: float = 1.0
    """Start of the length scales, in units of sqrt(d) times the spread [regression]."""
    nugget: float = 0.08
    nugget_bounds: Range = (1e-8, 1e2)
    normal_iqr: float = 1.349
    """Interquartile range of a normal variable in units of its standard deviation."""
    gross: float = 20.0
    """Robust standard deviations from the median beyond which a target may be a gross error [outlier] ..."""
    gross_share: float = 0.05
    """... unless more than this share of the targets are [outlier]."""
    gross_rate: float = 0.01
    """Prior share of gross errors among the rows [outlier]."""
    many_inputs: int = 8
    """From so many inputs on a stationary kernel can imitate noise."""
    unknown: float = 0.5
    """Share of the prior variance that all other rows leave at a row, above which the function is noise in effect."""
