"""The fit of a classification: from rows and settings to a record; nothing here knows an estimator."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, Literal

import numpy as np
from scipy.special import log_softmax
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from threadpoolctl import threadpool_limits

from softmargin._linalg import Array
from softmargin.kernels import Coefficients, Layout, PrecomputedKernel, make_kernel
from softmargin.least_squares import fit_least_squares
from softmargin.machines.classification.pairs import Combination
from softmargin.machines.classification.pairwise import LeftOut, PairwiseFit, PairwiseMachine, leaves_whole_rows
from softmargin.machines.classification.stack import Member, Stack
from softmargin.machines.importance import importance
from softmargin.machines.sampled_rows import RawSample, Source, compact, draw, left_out_rows, merged
from softmargin.machines.support import ClassSupport, class_support
from softmargin.machines.warp import Warp
from softmargin.policy import POLICY, LeastSquaresPolicy
from softmargin.rows import (
    ClassEncoding,
    LocalRows,
    PairEncoding,
    TrainingRows,
    check_sample_sizes,
    merge_rows,
    spread_of,
)
from softmargin.search import Listener, Report
from softmargin.tuning import LatentModel, LikelihoodCoordinates, Probability, Tuning, update

Composition = Literal["hinge", "stack", "least_squares"]
"""Which machines: the hinge machine alone; by default a stack, for two classes of hinge and least-squares machines, for
more of least-squares machines, on raw and on warped inputs; or the least-squares machine alone."""


@dataclass(frozen=True)
class ClassificationSettings:
    """What a classifier asks of its fit."""

    kernel: Any
    """None, a name or a kernel object."""
    likelihood: LikelihoodCoordinates
    tuning: Tuning
    default_prior: bool
    multi_class: str
    probability: Probability
    n_inducing: int | None
    through_inducing_points: bool
    """Whether the rows are seen through sums over them only."""
    composition: Composition = "hinge"
    least_squares: LeastSquaresPolicy = POLICY.least_squares
    class_weight: Any = None
    previous: "ClassificationFit | None" = None
    """An earlier fit to start the search from."""
    layout: Layout | None = None
    """Where the columns of the table are in the rows; None: each has its own place."""

    @property
    def precomputed(self) -> bool:
        """Whether the inputs are kernel values."""
        return isinstance(self.kernel, PrecomputedKernel) or (
            isinstance(self.kernel, str) and self.kernel == "precomputed"
        )

    def is_joint(self, n_classes: int) -> bool:
        """Whether least-squares machines predict alone."""
        return self.composition == "least_squares" or (self.composition == "stack" and n_classes > 2)

    def fits_memory(self, source: Source) -> bool:
        """Whether the rows are few enough to be fetched; a part that was chosen is used where it was asked for."""
        return self.composition != "hinge" and source.n_rows <= POLICY.size.sparse_above

    def pairwise(self, X: Any, n_features: int, weight: Array) -> PairwiseFit:
        """How the binary problems of rows with inputs X are fitted."""
        spread = np.empty(0) if self.precomputed else spread_of(X, weight, self.layout)
        kernel = make_kernel(self.kernel, n_features, None if self.precomputed else spread, self.layout)
        previous = None if self.previous is None else self.previous.machine
        starts = None if previous is None else [model.z for model in previous.models]
        prior, inducing = self.default_prior, self.n_inducing
        return PairwiseFit(kernel, self.likelihood, spread, self.tuning, prior, self.multi_class, inducing, starts)


@dataclass(frozen=True)
class ClassificationFit:
    """A fitted classification."""

    classes: np.ndarray
    spread: Array = field(repr=False)
    probability: Probability
    log_class_weight: Array | None
    """ln of the factor of each class's posterior odds, shape (n_classes,); None without class weights."""
    stack: Stack
    """The machines that predict."""
    machine: PairwiseMachine | None = None
    """The hinge machine: the support vector machines and their posteriors; None where other machines predict."""
    left_out: LeftOut | None = field(default=None, repr=False)
    """Leave-one-out predictions of training rows; None where a machine has none."""
    rows: TrainingRows | None = field(default=None, repr=False)
    """The merged training rows; None through inducing points."""
    later: PairwiseFit | None = field(default=None, repr=False)
    """How to fit the hinge machine when it is asked for, where other machines predict."""
    sample: RawSample | None = field(default=None, repr=False)
    """Some training rows; None where `rows` has them all."""
    layout: Layout | None = field(default=None, repr=False)
    """Where the columns of the table are in the rows; None: each has its own place."""

    @cached_property
    def hinge(self) -> PairwiseMachine | None:
        """The hinge machine; where other machines predict it is fitted, one-vs-one, when it is first asked for."""
        if self.machine is not None or self.later is None or self.rows is None:
            return self.machine
        return self.later.from_rows(self.rows, len(self.classes))

    @cached_property
    def support_record(self) -> ClassSupport | None:
        """The support vectors among the training rows; None through inducing points."""
        machine, rows = self.hinge, self.rows
        if machine is None or rows is None or any(model.svm is None for model in machine.models):
            return None
        precomputed = isinstance(machine.models[0].kernel, PrecomputedKernel)
        return class_support(machine.models, rows, precomputed=precomputed)

    def log_proba(self, X: Any) -> Array:
        """ln of the class probabilities, shape (n, n_classes)."""
        log_p = self.stack.log_proba(X)
        if self.log_class_weight is None:
            return log_p
        # P'(y | x) proportional to w_y P(y | x): a change of the classes' prior probabilities.
        weighted: Array = log_softmax(log_p + self.log_class_weight, axis=1)
        return weighted

    def winners(self, X: Any) -> np.ndarray:
        """The number of the most probable class of each row, shape (n,)."""
        if len(self.classes) > 2:
            return np.asarray(self.log_proba(X).argmax(axis=1))
        # Another prior of the classes moves the threshold away from the sign.
        odds = self.stack.signs(X) if self.log_class_weight is None else self.log_odds(X)
        return (odds > 0).astype(np.intp)

    def log_odds(self, X: Any) -> Array:
        """Log-odds, shape (n,) of the second of two classes or (n, n_classes) of each class against the rest."""
        if len(self.classes) == 2:
            odds, shift = self.stack.log_odds(X), self.log_class_weight
            return odds if shift is None else odds + (shift[1] - shift[0])
        log_p = self.log_proba(X)
        # ln p - ln(1 - p); 1 - p from the other classes would cancel only where p is 1 to rounding.
        return log_p - np.log(np.maximum(-np.expm1(log_p), 1e-300))

    def pair_log_odds(self, X: Any) -> Array:
        """Log-odds of the first class of every pair against the second, shape (n, n_pairs)."""
        first, second = np.triu_indices(len(self.classes), 1)
        machine = self.stack.members[0].machine
        if isinstance(machine, PairwiseMachine) and machine.pairs[0][0] >= 0:
            shift = (
                0.0 if self.log_class_weight is None else self.log_class_weight[first] - self.log_class_weight[second]
            )
            return shift - machine.log_odds(X)
        log_p = self.log_proba(X)
        return log_p[:, first] - log_p[:, second]

    def outputs(self, X: Any) -> Array:
        """The log-odds of two classes, shape (n, 1), or log-probabilities, shape (n, n_classes)."""
        return self.log_odds(X)[:, None] if len(self.classes) == 2 else self.log_proba(X)

    def slopes(self, X: Any) -> Array:
        """Their derivatives with respect to the inputs, shape (n, 1, d) or (n, n_classes, d)."""
        found = self.stack.slopes(X)
        if self.log_class_weight is None or len(self.classes) == 2:
            return found
        # d ln p'_c = d ln p_c - sum_k p'_k d ln p_k for p' proportional to w p.
        return found - np.einsum("ik,ikd->id", np.exp(self.log_proba(X)), found)[:, None, :]

    def linear(self) -> Coefficients | None:
        """Those of the first machine that predicts; None if its kernel is not linear."""
        found: Coefficients | None = self.stack.members[0].machine.linear()
        return found

    @cached_property
    def importance(self) -> Array | None:
        """Importance of every column of the table, shape (d,), sums to 1; None for kernel values."""
        seen = self.rows if self.sample is None else self.sample
        if seen is None or len(self.spread) == 0:
            return None
        return importance(self.outputs, self.slopes, seen.X, seen.weight, self.spread, self.layout)


