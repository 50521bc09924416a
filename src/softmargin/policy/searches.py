"""Searches: starts, guards, structure, samplers."""

import math
from dataclasses import dataclass, field
from types import MappingProxyType

from softmargin.policy._kinds import Logs, Range


@dataclass(frozen=True)
class SearchPolicy:
    """The default searches: starts, guards, and which of two models is kept [constants]."""

    units: Logs = field(default_factory=lambda: MappingProxyType({"length_scale": 0.3, "amplitude": 1.5, "C": 0.3}))
    """Change of a logarithm that typically costs the objective of a default classifier one nat; 1 where not listed
    [evaluation]."""
    rare_class: float = 0.15
    """A class rarer than this gets the wider prior `rare_offset` on the offset [classification]."""
    rare_offset: tuple[float, float] = (0.0, 2.0)
    handicap: float = 1.0
    """Nats of leave-one-out by which the margin model, which was tuned on it, must beat the link model
    [classification]."""
    contested: float = 0.2
    """Share of the weight on inputs that carry both labels above which the link model is kept without comparison:
    leaving a merged row out then leaves rows of the other label at the same input and measures nothing. Its posterior
    is the variational one, since EP's cavities are improper where one label's site outweighs the prior
    [classification]."""
    short_start: Logs = field(default_factory=lambda: MappingProxyType({"length_scale": -1.0}))
    """Second start of a regression in doubt, for functions that vary quickly [regression]."""
    noise_start: Logs = field(
        default_factory=lambda: MappingProxyType({"length_scale": 0.5, "amplitude": math.log(0.5), "sigma": 0.0})
    )
    """Third start of a regression in doubt, where nearly everything is noise [regression]."""
    decisive: float = 5.0
    """Nats by which a regression must beat a constant with noise not to be in doubt, and by which it must then beat the
    end of the search from `noise_start` ("very strong" evidence for Kass & Raftery 1995)."""
    warm_start_within: float = 0.7
    """Largest change of a log hyperparameter for which the last posterior is a good start of the next [evaluation]."""
    ep_tol: float = 1e-4
    """Tolerance of EP that is enough for the evidence and its gradient during a search [evaluation]."""
    ascent_step: float = 0.5
    """Largest change of a log hyperparameter in one step of gradient ascent [ascent]."""
    patience: int = 15
    """Evaluations without a gain on held-out rows after which a search ends."""
    failures: int = 3
    """Evaluations whose inference did not converge, nor what it fell back to, or whose annealing was cut short, after
    which a search ends at its best point if they are more than a tenth of all: the values around it are no function
    that could be climbed (`tests/fuzz`)."""
    fallbacks: int = 25
    """The same of evaluations whose inference fell back, if they are more than half of all (`tests/fuzz`)."""
    blas_threads: int = 1
    """BLAS threads of a fit at every size: with two instead of one, fits of 500 to 25,600 rows took at least 1.6 times
    the wall time and 3.3 times the CPU time, and blocks of more rows are no larger. So a model does not depend on the
    number of cores either [threads]."""
    temperature_sd: float = 0.5
    """Prior standard deviation of the log temperature of coupled pairs: without it separable data drive it to infinity
    [classification]."""


@dataclass(frozen=True)
class StructurePolicy:
    """The search for structure: which other length scales are tried, and when [structure]."""

    alone: tuple[float, ...] = (-2.0, -1.5, -1.0, -0.5, 0.0)
    """ln of a candidate for one length scale, over its input's spread."""
    together: tuple[float, ...] = (-1.5, -1.0, -0.5)
    """ln of a candidate for all length scales, over sqrt(d) times the spread of each input."""
    far: float = 1.0
    """A candidate changes the logarithm of a length scale by at least this much: what is nearer the climb has seen."""
    most: int = 100
    """Candidates of single length scales in one test: `alone` is thinned out above 20 inputs, left out above 100."""
    screen_from: int = 100
    """Rows from which candidates are screened by the estimated gain, which takes a quarter of the time; only the
    leaders' gains are then computed exactly."""
    probes: int = 8
    """Random signs that estimate tr(PDPD), in n^2 operations each, mostly within a factor of two."""
    prior_share: float = 0.5
    """Share of the hyperprior's loss at a candidate that its expected gain must make up for. A climb from there wins
    some of that loss back; of the trials that failed on ordinary data, four in five expected less than half of it."""
    short: float = -1.0
    """Where a doubted classifier climbs again: ln of all length scales over sqrt(d) times the spread."""
    decisive: float = 5.0
    """Nats by which a classifier must beat one probability for all rows not to be doubted."""
    restart_width: float = 2.0
    """Half the range of a logarithm at restarts, in units of its prior's standard deviation."""
    restart_kept: float = 0.5
    """Share of the range between the bounds, around its middle, where the prior is flat."""
    flat_lengths: Range = (-2.5, 1.5)
    """Range of ln of the length scales over sqrt(d) times the spread where the prior is flat: at its ends rows know
    nothing of each other, or are all the same. The bounds are often far wider."""
    flat_deviation: float = 0.5
    """Scale of the deviations from the common length scale where the prior is flat."""


@dataclass(frozen=True)
class SamplingPolicy:
    """Samplers and their diagnostics [sampling]."""

    acceptance: float = 0.8
    """Acceptance rate that step sizes are adapted to: between the 0.65 that is best for long trajectories and what is
    safe where curvatures differ (Hoffman & Gelman 2014, section 4.2)."""
    largest_r_hat: float = 1.01
    """Above, chains have not mixed (Vehtari et al. 2021, section 3)."""
    smallest_ess: int = 400
    """Effective samples below which a warning is given, 100 for each of four chains (Vehtari et al. 2021, sec. 3)."""
