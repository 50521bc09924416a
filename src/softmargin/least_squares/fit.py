"""From rows to a fitted least-squares machine (one path for every size)."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import log_softmax
from sklearn.gaussian_process.kernels import Kernel
from sklearn.utils import check_random_state

from softmargin._linalg import Array, keep_freed_memory
from softmargin._typing import KernelLike
from softmargin.kernels import Layout, PrecomputedKernel, gram
from softmargin.least_squares.dense import DenseRidge, DenseRows
from softmargin.least_squares.inducing import centres, hard_points
from softmargin.least_squares.low_rank import LowRankRows
from softmargin.least_squares.machine import DenseReduction, LeastSquaresMachine, Reduction
from softmargin.least_squares.rows import LabelledRows
from softmargin.least_squares.search import LooObjective, climb
from softmargin.least_squares.softmax import Labels, SoftmaxFit
from softmargin.least_squares.space import SearchSpace
from softmargin.least_squares.sums import LowRankSums
from softmargin.policy import POLICY, LeastSquaresPolicy
from softmargin.rows import Summable
from softmargin.search import Callback


def fit_least_squares(
    X: Any,
    labels: Labels,
    weight: Array,
    n_classes: int,
    kernel: KernelLike = None,
    *,
    spread: Array,
    layout: Layout | None = None,
    leave_whole_rows: bool = False,
    policy: LeastSquaresPolicy = POLICY.least_squares,
    random_state: Any = None,
    callback: Callback | None = None,
    source: Summable | None = None,
    inputs: Callable[[Any], Any] | None = None,
) -> LeastSquaresMachine:
    """Learn kernel, noise, slope and softmax by exact leave-one-out, and solve the regression on all rows.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
        Merged rows: equal inputs with different labels are separate rows. The Gram matrix for a precomputed kernel.
    labels : ndarray of int of shape (n,)
        0 to n_classes - 1.
    weight : ndarray of shape (n,)
        Copies of each row, positive; need not be whole.
    n_classes : int
        Number of classes; labels are 0 to n_classes - 1.
    kernel : Kernel, str or None
        None: offset + Matern-3/2 with a length scale for each input; else learnt within its bounds. See `make_kernel`
        for the names.
    spread : ndarray of shape (d,)
        Standard deviation of each input, 0 for a constant one; not used for a precomputed kernel.
    layout : Layout, optional
        Which columns of X are one input, with one length scale; None: each is an input of its own.
    leave_whole_rows : bool
        Whether leave-one-out leaves all copies of a row out at once: copies then cannot predict each other. Where most
        inputs carry several labels, as in tables of categories, leaving one copy out is the meaningful choice.
    policy : LeastSquaresPolicy
        Constants of the default.
    random_state : int, RandomState or None
        Draws the rows of the search and the inducing points; with at most `policy.search_rows` rows nothing is drawn.
    callback : callable, optional
        Called with every `Evaluation`; may raise `softmargin.search.StopSearch`.
    source : Summable, optional
        All rows, wherever they are, with the numbers of their classes as targets; X, labels and weight are then a
        sample of them, from which everything but the regression itself is learnt. None: X is all there is.
    inputs : callable, optional
        Applied to the inputs of `source` first; X is already transformed.

    Returns
    -------
    LeastSquaresMachine
        At the learnt hyperparameters.

    Examples
    --------
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> machine = fit_least_squares(X, np.array([0, 0, 1, 1]), np.ones(4), 2, spread=X.std(axis=0))
    >>> machine.log_proba(np.array([[0.5], [2.5]])).argmax(axis=1)
    array([0, 1])
    """
    keep_freed_memory()
    rows = replace(_check(X, labels, weight, n_classes, kernel), whole=leave_whole_rows)
    space = SearchSpace.build(kernel, rows.X, rows.weight, np.asarray(spread, dtype=np.float64), policy, layout)
    rng = check_random_state(random_state)
    path: list[dict[str, Any]] = []
    part = rows.sample(policy.search_rows, rng)
    inputs_of_part, group = part.distinct()
    seen = DenseRows(inputs_of_part, part.Y, part.weight, part.whole, group)
    objective = LooObjective(seen, part.labels, space, "dense", path, callback)
    starts = [space.start]
    if len(part) < len(rows) and len(space.scales):
        starts.append(space.short_start)
    ends = [climb(objective, start, policy.search_iter) for start in starts]
    z = max(ends, key=lambda end: end.value).z
    if refinements(policy, len(rows)) and not rows.precomputed:
        z = _refine(rows, space, z, rng, path, callback)
    if source is None and (len(rows) <= policy.dense_rows or rows.precomputed):
        return _dense_machine(rows, space, z, path)
    # X is transformed already, the rows of a source are not.
    everything, inputs = (rows.local(), None) if source is None else (source, inputs)
    return _low_rank_machine(rows, space, z, rng, path, everything, inputs)


def _check(X: Any, labels: Labels, weight: Array, n_classes: int, kernel: KernelLike) -> LabelledRows:
    labels, weight = np.asarray(labels, dtype=np.intp), np.asarray(weight, dtype=np.float64)
    if n_classes < 2:
        raise ValueError(f"n_classes must be at least 2, got {n_classes}")
    if not X.shape[0] == len(labels) == len(weight):
        raise ValueError(f"X, labels and weight must have the same length: {X.shape[0]}, {len(labels)}, {len(weight)}")
    if labels.min() < 0 or labels.max() >= n_classes:
        raise ValueError(f"labels must lie in 0..{n_classes - 1}, got {labels.min()}..{labels.max()}")
    if not np.all(weight > 0) or not np.all(np.isfinite(weight)):
        raise ValueError("weights must be positive and finite; drop rows of weight zero")
    precomputed = isinstance(kernel, PrecomputedKernel) or (isinstance(kernel, str) and kernel == "precomputed")
    return LabelledRows(X, labels, weight, n_classes, precomputed)


def _refine(
    rows: LabelledRows,
    space: SearchSpace,
    z: Array,
    rng: np.random.RandomState,
    path: list[dict[str, Any]],
    callback: Callback | None,
) -> Array:
    """Go on climbing with more rows, in a prior of low rank."""
    policy, part = space.policy, rows.sample(space.policy.refine_rows, rng)
    Z = centres(part.X, space.kernel_at(z[:-2]), policy.refine_rank, rng)
    seen = LowRankRows(part.X, Z, part.Y, part.weight, policy.jitter * space.unit, part.whole)
    objective = LooObjective(seen, part.labels, space, "low_rank", path, callback)
    return climb(objective, z, refinements(policy, len(rows))).z


def _low_rank_machine(
    rows: LabelledRows,
    space: SearchSpace,
    z: Array,
    rng: np.random.RandomState,
    path: list[dict[str, Any]],
    source: Summable,
    inputs: Callable[[Any], Any] | None,
) -> LeastSquaresMachine:
    """Inducing points where a pilot of small rank is wrong, then one regression on all rows of the source."""
    policy, kernel, K = space.policy, space.kernel_at(z[:-2]), rows.n_classes
    m = rank_for(policy, source.n_rows)
    some = rows.sample(POLICY.size.rows_per_centre * m, rng)
    log_p = _pilot(some, kernel, z, centres(some.X, kernel, policy.refine_rank, rng), policy)
    miss, twice = -np.expm1(log_p), 2 * policy.refine_rank
    if policy.least_rank < m:
        more = hard_points(some.X, miss, kernel, twice, policy.hard_share, rng)
        m = useful_rank(policy, _pilot(some, kernel, z, more, policy) - log_p, m)
    Z = hard_points(some.X, miss, kernel, m, policy.hard_share, rng)
    dtype = "float32" if source.n_rows > policy.float32_above else "float64"
    sums = LowRankSums.collect(source, K, kernel, Z, policy.jitter, inputs, dtype)
    z = sums.retune(rows.sample(policy.retune_rows, rng), space, z)
    noise_variance = float(np.exp(z[-2]))
    coefficients, reduction = sums.solve(noise_variance)
    M = sums.outputs(rows, noise_variance)
    return read_out(rows, policy, kernel, z, M, Z, coefficients, reduction, path)


def _pilot(rows: LabelledRows, kernel: Kernel, z: Array, Z: Any, policy: LeastSquaresPolicy) -> Array:
    """Leave-one-out log-probability of each row's class by the regression on the points Z, shape (n,)."""
    noise_variance, slope = (float(value) for value in np.exp(z[-2:]))
    sums = LowRankSums.collect(rows.local(), rows.n_classes, kernel, Z, policy.jitter)
    log_p = log_softmax(slope * sums.outputs(rows, noise_variance), axis=1)
    return np.asarray(log_p[np.arange(len(rows)), rows.labels])


