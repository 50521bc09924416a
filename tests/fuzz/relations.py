"""Relations between fits of one problem: what must not matter does not."""

import pickle
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

import softmargin

from .answers import Differs, ask, compare
from .case import TABLES, Case
from .kernels import STATIONARY
from .problem import Problem, make_estimator, new_rows, on_disk, training_rows

Answers = dict[str, np.ndarray]
EXACT = 0.0
FIXED = 1e-6
"""Rounding, at given hyperparameters."""
LOST = 1e-3
"""The same where the system I + W K has a condition number of 1e12 or more, and 1e12 epsilon is lost: with weights of
1e12, in a regression with C = 1e6 (W is about C^2), and with a given kernel of inner products of inputs of 1e9."""
SEARCHED = 2e-2
"""Searches follow rounding: they end when an iteration gains little."""
ROUGH = 0.2
"""Through inducing points a search ends when an iteration gains less than 0.1 nats (`POLICY.size.refine_tol`)."""
SAMPLED = 0.25
"""Draws that R-hat and an effective number of 400 allow: five standard errors; another order draws other numbers."""
ROUNDED = 4.0
"""Times what a change of the inputs by rounding alone does, which a relation may leave where the system is
ill-conditioned. Searches at weights of 1e12 climb values of 1e13 nats, whose last digits are hundredths of a nat, and
take other ways; interpolation (C = 1e6) multiplies epsilon by the condition number of K."""
EXTREME = 0.2
"""The same where weights of 1e12 leave few digits of the objective, or where standard deviations are tiny by them."""


def fit(case: Case, problem: Problem, model: Any = None) -> Any:
    """Fit an estimator of the case to a problem."""
    model = make_estimator(case, problem.X.shape[1]) if model is None else model
    return model.fit(training_rows(case, problem), problem.y, sample_weight=problem.weight)


def answers(case: Case, problem: Problem, model: Any) -> Answers:
    """What the model says of the new rows, in the container of the case."""
    return ask(model, new_rows(case, problem), with_variance=case.container != "precomputed")


def tolerance(case: Case) -> float:
    """How far answers may move with rounding."""
    if case.get("search", "lbfgs") is None:
        if case.get("inference") == "hmc":
            return SAMPLED
        if case.get("loss") == "least_squares" and case.weights in ("huge", "mixed"):
            # Its noise and slope are learnt in any case.
            return EXTREME
        return LOST if _is_ill_conditioned(case) else FIXED
    if case.weights in ("tiny", "huge", "mixed"):
        return EXTREME
    return ROUGH if case.get("inference") == "sparse" else SEARCHED


def _is_ill_conditioned(case: Case) -> bool:
    products = case.kernel in ("DotProduct", "power") and case.container != "precomputed"
    # A given C is in units of 1/y.
    sharp = not case.is_classifier and case.get("C", 0.0) * 10.0**case.y_exponent >= 1e6
    return case.weights in ("huge", "mixed") or sharp or (products and case.x_exponent >= 9)


def _draws_by_position(case: Case) -> bool:
    """Whether random numbers belong to rows or hyperparameters by their place: another order is another random search.

    Steps of a walk, samples, random starts, rows held out; the seed alone decides which.
    """
    searched = case.get("search", "lbfgs") is not None
    walks = case.get("search") in ("random_walk", "sample")
    return searched and (walks or case.get("n_restarts") is not None or case.get("validation_fraction") is not None)


def check_relation(case: Case, problem: Problem, model: Any, expected: Answers) -> float | None:
    """The largest gap that the relation of the case left; None if it does not apply. Raise unless it holds."""
    relation = _RELATIONS.get(case.relation)
    if case.kernel == "ExpSineSquared" and case.new in ("far", "very_far"):
        # The phase of 1e30 periods has no digits.
        return None
    if relation is None:
        return None
    try:
        return relation(case, problem, model, expected)
    except Differs as error:
        if not _is_ill_conditioned(case) or error.gap > ROUNDED * _sensitivity(case, problem, expected):
            raise
        return None


def _sensitivity(case: Case, problem: Problem, expected: Answers) -> float:
    """How far the answers move if each column of the inputs, and the targets, are multiplied by 1 + up to 64 epsilon.

    That is the rounding of a shift by 64, and no algorithm can promise more. Equal inputs stay equal.
    """
    rng, moved = np.random.default_rng(case.seed), [0.0]
    for _ in range(3):
        factors = 1 + np.finfo(float).eps * rng.integers(-64, 65, problem.X.shape[1])
        y = problem.y if case.is_classifier else problem.y * (1 + np.finfo(float).eps * rng.integers(-64, 65))
        found = answers(case, problem, fit(case, replace(problem, X=problem.X * factors, y=y)))
        moved.append(compare(found, expected, np.inf, "inputs times 1 + epsilon"))
    return max(moved)


