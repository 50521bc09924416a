"""Every tuned constant of the defaults, in one record; each names the benchmark or the paper that set it.

Constants of an algorithm's own arithmetic (tolerances of rounding, block sizes) stay beside the algorithm; here is what
somebody chose by looking at data. Commands are ``python -m benchmarks NAME``; docs/decisions/ has the reasoning.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

Range = tuple[float, float]
"""(lower, upper)."""
Logs = Mapping[str, float]
"""Kind of a coordinate -> a logarithm."""


@dataclass(frozen=True)
class KernelPolicy:
    """Starts and bounds of the named kernels, in units of each input's spread times sqrt(number of inputs)."""

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
    """Bounds of the likelihoods' parameters, of scaled targets in regression."""

    C: Range = (1e-2, 1e3)
    sigma: Range = (1e-4, 1e2)
    shape: Range = (1e-2, 30.0)
    """Of epsilon C: from nearly Laplace to nearly uniform noise."""
    epsilon: Range = (1e-6, 1e2)
    start_shape: tuple[float, float] = (0.4, 2.2)
    """(sigma, epsilon C) at the start of a regression [regression]."""


@dataclass(frozen=True)
class SearchPolicy:
    """The default searches: starts, guards, and which of two models is kept."""

    small_rows: int = 100
    """Up to so many rows the leave-one-out stage has a second start: its optimum can have two basins [five_sets]."""
    second_start: Logs = field(
        default_factory=lambda: MappingProxyType({"length_scale": -0.4, "amplitude": 1.0, "offset": -1.0, "C": 0.5})
    )
    """ln of that start; the length scale relative to sqrt(d) times the spread [five_sets]."""
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
    patience: int = 15
    """Evaluations without a gain on held-out rows after which a search ends."""
    one_thread_rows: int = 1000
    """Rows up to which a fit uses one BLAS thread: small matrices gain nothing from more [evaluation]."""
    temperature_sd: float = 0.5
    """Prior standard deviation of the log temperature of coupled pairs: without it separable data drive it to infinity
    [classification]."""


@dataclass(frozen=True)
class TargetPolicy:
    """Regression targets: their scaling, gross errors, the start of their kernel."""

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
    """... unless more than this share of the targets are."""
    gross_rate: float = 0.01
    """Prior share of gross errors among the rows."""
    many_inputs: int = 8
    """From so many inputs on a stationary kernel can imitate noise."""
    unknown: float = 0.5
    """Share of the prior variance that all other rows leave at a row, above which the function is noise in effect."""


@dataclass(frozen=True)
class SizePolicy:
    """What changes with the number of rows."""

    dense_rows: int = 500
    """Rows up to which the default inference works with the Gram matrix of all rows; above, EP has a prior of low rank
    [low_rank]."""
    svm_rows: int = 5000
    """Rows up to which the support vector machine itself is solved beside a posterior of low rank."""
    sparse_above: int = 20_000
    """Rows above which the default inference works through inducing points [scale]."""
    inducing: int = 512
    """Inducing points, or a third of the rows if these are fewer [magic]."""
    fewest_inducing: int = 20
    sample: int = 20_000
    """Rows held at once: for spreads, inducing points, hyperparameters and the posterior's start [scale]."""
    enough_of_a_class: int = 50
    """A class with fewer rows in the sample gets more from all rows, if it has them."""
    left_out: int = 2000
    """Rows whose leave-one-out predictions set the temperature and the reported loss."""
    subset: int = 300
    """Rows of the first search [magic]."""
    subset_share: float = 0.1
    """Share of the subset that each class or sign has at least, if it has so many rows."""
    refine_rows: int = 8000
    refine_inducing: int = 256
    refine_iterations: int = 12
    """Rows, inducing points and iterations of the second search [magic]."""
    refine_tol: float = 0.1
    """Nats: the second search ends when an iteration gains less."""
    refine_float32_above: int = 2000
    float32_above: int = 20_000
    """Rows above which blocks are in single precision [scale]."""
    gap: float = 1e-4
    """Distance from the best posterior, in nats per inducing point, that ends an inference: a mean within 0.02 sd."""
    rough_gap: float = 1e-2
    """The same for posteriors of samples, which sampling has moved by more."""
    ladder: float = 0.05
    """A sample that is a smaller share of the rows is followed by a larger one [million]."""
    max_passes: int = 60