def _dense_machine(rows: LabelledRows, space: SearchSpace, z: Array, path: list[dict[str, Any]]) -> LeastSquaresMachine:
    """One exact regression on all rows."""
    kernel, noise_variance = space.kernel_at(z[:-2]), float(np.exp(z[-2]))
    X, group = rows.distinct()
    ridge = DenseRidge.solve(gram(kernel, X), rows.Y, rows.weight, noise_variance, whole=rows.whole, group=group)
    reduction = DenseReduction(np.sqrt(ridge.weight / noise_variance), ridge.factor)
    basis = np.empty((0, len(rows))) if rows.precomputed else X
    return read_out(rows, space.policy, kernel, z, ridge.M, basis, ridge.A, reduction, path)


def read_out(
    rows: LabelledRows,
    policy: LeastSquaresPolicy,
    kernel: Kernel,
    z: Array,
    M: Array,
    basis: Any,
    coefficients: Array,
    reduction: Reduction,
    path: list[dict[str, Any]],
) -> LeastSquaresMachine:
    """Fit the softmax to the leave-one-out outputs M of all rows and fold it into the coefficients."""
    noise_variance, slope = (float(v) for v in np.exp(z[-2:]))
    B, c = SoftmaxFit.of(policy.softmax).fit(slope * M, rows.labels, rows.weight)
    return LeastSquaresMachine(
        kernel=kernel,
        noise_variance=noise_variance,
        slope=slope,
        softmax_matrix=B,
        softmax_offset=c,
        basis=basis,
        coefficients=coefficients,
        alpha=slope * coefficients @ B,
        loo_outputs=M,
        reduction=reduction,
        path=path,
    )


