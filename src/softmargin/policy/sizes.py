"""What changes with the number of rows."""

from dataclasses import dataclass


@dataclass(frozen=True)
class SizePolicy:
    """What changes with the number of rows [sizes]."""

    dense_rows: int = 500
    """Rows up to which the default inference works with the Gram matrix of all rows; above, EP has a prior of low rank
    [low_rank]."""
    svm_rows: int = 5000
    """Rows up to which the support vector machine itself is solved beside a posterior of low rank."""
    sparse_above: int = 20_000
    """Rows above which the default inference works through inducing points [scale]."""
    inducing: int = 512
    """Inducing points, or a third of the rows if these are fewer [scale]."""
    fewest_inducing: int = 20
    rows_per_centre: int = 40
    """k-means looks at this many rows for each inducing point: more do not move the centres noticeably [scale]."""
    importance_rows: int = 1000
    """Training rows whose slopes `importance_` averages: more change a root mean square by a few per cent."""
    sample: int = 20_000
    """Rows held at once: for spreads, inducing points, hyperparameters and the posterior's start [scale]."""
    reservoir: int = 20_000
    """Rows of a stream that `partial_fit` keeps to learn the hyperparameters again: as many as `sample` [stream]."""
    stream_growth: float = 2.0
    """Factor by which a stream grows until they are learnt again: all searches together then see at most twice the rows
    of the last one [stream]."""
    enough_of_a_class: int = 50
    """A class with fewer rows in the sample gets more from all rows, if it has them."""
    left_out: int = 10_000
    """Rows whose leave-one-out predictions set the temperature and the reported loss."""
    subset: int = 300
    """Rows of the first search [scale]."""
    subset_share: float = 0.1
    """Share of the subset that each class or sign has at least, if it has so many rows."""
    refine_rows: int = 4000
    refine_inducing: int = 256
    refine_iterations: int = 12
    """Rows, inducing points and iterations of the second search, in a classifier's prior of low rank too [low_rank]
    [scale]."""
    refine_tol: float = 0.1
    """Nats: the second search ends when an iteration gains less."""
    refine_float32_above: int = 2000
    float32_above: int = 20_000
    """Rows above which blocks are in single precision [scale]."""
    gap: float = 1e-4
    """Distance from the best posterior, in nats per inducing point, that ends an inference: a mean within 0.02 sd."""
    gap_per_row: float = 1e-5
    """The same in nats for each row beyond `float32_above`, if that is more: no prediction changes noticeably, and a
    last step needs no pass [sizes]."""
    rough_gap: float = 1e-2
    """The same for posteriors of samples, which sampling has moved by more."""
    ladder: float = 0.05
    """A sample that is a smaller share of the rows is followed by a larger one [sizes]."""
    max_passes: int = 60


@dataclass(frozen=True)
class Rung:
    """One climb of the first stage in a prior of low rank [low_rank]."""

    rows: int
    rank: int
    max_iter: int
    gain: float
    """Nats an iteration must gain for the climb to go on."""


@dataclass(frozen=True)
class LowRankPolicy:
    """Sizes and tolerances of a fit in a prior of low rank [low_rank]."""

    first: Rung = Rung(1000, 128, 30, 0.1)
    second: Rung = Rung(2000, 256, 12, 0.05)
    """Leave-one-out has the same rows and rank; the climb itself is `SizePolicy.refine_rows`' where a classifier has
    the default criterion."""
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