@dataclass(frozen=True)
class StackPolicy:
    """The stack of machines that is the default."""

    skew: float = 1.0
    """A column whose standardised third moment is as large in size gets warped members [classification]."""
    few_values: int = 10
    """A column with no more distinct values is not warped."""
    pseudo_count: float = 1.0
    """Of each member in the weights: without it, small samples put all weight on one member [classification]."""
    max_steps: int = 400
    tol: float = 1e-4
    """Of the weights."""
    target_power: Range = (0.0, 2.0)
    """Of the warp of a regression target, from logarithms of its upper to those of its lower tail; 1 is none. Beyond,
    the mean of the skewed prediction runs away where the target peaks [regression]."""
    target_gain: float = 2.0
    """Nats by which the warped target must be closer to normal [regression]."""
    target_reach: float = 1.0
    """Standard deviations of y beyond the training targets after which the warp is a straight line."""
    later_iterations: int = 8
    later_tol: float = 0.1
    """Iterations and tolerance (nats) of members of a regression that start where another ended [regression]."""


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
class Rung:
    """One climb of the first stage in a prior of low rank."""

    rows: int
    rank: int
    max_iter: int
    gain: float
    """Nats an iteration must gain for the climb to go on."""


@dataclass(frozen=True)
class LowRankPolicy:
    """Sizes and tolerances of a fit in a prior of low rank [low_rank]."""

    rungs: tuple[Rung, ...] = (Rung(1000, 128, 30, 0.1), Rung(2000, 256, 12, 0.05))
    loo_max_iter: int = 20
    loo_gain: float = 0.05
    final_rank: int = 768
    evidence_tol: float = 1e-3
    loo_tol: float = 1e-4
    final_tol: float = 1e-3
    accepted_residual: float = 0.05
    """Evaluations whose moments disagree by more are refused: the search turns back."""
    float32_above: int = 20_000
    """Rows above which the final pass is in single precision."""


@dataclass(frozen=True)
class NoisePolicy:
    """A regression's noise that varies with x: the logarithm of its scale is a Gaussian process."""

    gain: float = 6.0
    """Nats of leave-one-out that noise="auto" must gain in total [noise] ..."""
    promise: float = 3.0
    """... and that its first scale must promise before any machine is fitted again [noise]."""
    rounds: int = 3
    """Times that scale and machine are learnt in turn [noise]."""
    amplitude: tuple[float, float] = (-2.0, 1.0)
    length_scale: tuple[float, float] = (0.5, 1.0)
    shrinkage: tuple[float, float] = (1.0, 4.0)
    """Hyperprior of ln s(x); see `HyperPrior` [noise]."""
    widen: float = 1.5
    """Factor on the standard deviation of ln s(x), whose hyperparameters and function are plugged in [noise]."""
    least_variance: float = math.pi**2 / 8
    """Of ln|e|: that of normal noise."""
    lowest: float = 4.0
    """The smallest ln|e| below the median."""
    largest_step: float = 5.0
    """In ln s of one row."""
    reach: float = 3.0
    """Largest size of ln s(x)."""
    max_iter: int = 40
    tol: float = 1e-2
    """Of the search for the hyperparameters of ln s(x)."""


@dataclass(frozen=True)
class Policy:
    """The defaults of both estimators."""

    kernel: KernelPolicy = KernelPolicy()
    likelihood: LikelihoodPolicy = LikelihoodPolicy()
    search: SearchPolicy = SearchPolicy()
    target: TargetPolicy = TargetPolicy()
    size: SizePolicy = SizePolicy()
    stack: StackPolicy = StackPolicy()
    structure: StructurePolicy = StructurePolicy()
    low_rank: LowRankPolicy = LowRankPolicy()
    noise: NoisePolicy = NoisePolicy()


POLICY = Policy()
"""The record in force."""
