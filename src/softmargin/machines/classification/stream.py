"""A classification of a stream: each batch updates the posterior, and hyperparameters follow as the stream grows."""

from dataclasses import replace

import numpy as np

from softmargin.machines.classification.fit import alone, fit_classification
from softmargin.machines.classification.record import ClassificationFit, ClassificationSettings
from softmargin.machines.reservoir import Reservoir
from softmargin.machines.sampled_rows import Source, compact
from softmargin.policy import POLICY
from softmargin.rows import PairEncoding, spread_of
from softmargin.tuning import blas_threads, follow, update


def begin_classification(fitted: ClassificationFit, source: Source, seed: int) -> ClassificationFit:
    """The fit of a first batch, which remembers some of its rows."""
    return replace(fitted, reservoir=Reservoir.of(source, seed, classes=True))


def update_classification(
    fitted: ClassificationFit, source: Source, settings: ClassificationSettings
) -> ClassificationFit:
    """Update a fit through inducing points by a batch of rows.

    Where the stream has grown enough, hyperparameters are learnt again from the present ones: with all rows, while all
    are kept, and else with the kept ones, to whose hyperparameters the memory of all rows is carried over.
    """
    source = compact(source)
    unknown = np.setdiff1d(source.labels(), fitted.classes).tolist()
    if unknown:
        raise ValueError(f"classes {unknown} were not in the first batch; fit again with rows of every class")
    reservoir = None if fitted.reservoir is None else fitted.reservoir.add(source, classes=True)
    with blas_threads(POLICY.search.blas_threads):
        if reservoir is None or settings.tuning.search is None or not reservoir.is_due:
            return replace(_updated(fitted, source), reservoir=reservoir)
        if reservoir.is_complete:
            made = fit_classification(reservoir.rows, replace(settings, previous=_start(fitted, reservoir)))
        else:
            made = _updated(_followed(fitted, reservoir, settings), source)
    return replace(made, reservoir=reservoir.just_tuned())


def _start(fitted: ClassificationFit, reservoir: Reservoir) -> ClassificationFit | None:
    """The fit to start from; None if an input was constant so far, which had no length scale to start from."""
    spread = spread_of(reservoir.X, reservoir.weight, fitted.layout)
    return fitted if np.array_equal(spread > 0, fitted.spread > 0) else None


def _followed(fitted: ClassificationFit, reservoir: Reservoir, settings: ClassificationSettings) -> ClassificationFit:
    """The same memory of the rows at hyperparameters learnt on the kept ones."""
    machine = fitted.machine
    assert machine is not None
    fit = settings.pairwise(reservoir.X, reservoir.X.shape[1], reservoir.weight)
    models = []
    for model, pair in zip(machine.models, machine.pairs):
        sample = reservoir.sample.encoded(PairEncoding(fitted.classes, pair))
        tuning = fit.with_prior(fit.tuning, sample.y, sample.weight)
        models.append(follow(model, sample, fit.kernel, fit.likelihood, fit.spread, tuning))
    return replace(fitted, machine=replace(machine, models=models))


def _updated(fitted: ClassificationFit, source: Source) -> ClassificationFit:
    """At its hyperparameters."""
    _, y, weight = source.take(np.arange(source.n_rows))
    assert fitted.machine is not None
    models = []
    for model, pair in zip(fitted.machine.models, fitted.machine.pairs):
        encoding = PairEncoding(fitted.classes, pair)
        seen = len(encoding(y, weight).target) > 0
        models.append(update(model, source.encoded(encoding)) if seen else model)
    machine = replace(fitted.machine, models=models)
    return replace(fitted, machine=machine, stack=alone(machine, fitted.probability))
