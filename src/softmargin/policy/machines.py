"""The machines beside the support vector machine, and how they are combined."""

import math
from dataclasses import dataclass

from softmargin.policy._kinds import Range


@dataclass(frozen=True)
class StackPolicy:
    """The stack of machines that is the default [constants]."""

    skew: float = 1.0
    """A column whose standardised third moment is as large in size gets warped members [classification] ..."""
    kurtosis: float = 7.0
    """... and so does one whose standardised fourth moment is as large: a normal column has 3, one entry in a hundred
    that is 15 standard deviations off makes about 90 [gross_inputs]."""
    additive_rows: int = 500
    """Rows up to which a classifier's stack has a least-squares machine of the ANOVA kernel: what it gains shrinks with
    the number of rows [classification]."""
    rough_kernel: str = "matern52"
    rough_above: int = 500
    """Rows above which a classifier's hinge machine has that kernel: many rows show more detail than an RBF expects
    [low_rank]."""
    few_values: int = 10
    """A column with no more distinct values is not warped."""
    slope_window: float = 0.1
    """Normal scores to either side over which the slope of a warp is averaged, for `importance_`."""
    pseudo_count: float = 10.0
    """Of each member in the weights of a classifier's stack: members were tuned on the leave-one-out that weighs them,
    and one that fitted it too well must not take all weight [classification]."""
    pseudo_rows: float = 850.0
    """With more rows leave-one-out can be trusted: pseudo-counts fall as 1/n^2 from here on [low_rank]."""
    target_pseudo_count: float = 1.0
    """The same of a regression, whose members differ in their noise and were tuned by their evidence [regression]."""
    max_steps: int = 100
    tol: float = 1e-7
    """Of the weights: a smaller step ends Newton's method."""
    relaxed: float = 2500.0
    """Times `tol` that an iteration of the hinge machine's search must gain (.25 nat by default): the mixture loses
    nothing by it and a third of the time is saved [classification]. A regression's evidence has shoulders on which
    such a search would stop: see `target_relaxed`."""
    target_relaxed: float = 10.0
    """Times `tol` that an iteration of a regression's tube machine must gain in a stack (.001 nat by default), which EP
    with the tolerance below resolves; thirty times as much stops on a shoulder and lost .15 of log density on one
    development split [regression] ..."""
    target_ep_tol: float = 1e-2
    """... and the tolerance of EP in the searches of a regression's stack: two of five sweeps less at the same log
    density. Posteriors that predict have all digits [regression]."""
    target_power: Range = (0.0, 2.0)
    """Of the warp of a regression target, from logarithms of its upper to those of its lower tail; 1 is none. Beyond,
    the mean of the skewed prediction grows without bound where the target peaks [regression]."""
    target_gain: float = 2.0
    """Nats by which the warped target must be closer to normal [regression]."""
    target_reach: float = 1.0
    """Standard deviations of y beyond the training targets after which the warp is a straight line."""
    target_widening: float = 0.25
    """Most that the hyperparameters add to the variance of a regression's predictions [regression]."""
    later_iterations: int = 8
    later_tol: float = 0.1
    """Iterations and tolerance (nats) of members of a regression that start where another ended [regression]."""


@dataclass(frozen=True)
class SoftmaxPolicy:
    """The softmax that reads the outputs of the least-squares machine [least_squares].

    Parameters
    ----------
    matrix_penalty, penalty_per_class : float
        lambda = max(matrix_penalty, penalty_per_class K): with K inputs to every logit, the prior standard deviation of
        a logit then does not grow with K.
    offset_penalty : float
        lambda_c.
    max_rows : int
        Learn from at most so many rows, evenly spaced.
    """

    matrix_penalty: float = 10.0
    penalty_per_class: float = 1.5
    offset_penalty: float = 1.0
    max_rows: int = 20_000