def fit_classification(
    source: Source, settings: ClassificationSettings, listener: Listener | None = None
) -> ClassificationFit:
    """Fit a classification to valid raw rows.

    Parameters
    ----------
    source : LocalRows or DaskRows
        Rows with their labels as given.
    settings : ClassificationSettings
        Parts and options of the estimator.
    listener : Listener, optional
        Called after every evaluation, for two classes with a function that makes the fit as if the search had ended.
    """
    report = None if listener is None else Report(listener)
    if isinstance(source, LocalRows):
        check_classification_targets(source.y)
    if settings.through_inducing_points and not settings.fits_memory(source):
        return _fit_source(source, settings, report)
    # Small matrices gain nothing from several BLAS threads, and on a busy machine the threads wait for each other.
    with threadpool_limits(1 if source.n_rows <= POLICY.search.one_thread_rows else None):
        return _fit_rows(source, settings, report)


def _fit_rows(source: Source, settings: ClassificationSettings, report: Report | None) -> ClassificationFit:
    """Fit with all rows at hand."""
    X, y, weight = source.take(np.arange(source.n_rows))
    X = X.astype(np.float64, copy=False)
    classes, index = np.unique(y, return_inverse=True)
    check_classes(classes)
    log_weight = log_class_weights(settings.class_weight, classes, index, weight)
    rows = merge_rows(X, index.astype(float), weight, precomputed=settings.precomputed)
    fit = settings.pairwise(rows.X, X.shape[1], rows.weight)
    finish = partial(ClassificationFit, classes, fit.spread, settings.probability, log_weight, layout=settings.layout)
    members, left_out = _least_squares_members(rows, len(classes), fit.spread, settings, report)
    if settings.is_joint(len(classes)):
        stack, mixed = _stacked(members, left_out, rows)
        return finish(stack, left_out=mixed, rows=rows, later=fit)
    fit = _beside(fit, members)
    machine = _reporting(fit, finish, len(classes), report).from_rows(rows, len(classes))
    hinge = Member("hinge", machine.predicting(settings.probability))
    hinge_left_out = None if machine.left_out is None else machine.left_out.log_proba
    stack, mixed = _stacked([hinge, *members], [hinge_left_out, *left_out], rows)
    return finish(stack, machine, mixed if members else machine.left_out, rows)