def _same_seed(case: Case, problem: Problem, model: Any, expected: Answers) -> float | None:
    return compare(answers(case, problem, fit(case, problem)), expected, EXACT, "a second fit")


def _refit(case: Case, problem: Problem, model: Any, expected: Answers) -> float | None:
    other = replace(problem, X=problem.X[::-1] * 0.5, y=problem.y)
    again = fit(case, other, clone(model))
    return compare(answers(case, problem, fit(case, problem, again)), expected, EXACT, "a fit after another")


def _pickle(case: Case, problem: Problem, model: Any, expected: Answers) -> float | None:
    return compare(answers(case, problem, pickle.loads(pickle.dumps(model))), expected, EXACT, "a pickled model")


def _save(case: Case, problem: Problem, model: Any, expected: Answers) -> float | None:
    with tempfile.TemporaryDirectory() as folder:
        path = softmargin.save(model, Path(folder) / "model.skops")
        loaded = softmargin.load(path)
    return compare(answers(case, problem, loaded), expected, EXACT, "a saved model")


def _row_order(case: Case, problem: Problem, model: Any, expected: Answers) -> float | None:
    if case.container == "precomputed" or _draws_by_position(case):
        return None
    order = np.random.default_rng(case.seed).permutation(case.rows)
    return compare(
        answers(case, problem, fit(case, problem.take(order))), expected, tolerance(case), "other order of rows"
    )


def _column_order(case: Case, problem: Problem, model: Any, expected: Answers) -> float | None:
    if case.container == "precomputed" or _draws_by_position(case):
        return None
    if case.container in TABLES:
        turned = replace(problem, turned=True)
    else:
        turned = replace(problem, X=problem.X[:, ::-1], new=problem.new[:, ::-1])
    return compare(answers(case, turned, fit(case, turned)), expected, tolerance(case), "other order of columns")


def _is_scale_free(case: Case) -> bool:
    return case.kernel in STATIONARY and case.container != "precomputed" and abs(case.x_exponent) < 100


def _leaves_a_constant(problem: Problem) -> bool:
    """Whether new rows differ from the training rows in a column that is constant there, and so has no unit."""
    X = problem.X if problem.weight is None else problem.X[problem.weight > 0]
    # A gap is filled with the median: one known value makes a constant.
    one_value = np.array([len(np.unique(column[~np.isnan(column)])) <= 1 for column in X.T])
    return bool(np.any(one_value & np.any(problem.new != X[0], axis=0)))


def _scale(case: Case, problem: Problem, model: Any, expected: Answers) -> float | None:
    if not _is_scale_free(case) or _leaves_a_constant(problem):
        return None
    factor = 2.0 ** (case.seed % 41 - 20)
    scaled = replace(problem, X=problem.X * factor, new=problem.new * factor)
    return compare(answers(case, scaled, fit(case, scaled)), expected, tolerance(case), f"inputs times {factor:g}")


def _shift(case: Case, problem: Problem, model: Any, expected: Answers) -> float | None:
    if not _is_scale_free(case) or case.x_exponent or case.x_shift or case.container in ("csr", "zero_csr", "float32"):
        return None
    X, new = (np.round(np.clip(part, -1e6, 1e6) * 2**20) / 2**20 for part in (problem.X, problem.new))
    rounded, shifted = replace(problem, X=X, new=new), replace(problem, X=X + 64, new=new + 64)
    before = answers(case, rounded, fit(case, rounded))
    return compare(answers(case, shifted, fit(case, shifted)), before, tolerance(case), "inputs plus 64")


def _target_scale(case: Case, problem: Problem, model: Any, expected: Answers) -> float | None:
    kept = np.ones(case.rows, dtype=bool) if problem.weight is None else problem.weight > 0
    # Equal targets have no unit: the noise is then relative to one.
    if case.is_classifier or _has_target_units(case) or np.ptp(problem.y[kept]) == 0:
        return None
    factor = 2.0 ** (case.seed % 21 - 10)
    scaled = replace(problem, y=problem.y * factor)
    found = answers(case, scaled, fit(case, scaled))
    wanted = {name: value * factor for name, value in expected.items()}
    return compare(found, wanted, tolerance(case), f"targets times {factor:g}")


