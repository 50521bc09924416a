"""The fit of a classification: from rows and settings to a record; nothing here knows an estimator."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from softmargin._linalg import Array
from softmargin.kernels import PrecomputedKernel
from softmargin.machines.classification.labels import check_classes, log_class_weights
from softmargin.machines.classification.least_squares import LeastSquaresMembers, Made
from softmargin.machines.classification.pairs import Combination
from softmargin.machines.classification.pairwise import LeftOut, PairwiseFit, PairwiseMachine
from softmargin.machines.classification.record import ClassificationFit, ClassificationSettings
from softmargin.machines.classification.stack import Member, Stack
from softmargin.machines.sampled_rows import Source, compact, draw, enough_rows, left_out_rows, merged
from softmargin.policy import POLICY
from softmargin.rows import (
    ClassEncoding,
    LocalRows,
    TrainingRows,
    check_sample_sizes,
    merge_rows,
)
from softmargin.search import Listener, Report
from softmargin.tuning import LatentModel, Probability, blas_threads


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
    large = settings.through_inducing_points and not settings.fits_memory(source)
    with blas_threads(POLICY.search.blas_threads):
        return (_fit_source if large else _fit_rows)(source, settings, report)


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
    least_squares, machine = LeastSquaresMembers(rows, len(classes), fit.spread, settings), None
    with least_squares.fitted(report) as (first, others):
        if not settings.is_joint(len(classes)):
            hinge_fit = _reporting(_beside(fit, first), finish, len(classes), report)
            machine = hinge_fit.from_rows(rows, len(classes))
        members, left_out = _listed([*first, *others()])
    if machine is None:
        stack, mixed = _stacked(members, left_out, rows)
        return finish(stack, left_out=mixed, rows=rows, later=fit)
    hinge = Member("hinge", machine.predicting(settings.probability))
    hinge_left_out = None if machine.left_out is None else machine.left_out.log_proba
    stack, mixed = _stacked([hinge, *members], [hinge_left_out, *left_out], rows)
    return finish(stack, machine, mixed if members else machine.left_out, rows)


def _listed(made: list[Made]) -> tuple[list[Member], list[Array | None]]:
    """The members, and the leave-one-out log-probabilities of each."""
    return [member for member, _ in made], [log_p for _, log_p in made]


def _beside(fit: PairwiseFit, made: list[Made]) -> PairwiseFit:
    """The hinge machine's fit beside others: from the least-squares machine's length scales, with fewer digits."""
    if not made:
        return fit
    hint = None if isinstance(fit.kernel, PrecomputedKernel) else made[0][0].machine.kernel
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
    seed = settings.tuning.seed
    seen = source if settings.composition == "hinge" else enough_rows(source, settings.least_squares, seed, classes)
    sample = draw(seen, seed, classes)
    rows, drawn = merged(replace(sample, share=sample.share * seen.n_rows / source.n_rows))
    check_sample_sizes(drawn.X)
    log_weight = log_class_weights(settings.class_weight, classes, rows.y.astype(int), rows.weight)
    fit = settings.pairwise(drawn.X, drawn.X.shape[1], drawn.weight)
    finish = partial(ClassificationFit, classes, fit.spread, settings.probability, log_weight, layout=settings.layout)
    everything = None if drawn.share == 1 else seen.encoded(ClassEncoding(classes))
    least_squares, machine = LeastSquaresMembers(rows, len(classes), fit.spread, settings, everything), None
    with least_squares.fitted(report) as (first, others):
        if not settings.is_joint(len(classes)):
            hinge_fit = _reporting(_beside(fit, first), finish, len(classes), report)
            machine = hinge_fit.from_source(source, classes, drawn)
        members, left_out = _listed([*first, *others()])
    if machine is None:
        stack, mixed = _stacked(members, left_out, rows)
        return finish(stack, left_out=mixed, rows=rows, later=fit)
    shown = drawn.some(POLICY.size.importance_rows)
    if not members:
        return finish(alone(machine, settings.probability), machine, machine.left_out, sample=shown)
    some = left_out_rows(len(rows.y), seed)
    hinge = Member("hinge", machine.predicting(settings.probability))
    assert machine.left_out is not None
    known: list[Array | None] = [machine.left_out.log_proba, *(p[some] for p in left_out if p is not None)]
    stack, mixed = _stacked([hinge, *members], known, rows.subset(np.isin(np.arange(len(rows.y)), some), rows.y[some]))
    return finish(stack, machine, mixed, sample=shown)


def alone(machine: PairwiseMachine, probability: Probability) -> Stack:
    """The hinge machine as a stack of one."""
    return Stack([Member("hinge", machine.predicting(probability))], np.ones(1))


def _reporting(
    fit: PairwiseFit, finish: Callable[..., ClassificationFit], n_classes: int, report: Report | None
) -> PairwiseFit:
    """The same fit, reporting every evaluation."""
    if report is None:
        return fit

    def of_two_classes(model: LatentModel) -> ClassificationFit:
        machine = PairwiseMachine([model], Combination([(0, 1)], 2))
        return finish(alone(machine, "average"), machine)

    report = report.then(of_two_classes) if n_classes == 2 else report.without_result()
    return replace(fit, tuning=replace(fit.tuning, report=report))
