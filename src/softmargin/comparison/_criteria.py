"""Repeated trials of several model-selection criteria on one data set (Gold & Sollich 2003, section 5.2)."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.model_selection import train_test_split
from sklearn.utils import check_random_state

from softmargin.comparison._trials import Draw, fit_trial
from softmargin.criteria import get_criterion
from softmargin.estimators import BayesianSVC
from softmargin.inference import MAP, Laplace
from softmargin.tuning import blas_threads

Criteria = Sequence[str] | Mapping[str, BayesianSVC]


@dataclass(frozen=True)
class Trial:
    """One tuning of one criterion."""

    label: str
    number: int
    test_error: float
    """Fraction of the test rows that are misclassified."""
    criterion: float
    """The criterion at the end, in its own units."""
    n_evaluations: int
    cpu_seconds: float
    path: list[dict[str, Any]] = field(repr=False)
    """Every evaluation of the search."""


@dataclass(frozen=True)
class CriteriaComparison:
    """All trials, and what they amount to."""

    trials: list[Trial] = field(repr=False)

    @property
    def labels(self) -> list[str]:
        """The criteria, in the order given."""
        return list(dict.fromkeys(trial.label for trial in self.trials))

    def errors(self, label: str) -> np.ndarray:
        """Test errors of one criterion's trials, shape (n_trials,)."""
        return np.array([trial.test_error for trial in self.trials if trial.label == label])

    def summary(self) -> list[dict[str, Any]]:
        """One row per criterion: mean, standard deviation and best of the test errors, and the cost."""
        rows = []
        for label in self.labels:
            mine = [trial for trial in self.trials if trial.label == label]
            errors = self.errors(label)
            seconds, evaluations = (sum(getattr(t, name) for t in mine) for name in ("cpu_seconds", "n_evaluations"))
            rows.append(
                {
                    "criterion": label,
                    "n_trials": len(mine),
                    "mean_error": float(errors.mean()),
                    "sd_error": float(errors.std(ddof=1)) if len(mine) > 1 else 0.0,
                    "best_error": float(errors.min()),
                    "evaluations": evaluations / len(mine),
                    "seconds_per_evaluation": seconds / max(evaluations, 1),
                }
            )
        return rows

    def to_frame(self) -> Any:
        """Return the trials as a tidy pandas DataFrame, one row per trial (needs pandas)."""
        import pandas as pd

        names = ("label", "number", "test_error", "criterion", "n_evaluations", "cpu_seconds")
        return pd.DataFrame([{name: getattr(trial, name) for name in names} for trial in self.trials])


def criterion_estimator(name: str, kernel: Any = None, **parameters: Any) -> BayesianSVC:
    """Return the estimator that tunes by one criterion as the papers do: no hyperprior, and the SVM as predictor.

    Criteria of the SVM's solution depend on C K only, so C is 1 for them. Criteria without a gradient, and all of Gold
    & Sollich's, are searched by the random walk; "auto" is the default of `BayesianSVC`.
    """
    if name == "auto":
        return BayesianSVC(kernel, **parameters)
    criterion: Any = get_criterion(name)
    simple = criterion.inference in (MAP, Laplace)
    settings: dict[str, Any] = {
        "criterion": name,
        "loss": "hinge" if "hinge" in criterion.losses() else criterion.losses()[0],
        "inference": "map" if simple else "ep",
        "search": "random_walk" if simple else "lbfgs",
        "hyperprior": None,
        "C": 1.0 if criterion.inference is MAP and name != "kwok" else None,
    }
    return BayesianSVC(kernel, **{**settings, **parameters})


def compare_criteria(
    X: Any,
    y: Any,
    criteria: Criteria = ("laplace_evidence", "gacv", "span"),
    *,
    X_test: Any = None,
    y_test: Any = None,
    test_size: float = 0.5,
    n_trials: int = 25,
    kernel: Any = None,
    draw: Draw | None = None,
    n_jobs: int | None = None,
    random_state: Any = None,
    verbose: int = 0,
) -> CriteriaComparison:
    """Tune several times by each criterion and compare the test errors.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Inputs to tune on, and to hold out from unless `X_test` is given.
    y : array-like of shape (n_samples,)
        Class labels.
    criteria : sequence of str, or mapping from label to BayesianSVC
        Names are tuned by `criterion_estimator`.
    X_test, y_test : array-like, optional
        Rows to test on; without them a stratified share `test_size` of X is held out.
    test_size : float, default=0.5
        Share of the rows that is held out if there is no `X_test`.
    n_trials : int
        Trials per criterion, each with its own seed; a search by gradients also gets a random start.
    kernel : see BayesianSVC
        Used for criteria given by name.
    draw : callable, optional
        Makes the random start of a search by gradients: (kernel, RandomState) -> kernel. Default: uniform within a
        factor e of the estimator's own start.
    n_jobs : int, optional
        Number of trials that run in parallel (joblib).
    random_state : int, RandomState or None, default=None
        Seed of the split and of the trials.
    verbose : int, default=0
        Verbosity of joblib.

    Returns
    -------
    CriteriaComparison
        All trials, with a summary for each criterion.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(60, noise=0.2, random_state=0)
    >>> result = compare_criteria(X, y, ["gacv", "span"], n_trials=2, kernel="rbf", random_state=0)
    >>> [row["criterion"] for row in result.summary()]
    ['gacv', 'span']
    """
    X, y = np.asarray(X, dtype=float), np.asarray(y)
    rng = check_random_state(random_state)
    if X_test is None:
        X, X_test, y, y_test = train_test_split(X, y, test_size=test_size, stratify=y, random_state=rng)
    if not isinstance(criteria, Mapping):
        criteria = {name: criterion_estimator(name, kernel) for name in criteria}
    seeds = rng.randint(2**31 - 1, size=n_trials)
    jobs = [(label, estimator, k, int(seed)) for label, estimator in criteria.items() for k, seed in enumerate(seeds)]
    with blas_threads(1):
        trials = Parallel(n_jobs=n_jobs, verbose=verbose)(
            delayed(_trial)(label, estimator, X, y, X_test, y_test, k, seed, draw) for label, estimator, k, seed in jobs
        )
    return CriteriaComparison(list(trials))


def _trial(
    label: str, estimator: BayesianSVC, X: Any, y: Any, X_test: Any, y_test: Any, number: int, seed: int, draw: Any
) -> Trial:
    start = time.process_time()
    model = fit_trial(estimator, X, y, seed, draw)
    seconds = time.process_time() - start
    path = model.search_path_
    error = float(np.mean(model.predict(X_test) != np.asarray(y_test)))
    by_default = isinstance(estimator.criterion, str) and estimator.criterion == "auto"
    name = "loo" if by_default else estimator.criterion
    return Trial(label, number, error, model.criterion_value(name), len(path), seconds, path)