def _least_squares_members(
    rows: TrainingRows,
    n_classes: int,
    spread: Array,
    settings: ClassificationSettings,
    report: Report | None,
    source: Source | None = None,
) -> tuple[list[Member], list[Array | None]]:
    """The least-squares machines of the composition, with the leave-one-out log-probabilities of `rows`.

    With a source `rows` are a sample of it.
    """
    if settings.composition == "hinge":
        return [], []
    alone = settings.composition == "least_squares"
    warp = None if alone or settings.precomputed else Warp.of(rows.X, rows.weight)
    labels = rows.y.astype(np.intp)
    whole = leaves_whole_rows(rows, precomputed=settings.precomputed)
    callback = None if report is None else report.without_result()
    members: list[Member] = []
    left_out: list[Array | None] = []
    for name, chosen in (("least_squares", None), ("least_squares_warped", warp)):
        if name.endswith("warped") and warp is None:
            continue
        X = rows.X if chosen is None else chosen(rows.X)
        machine = fit_least_squares(
            X,
            labels,
            rows.weight,
            n_classes,
            settings.kernel,
            spread=spread if chosen is None else spread_of(X, rows.weight, settings.layout),
            layout=settings.layout,
            leave_whole_rows=whole,
            policy=settings.least_squares,
            random_state=settings.tuning.seed,
            callback=callback,
            source=source,
            inputs=chosen,
        )
        members.append(Member(name, machine, chosen))
        left_out.append(machine.cross_log_proba(labels, rows.weight, whole=whole))
    return members, left_out


def _beside(fit: PairwiseFit, members: list[Member]) -> PairwiseFit:
    """The hinge machine's fit beside others: from the least-squares machine's length scales, with fewer digits."""
    if not members:
        return fit
    hint = None if isinstance(fit.kernel, PrecomputedKernel) else members[0].machine.kernel
    return replace(fit, tuning=replace(fit.tuning.relaxed(POLICY.stack.relaxed), hint=hint))


def _stacked(members: list[Member], left_out: list[Array | None], rows: TrainingRows) -> tuple[Stack, LeftOut | None]:
    """The stack of members and its leave-one-out predictions of the merged rows."""
    truth = rows.y.astype(int)
    stack = Stack.of(members, left_out, truth, rows.weight)
    return stack, None if stack.left_out is None else LeftOut(stack.left_out, truth, rows.weight)