@dataclass(frozen=True)
class LeastSquaresPolicy:
    """How the least-squares machine is learnt [least_squares].

    Parameters
    ----------
    smoothness : float
        nu of the Matern kernel.
    interaction : float or None
        None: the kernel is Matern's; else it is the ANOVA kernel with this weight of interactions, over the number of
        inputs.
    crowding : float
        The unit of a length scale is the input's spread times the number of inputs to this power.
    noise, slope, offset, amplitude : (mean, sd)
        Normal priors on logarithms: of s2 in units of the mean of k(x, x) at the start, of the softmax's slope b, of an
        offset's and of an amplitude's variance.
    length_scale : (mean, sd)
        Prior on the mean over inputs of ln(l_a / unit_a).
    shrinkage : (scale, degrees of freedom)
        Multivariate t on the deviations of the length scales' logarithms from that mean.
    length_start, short_start : float
        Where ln(l_a / unit_a) starts, and where a second climb starts if there are more rows than
        `search_rows`: a fast function can be invisible from long length scales.
    softmax : SoftmaxPolicy
        How the softmax matrix and offset are learnt.
    search_rows, search_iter : int
        The kernel is learnt from at most so many rows, in at most so many iterations.
    refine_rows, refine_rank, refine_iter : int
        With more rows it is refined on at most `refine_rows` of them in a prior of this rank; all iterations are made
        from twice `search_rows` on.
    dense_rows : int
        Up to so many rows the final regression is exact; above, it has the rank below.
    base_rank, rank_growth, max_rank : int, float, int
        The rank for n rows is base_rank (n / dense_rows)^rank_growth, at most max_rank ...
    least_rank, rank_gain : int, float
        ... but at most `least_rank`, or more in proportion, where twice the rank of the refinement gains less than
        `rank_gain` nats for each row of a sample [sizes].
    float32_above : int
        Above so many rows the blocks of the final regression are in single precision, their sums in double.
    most_rows, most_entries : int
        The final regression sees at most so many rows, and so many numbers of theirs: two hundred rows for each of its
        `max_rank` inducing points [sizes].
    retune_rows : int
        In low rank, s2 and b are learnt again from the leave-one-out of at most so many rows.
    hard_share : float
        Share of the inducing points that are drawn where a pilot's leave-one-out is wrong; the others are k-means
        centres.
    sweeps : int
        Sweeps of k-means.
    jitter : float
        Added to the diagonal of the inducing points' Gram matrix, in units of the mean of k(x, x).
    log_range : float
        ln s2 and ln b stay within this distance of their prior means.
    tol : float
        Nats an iteration must gain for a climb to go on.
    """

    smoothness: float = 1.5
    interaction: float | None = None
    crowding: float = 0.5
    noise: tuple[float, float] = (math.log(0.2), 1.5)
    slope: tuple[float, float] = (math.log(6.0), 0.7)
    offset: tuple[float, float] = (-1.5, 1.0)
    amplitude: tuple[float, float] = (0.0, 1.0)
    length_scale: tuple[float, float] = (0.5, 1.0)
    shrinkage: tuple[float, float] = (0.3, 4.0)
    length_start: float = 0.3
    short_start: float = -0.9
    softmax: SoftmaxPolicy = SoftmaxPolicy()
    search_rows: int = 500
    search_iter: int = 20
    refine_rows: int = 4000
    refine_rank: int = 256
    refine_iter: int = 12
    dense_rows: int = 2000
    base_rank: int = 1024
    rank_growth: float = 0.15
    max_rank: int = 2048
    least_rank: int = 768
    rank_gain: float = 2e-4
    float32_above: int = 20_000
    most_rows: int = 400_000
    most_entries: int = 2**26
    retune_rows: int = 4000
    hard_share: float = 0.75
    sweeps: int = 8
    jitter: float = 1e-6
    log_range: float = 7.0
    tol: float = 1e-3


ADDITIVE = LeastSquaresPolicy(
    interaction=1.0, crowding=0.0, length_scale=(0.0, 1.0), length_start=0.0, shrinkage=(0.6, 4.0), search_iter=10
)
"""The least-squares machine of the ANOVA kernel, for functions whose inputs interact little [classification]."""


@dataclass(frozen=True)
class NoisePolicy:
    """A regression's noise that varies with x: the logarithm of its scale is a Gaussian process [noise]."""

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