def _negated(case: Case, problem: Problem, model: Any, expected: Answers) -> float | None:
    if case.is_classifier:
        return None
    if case.get("validation_fraction") is not None and len(np.unique(problem.X, axis=0)) < len(problem.X):
        return None  # Rows of equal inputs stand in the order of their targets, and some of them are drawn.
    found = answers(case, problem, fit(case, replace(problem, y=-problem.y)))
    signs = {"mean": -1, "std": 1}
    wanted = {name: sign * expected[name] for name, sign in signs.items() if name in expected}
    return compare(found, wanted, tolerance(case), "negated targets")


def _target_shift(case: Case, problem: Problem, model: Any, expected: Answers) -> float | None:
    if case.is_classifier or case.get("center", "median") is None or case.y_exponent:
        return None
    rounded = replace(problem, y=np.round(np.clip(problem.y, -1e6, 1e6) * 2**20) / 2**20)
    before = answers(case, rounded, fit(case, rounded))
    found = answers(case, rounded, fit(case, replace(rounded, y=rounded.y + 64)))
    wanted = {name: before[name] + (64 if name == "mean" else 0) for name in ("mean", "std") if name in before}
    return compare(found, wanted, tolerance(case), "targets plus 64")


def _has_target_units(case: Case) -> bool:
    """Whether a parameter is in the units of y."""
    given = dict(case.settings)
    if case.container == "precomputed":
        # The values of a kernel are covariances of y: fixed ones, they have its unit squared.
        return True
    return any(name in given for name in ("C", "epsilon", "nugget")) or case.kernel not in STATIONARY


def _copies(case: Case, problem: Problem, model: Any, expected: Answers) -> float | None:
    if case.weights not in ("ones", "counts", "zeros") or case.container == "precomputed":
        return None
    assert problem.weight is not None
    repeated = problem.take(np.repeat(np.arange(case.rows), problem.weight.astype(int)))
    found = answers(case, problem, fit(case, replace(repeated, weight=None)))
    return compare(found, expected, tolerance(case), "copies instead of weights")


def _memmap(case: Case, problem: Problem, model: Any, expected: Answers) -> float | None:
    if case.container == "array":
        mapped = replace(problem, X=on_disk(problem.X), new=on_disk(problem.new))
        return compare(answers(case, mapped, fit(case, mapped)), expected, EXACT, "rows in a memory map")
    return None


def _dask(case: Case, problem: Problem, model: Any, expected: Answers) -> float | None:
    if case.container not in ("array", "dask"):
        return None
    import dask.array as da

    new = da.from_array(problem.new, chunks=(3, problem.new.shape[1]))
    with_dask = model.predict_proba(new) if case.is_classifier else model.predict(new)
    name = "predict_proba" if case.is_classifier else "mean"
    # Far from all rows a mean is zero but for rounding: its unit is the standard deviation.
    found = {**expected, name: with_dask.compute()}
    gap = compare(found, expected, FIXED, "new rows in a Dask array")
    if case.container == "dask" and case.get("inference") == "sparse":
        local = replace(case, container="array")
        gap = compare(answers(local, problem, fit(local, problem)), expected, EXACT, "rows in a Dask array")
    return gap


def _stream(case: Case, problem: Problem, model: Any, expected: Answers) -> float | None:
    if case.container == "precomputed" or not hasattr(model, "partial_fit"):
        return None
    half = problem.take(np.arange(case.rows // 2, case.rows))
    model.partial_fit(training_rows(case, half), half.y, sample_weight=half.weight)
    answers(case, problem, model)
    # A model that `fit` has made keeps its hyperparameters; those of a stream follow when its weight has doubled.
    stream = clone(model)
    for batch in (problem, half, problem):
        stream.partial_fit(training_rows(case, batch), batch.y, sample_weight=batch.weight)
    answers(case, problem, stream)
    return None


_RELATIONS: dict[str, Callable[[Case, Problem, Any, Answers], float | None]] = {
    "same_seed": _same_seed,
    "row_order": _row_order,
    "column_order": _column_order,
    "scale": _scale,
    "shift": _shift,
    "target_scale": _target_scale,
    "target_shift": _target_shift,
    "negated": _negated,
    "copies": _copies,
    "memmap": _memmap,
    "dask": _dask,
    "save": _save,
    "pickle": _pickle,
    "refit": _refit,
    "stream": _stream,
}
