"""From a table to a tuned model that is measured on held-out rows beside a baseline."""

import time
import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split

from softmargin._compiled import compiling
from softmargin.experiment import baseline
from softmargin.experiment.measures import Forecast, normal_forecast, score_classes, score_numbers
from softmargin.tables import DataError, Table, relevance_by_column

TEST_SIZE = 0.25
OURS, THEIRS = "softmargin", "baseline"


@dataclass(frozen=True)
class Experiment:
    """A fitted model with everything the terminal and the report say about it."""

    table: Table
    regression: bool
    train: np.ndarray = field(repr=False)
    test: np.ndarray = field(repr=False)
    model: Any = field(repr=False)
    """The fitted estimator."""
    seconds: float
    """Wall-clock time of the fit, without that of compiling loops."""
    notes: tuple[str, ...] = ()
    predictions: dict[str, Any] = field(default_factory=dict, repr=False)
    """For each model probabilities of shape (n_test, n_classes), or a `Forecast`."""
    scores: dict[str, dict[str, float]] = field(default_factory=dict)

    @property
    def inputs(self) -> Any:
        """The training rows as the estimator saw them."""
        return self.model.encoder_.transform(self.table.X.iloc[self.train])

    @property
    def truth(self) -> np.ndarray:
        """Class indices, or values, of the held-out rows."""
        y = self.table.y.iloc[self.test].to_numpy()
        return y if self.regression else np.searchsorted(self.model.classes_, y)

    def summary(self) -> dict[str, Any]:
        """Everything of note as plain numbers and strings, ready for JSON."""
        model = self.model
        learnt = {
            **learnt_settings(model),
            "evaluations": int(np.sum(model.n_iter_)),
            "relevance": relevance_by_column(model),
        }
        if self.regression:
            learnt["epsilon"] = float(model.epsilon_)
        elif hasattr(model, "loo_log_loss_"):
            learnt |= {"loo_log_loss": model.loo_log_loss_, "loo_error": model.loo_error_}
        return {
            "data": self.table.name,
            "target": str(self.table.y.name),
            "task": "regression" if self.regression else "classification",
            "classes": None if self.regression else [str(c) for c in model.classes_],
            "rows": {"train": len(self.train), "test": len(self.test)},
            "learnt": learnt,
            "held_out": self.scores,
            "seconds": self.seconds,
            "notes": [*self.table.notes, *self.notes],
        }


def is_joint(model: Any) -> bool:
    """Whether one machine for all classes predicts: support vector machines would be fitted only to be looked at."""
    return "kernel_" not in vars(model)


def kernels_of(model: Any) -> list[Any]:
    """The learnt kernels: of the joint machine, or of the support vector machine of each pair of classes."""
    if is_joint(model):
        return [model.members_[0].machine.kernel]
    return model.kernel_ if isinstance(model.kernel_, list) else [model.kernel_]


def learnt_settings(model: Any) -> dict[str, Any]:
    """What was learnt, as plain numbers and strings: of the machine that predicts."""
    kernels = [str(kernel) for kernel in kernels_of(model)]
    settings: dict[str, Any] = {"kernel": kernels[0] if len(kernels) == 1 else kernels}
    if is_joint(model):
        return settings | {"noise_std": float(np.sqrt(model.members_[0].machine.noise_variance))}
    return settings | {
        "C": np.asarray(model.C_).tolist(),
        "log_evidence": float(model.log_evidence_),
        "support_vectors": support_count(model),
    }


def support_count(model: Any) -> int | None:
    """Number of support vectors; None with inducing points or a joint machine, where the SVM itself is not solved."""
    return None if is_joint(model) or not hasattr(model, "support_") else len(model.support_)


def split_rows(table: Table, test_size: float | None, seed: int, regression: bool) -> tuple[np.ndarray, np.ndarray]:
    """Training and test rows: the data set's customary split if it has one and no size is asked for."""
    rows = np.arange(len(table.y))
    if test_size == 0:
        return rows, rows[:0]
    size = TEST_SIZE if test_size is None else test_size
    if table.order is not None:
        return _latest(table.order, size)
    if table.group is not None:
        return _whole_groups(table.group, size, seed)
    if test_size is None and table.test is not None:
        return np.setdiff1d(rows, table.test), table.test
    try:
        train, test = train_test_split(
            rows, test_size=size, random_state=seed, stratify=None if regression else table.y.to_numpy()
        )
    except ValueError as error:
        raise DataError(
            f"{len(rows)} rows cannot be split with --test-size {size:g} ({error}); give more rows, another size, "
            "or --test-size 0 to hold nothing out"
        ) from error
    return np.sort(train), np.sort(test)