def refinements(policy: LeastSquaresPolicy, n: int) -> int:
    """Iterations of the refinement for n rows: none up to `search_rows`, then more and more."""
    return int(np.clip(np.ceil(policy.refine_iter * (n / policy.search_rows - 1.0)), 0, policy.refine_iter))


def rank_for(policy: LeastSquaresPolicy, n: int) -> int:
    """Number of inducing points for n rows.

    Examples
    --------
    >>> rank_for(LeastSquaresPolicy(base_rank=1000, dense_rows=1000, rank_growth=0.5), 4000)
    2000
    """
    return int(min(policy.max_rank, policy.base_rank * (n / policy.dense_rows) ** policy.rank_growth))


def useful_rank(policy: LeastSquaresPolicy, gain: Array, largest: int) -> int:
    """Number of inducing points beyond which more are not worth their cost.

    Parameters
    ----------
    policy : LeastSquaresPolicy
        Its `refine_rank` is the pilot's rank, and `rank_gain` what a doubling of the rank must gain.
    gain : ndarray of shape (n,)
        What twice the pilot's rank gains in the leave-one-out log-probability of each of some rows. The mean plus two
        standard errors counts, and is taken to halve with every further doubling.
    largest : int
        At most so many.

    Examples
    --------
    >>> [useful_rank(LeastSquaresPolicy(), np.full(9, gain), 2000) for gain in (-1e-3, 4e-4, 1e-2)]
    [768, 1024, 2000]
    """
    error = float(gain.std()) / len(gain) ** 0.5
    rank = 2 * policy.refine_rank * (float(gain.mean()) + 2.0 * error) / policy.rank_gain
    return int(np.clip(rank, min(policy.least_rank, largest), largest))
