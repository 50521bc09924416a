"""The constants of the least-squares machine in one record."""

from dataclasses import dataclass, field

import numpy as np

from softmargin.least_squares.softmax import SoftmaxFit

MeanAndSd = tuple[float, float]


@dataclass(frozen=True)
class LeastSquaresPolicy:
    """How the least-squares machine is learnt. Measured in `benchmarks/least_squares.py`.

    Parameters
    ----------
    noise, slope, offset, amplitude : (mean, sd)
        Normal priors on logarithms: of s2 in units of the mean of k(x, x) at the start, of the softmax's slope b, of an
        offset's and of an amplitude's variance.
    length_scale : (mean, sd)
        Prior on the mean over inputs of ln(l_a / spread_a) - ln(d)/2.
    shrinkage : (scale, degrees of freedom)
        Multivariate t on the deviations of the length scales' logarithms from that mean.
    length_start, short_start : float
        Where ln(l_a / spread_a) - ln(d)/2 starts, and where a second climb starts if there are more rows than
        `search_rows`: a fast function can be invisible from long length scales.
    softmax : SoftmaxFit
        How the softmax matrix and offset are learnt.
    search_rows, search_iter : int
        The kernel is learnt from at most so many rows, in at most so many iterations.
    refine_rows, refine_rank, refine_iter : int
        With more rows it is refined on at most `refine_rows` of them in a prior of this rank; all iterations are made
        from twice `search_rows` on.
    dense_rows : int
        Up to so many rows the final regression is exact; above, it has rank `rank(n)`.
    base_rank, rank_growth, max_rank : int, float, int
        rank(n) = base_rank (n / dense_rows)^rank_growth, at most max_rank.
    float32_above : int
        Above so many rows the blocks of the final regression are in single precision, their sums in double.
    retune_rows : int
        In low rank, s2 and b are learnt again from the leave-one-out of at most so many rows.
    hard_share : float
        Share of the inducing points that are drawn where a pilot's leave-one-out is wrong; the others are k-means
        centres.
    jitter : float
        Added to the diagonal of the inducing points' Gram matrix, in units of the mean of k(x, x).
    """

    noise: MeanAndSd = (float(np.log(0.05)), 1.5)
    slope: MeanAndSd = (float(np.log(6.0)), 1.0)
    offset: MeanAndSd = (-1.5, 1.0)
    amplitude: MeanAndSd = (0.0, 1.0)
    length_scale: MeanAndSd = (0.5, 1.0)
    shrinkage: tuple[float, float] = (0.3, 4.0)
    length_start: float = 0.3
    short_start: float = -0.9
    softmax: SoftmaxFit = field(default_factory=SoftmaxFit)
    search_rows: int = 500
    search_iter: int = 20
    refine_rows: int = 4000
    refine_rank: int = 256
    refine_iter: int = 12
    dense_rows: int = 2000
    base_rank: int = 1024
    rank_growth: float = 0.15
    max_rank: int = 2048
    float32_above: int = 20_000
    retune_rows: int = 4000
    hard_share: float = 0.75
    jitter: float = 1e-6

    def refinements(self, n: int) -> int:
        """Iterations of the refinement for n rows: none up to `search_rows`, then more and more."""
        return int(np.clip(np.ceil(self.refine_iter * (n / self.search_rows - 1.0)), 0, self.refine_iter))

    def rank(self, n: int) -> int:
        """Number of inducing points for n rows.

        Examples
        --------
        >>> LeastSquaresPolicy(base_rank=1000, dense_rows=1000, rank_growth=0.5).rank(4000)
        2000
        """
        return int(min(self.max_rank, self.base_rank * (n / self.dense_rows) ** self.rank_growth))