def _fit_source(source: Source, settings: ClassificationSettings, report: Report | None) -> ClassificationFit:
    """The same through inducing points, for rows anywhere."""
    # Before rows of zero weight are dropped: a class must not vanish with them.
    classes = source.labels()
    # Distinct values alone would look like the targets of a regression.
    check_classification_targets(np.repeat(classes, 3))
    check_classes(classes)
    source = compact(source)
    rows, drawn = merged(draw(source, settings.tuning.seed, classes))
    check_sample_sizes(drawn.X)
    log_weight = log_class_weights(settings.class_weight, classes, rows.y.astype(int), rows.weight)
    fit = settings.pairwise(drawn.X, drawn.X.shape[1], drawn.weight)
    finish = partial(ClassificationFit, classes, fit.spread, settings.probability, log_weight, layout=settings.layout)
    everything = None if drawn.share == 1 else source.encoded(ClassEncoding(classes))
    members, left_out = _least_squares_members(rows, len(classes), fit.spread, settings, report, everything)
    if settings.is_joint(len(classes)):
        stack, mixed = _stacked(members, left_out, rows)
        return finish(stack, left_out=mixed, rows=rows, later=fit)
    fit = _beside(fit, members)
    machine = _reporting(fit, finish, len(classes), report).from_source(source, classes, drawn)
    sample = drawn.some(POLICY.size.importance_rows)
    if not members:
        return finish(
            _alone(machine, settings.probability),
            machine,
            machine.left_out,
            sample=sample,
        )
    some = left_out_rows(len(rows.y), settings.tuning.seed)
    hinge = Member("hinge", machine.predicting(settings.probability))
    assert machine.left_out is not None
    known: list[Array | None] = [machine.left_out.log_proba, *(p[some] for p in left_out if p is not None)]
    stack, mixed = _stacked([hinge, *members], known, rows.subset(np.isin(np.arange(len(rows.y)), some), rows.y[some]))
    return finish(stack, machine, mixed, sample=sample)


def _alone(machine: PairwiseMachine, probability: Probability) -> Stack:
    """The hinge machine as a stack of one."""
    return Stack([Member("hinge", machine.predicting(probability))], np.ones(1))


def update_classification(fitted: ClassificationFit, source: Source) -> ClassificationFit:
    """Update a fit through inducing points by a batch of rows, at its hyperparameters."""
    source = compact(source)
    unknown = np.setdiff1d(source.labels(), fitted.classes).tolist()
    if unknown:
        raise ValueError(f"classes {unknown} were not in the first batch; fit again with rows of every class")
    _, y, weight = source.take(np.arange(source.n_rows))
    assert fitted.machine is not None
    models = []
    for model, pair in zip(fitted.machine.models, fitted.machine.pairs):
        encoding = PairEncoding(fitted.classes, pair)
        seen = len(encoding(y, weight).target) > 0
        models.append(update(model, source.encoded(encoding)) if seen else model)
    machine = replace(fitted.machine, models=models)
    return replace(fitted, machine=machine, stack=_alone(machine, fitted.probability))


def _reporting(
    fit: PairwiseFit, finish: Callable[..., ClassificationFit], n_classes: int, report: Report | None
) -> PairwiseFit:
    """The same fit, reporting every evaluation."""
    if report is None:
        return fit

    def of_two_classes(model: LatentModel) -> ClassificationFit:
        machine = PairwiseMachine([model], Combination([(0, 1)], 2))
        return finish(_alone(machine, "average"), machine)

    report = report.then(of_two_classes) if n_classes == 2 else report.without_result()
    return replace(fit, tuning=replace(fit.tuning, report=report))


def check_classes(classes: np.ndarray) -> None:
    """Raise unless there are at least two classes."""
    if len(classes) < 2:
        raise ValueError(
            f"BayesianSVC needs at least 2 classes in y, got 1 class: {classes[0]!r}. "
            "Check that y has the labels and not one constant"
        )


def log_class_weights(class_weight: Any, classes: np.ndarray, index: np.ndarray, weight: Array) -> Array | None:
    """ln of the factor of each class's odds, shape (n_classes,); None without class weights.

    Every class must keep a row of positive weight. "balanced" makes all classes equally probable before anything is
    known of a row: a class of share s has the factor 1/(n_classes s).
    """
    counts = np.bincount(index, weights=weight, minlength=len(classes))
    if not np.all(counts > 0):
        raise ValueError("sample_weight removes every row of a class: give each class a row with positive weight")
    if class_weight is None:
        return None
    if isinstance(class_weight, str) and class_weight == "balanced":
        return np.asarray(np.log(counts.sum() / (len(classes) * counts)))
    factors = np.asarray(compute_class_weight(class_weight, classes=classes, y=classes[index]), dtype=float)
    if not np.all((factors > 0) & np.isfinite(factors)):
        worst = classes[int(np.argmin(np.where(np.isfinite(factors), factors, -np.inf)))]
        raise ValueError(
            f"class_weight={class_weight!r} must give every class a positive finite factor; class {worst!r} has none. "
            "Leave rows of a class out with sample_weight instead"
        )
    return np.log(factors)