def _latest(order: Any, size: float) -> tuple[np.ndarray, np.ndarray]:
    """Hold the latest rows out; rows of the same time stay together."""
    values = order.to_numpy()
    limit = np.sort(values)[min(int(round((1 - size) * len(values))), len(values) - 1)]
    late = values >= limit
    if late.all():
        raise DataError(f"column {order.name!r} has one time only for too many rows; give another --time")
    return np.flatnonzero(~late), np.flatnonzero(late)


def _whole_groups(group: Any, size: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Hold random groups out until they have the share of the rows."""
    codes, found = group.factorize(use_na_sentinel=False)
    if len(found) < 2:
        raise DataError(f"column {group.name!r} has one group only; --group needs at least two")
    counts = np.bincount(codes)
    order = np.random.RandomState(seed).permutation(len(found))
    taken = np.searchsorted(np.cumsum(counts[order]), size * len(codes)) + 1
    out = np.isin(codes, order[: min(taken, len(found) - 1)])
    return np.flatnonzero(~out), np.flatnonzero(out)


def make_estimator(regression: bool, **options: Any) -> Any:
    """The estimator with its defaults."""
    import softmargin

    return softmargin.BayesianSVR(**options) if regression else softmargin.BayesianSVC(**options)


def fit_experiment(
    table: Table, *, regression: bool = False, test_size: float | None = None, seed: int = 0, **options: Any
) -> Experiment:
    """Fit the estimator on the training rows; `options` go to it."""
    train, test = split_rows(table, test_size, seed, regression)
    model = make_estimator(regression, random_state=seed, **options)
    begin, compiled = time.perf_counter(), compiling.seconds
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(table.X.iloc[train], table.y.iloc[train].to_numpy())
    # Loops are compiled once on a machine: that is no part of the search.
    seconds = time.perf_counter() - begin - (compiling.seconds - compiled)
    notes = tuple(dict.fromkeys(str(w.message).split("\n")[0] for w in caught))
    return Experiment(table, regression, train, test, model, seconds, notes)


def measure(experiment: Experiment, *, against_baseline: bool = True, seed: int = 0) -> Experiment:
    """Predict the held-out rows, and let the baseline do the same."""
    if len(experiment.test) == 0:
        return experiment
    with warnings.catch_warnings():
        # Unseen categories count as none of the known ones; small folds make the baseline's search noisy.
        warnings.simplefilter("ignore")
        if experiment.regression:
            return _measure_numbers(experiment, against_baseline, seed)
        return _measure_classes(experiment, against_baseline, seed)


def forecast(model: Any, X: Any, y: np.ndarray) -> Forecast:
    """A regressor's forecast of new rows with true values y."""
    mean, std = model.predict(X, return_std=True)
    interval = model.predict_interval(X, confidence_level=0.95)
    grid = np.linspace(0.005, 0.995, 199)
    quantiles = model.predict_quantiles(X, grid)
    rank = np.array([np.interp(value, row, grid, left=0.0, right=1.0) for value, row in zip(y, quantiles)])
    return Forecast(mean, std, interval[:, 0], interval[:, 1], model.log_predictive_density(X, y), rank)


def _measure_classes(experiment: Experiment, against_baseline: bool, seed: int) -> Experiment:
    table, train = experiment.table, experiment.train
    X, truth = table.X.iloc[experiment.test], experiment.truth
    predictions = {OURS: experiment.model.predict_proba(X)}
    notes: tuple[str, ...] = ()
    if against_baseline:
        try:
            predictions[THEIRS] = baseline.fit_classifier(table, train, seed).predict_proba(X)
        except ValueError as error:
            notes = (f"the baseline could not be fitted: {str(error).splitlines()[0]}",)
    scores = {name: score_classes(p, truth) for name, p in predictions.items()}
    return _with(experiment, predictions, scores, notes)


def _measure_numbers(experiment: Experiment, against_baseline: bool, seed: int) -> Experiment:
    table = experiment.table
    X, truth = table.X.iloc[experiment.test], experiment.truth
    predictions = {OURS: forecast(experiment.model, X, truth)}
    if against_baseline:
        fitted, spread = baseline.fit_regressor(table, experiment.train, seed)
        predictions[THEIRS] = normal_forecast(fitted.predict(X), spread, truth)
    scores = {name: score_numbers(p, truth) for name, p in predictions.items()}
    return _with(experiment, predictions, scores, ())


def _with(e: Experiment, predictions: dict[str, Any], scores: dict[str, Any], notes: tuple[str, ...]) -> Experiment:
    return Experiment(e.table, e.regression, e.train, e.test, e.model, e.seconds, e.notes + notes, predictions, scores)
