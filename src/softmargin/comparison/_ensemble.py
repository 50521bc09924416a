"""Ensembles of local optima: the models of several trials combined (suggested by Gold & Sollich 2003, section 5.2).

The paper's conclusion adds model selection "only on randomly sampled subsets of data, and then possibly combining the
resulting classifiers": that is `max_samples`.
"""

from typing import Any, Literal

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import VotingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from softmargin.comparison._trials import fit_trial
from softmargin.estimators import BayesianSVC
from softmargin.tuning import blas_threads


def _has_probability(self: Any) -> bool:
    return bool(self.combine != "vote")


class BaggedSelection(ClassifierMixin, BaseEstimator):
    """Tune several times and combine the results, through scikit-learn's `VotingClassifier`.

    Parameters
    ----------
    estimator : BayesianSVC, optional
        What to tune; each trial has its own seed and, if the search follows gradients, its own random start. The
        default is the span estimate with the random walk, whose local optima differ most.
    n_trials : int
        Number of trials that are combined.
    combine : {"average", "evidence", "vote"}
        Average the class probabilities with equal weights or with weights proportional to the evidence (in practice
        close to the single best trial: evidences differ by nats), or let the trials' predictions vote.
    max_samples : int, float or None
        Rows, or share of the rows, that each trial sees, drawn without replacement and in proportion from every class;
        None: all rows. Evidences of different rows cannot be compared, so ``combine="evidence"`` needs None.
    n_jobs : int, optional
        Number of parallel processes (joblib); None: one.
    random_state : int, RandomState or None
        Seed of the draws; None: other draws at every call.

    Attributes
    ----------
    estimators_ : list of BayesianSVC
        The trials; their labels are the positions in `classes_`.
    weights_ : ndarray of shape (n_trials,)
    voting_ : VotingClassifier

    References
    ----------
    Gold & Sollich (2003), Model selection for support vector machine classification, sections 5.2 (an ensemble of local
    optima) and 6 (random subsets).

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(40, noise=0.2, random_state=0)
    >>> BaggedSelection(n_trials=2, random_state=0).fit(X, y).predict(X[:2]).shape
    (2,)
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_trials: int = 10,
        combine: Literal["average", "evidence", "vote"] = "average",
        max_samples: int | float | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.n_trials = n_trials
        self.combine = combine
        self.max_samples = max_samples
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> "BaggedSelection":
        """Run the trials.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to learn from.
        y : array-like of shape (n_samples,)
            Class labels.

        Returns
        -------
        BaggedSelection
            The fitted estimator.
        """
        if self.combine not in ("average", "evidence", "vote"):
            raise ValueError(f"combine={self.combine!r} is not allowed; choose 'average', 'evidence' or 'vote'")
        if self.combine == "evidence" and self.max_samples is not None:
            raise ValueError("combine='evidence' compares evidences of the same rows; use max_samples=None")
        X, y = validate_data(self, X, y)
        self.classes_, index = np.unique(y, return_inverse=True)
        seeds = check_random_state(self.random_state).randint(2**31 - 1, size=self.n_trials)
        base = self.estimator if self.estimator is not None else _default()
        with blas_threads(1):
            self.estimators_ = list(
                Parallel(n_jobs=self.n_jobs)(
                    delayed(fit_trial)(base, X[rows], index[rows], int(seed))
                    for seed, rows in ((seed, _subset(index, self.max_samples, int(seed))) for seed in seeds)
                )
            )
        log_evidence = np.array([model.log_evidence_ for model in self.estimators_])
        weights = np.exp(log_evidence - log_evidence.max()) if self.combine == "evidence" else np.ones(len(seeds))
        self.weights_ = weights / weights.sum()
        named = [(f"trial{k}", FrozenEstimator(model)) for k, model in enumerate(self.estimators_)]
        voting = "hard" if self.combine == "vote" else "soft"
        self.voting_ = VotingClassifier(named, voting=voting, weights=self.weights_).fit(X, index)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Predict the class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels as in `classes_`.
        """
        check_is_fitted(self)
        X = validate_data(self, X, reset=False)
        return self.classes_[self.voting_.predict(X)]

    @available_if(_has_probability)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Average the trials' class probabilities.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Columns in the order of `classes_`.
        """
        check_is_fitted(self)
        X = validate_data(self, X, reset=False)
        return np.asarray(self.voting_.predict_proba(X))


def _subset(index: np.ndarray, max_samples: int | float | None, seed: int) -> np.ndarray:
    """Rows of one trial: the same share of every class, at least one row of each."""
    n = len(index)
    if max_samples is None:
        return np.arange(n)
    share = max_samples / n if isinstance(max_samples, (int, np.integer)) else float(max_samples)
    if not 0 < share <= 1:
        raise ValueError(f"max_samples={max_samples!r} must be a number of rows up to {n}, or a share in (0, 1]")
    rng = np.random.RandomState(seed)
    classes = [np.flatnonzero(index == k) for k in range(index.max() + 1)]
    return np.sort(np.concatenate([rng.choice(own, max(1, round(share * len(own))), False) for own in classes]))


def _default() -> BayesianSVC:
    return BayesianSVC(
        loss="squared_hinge", inference="laplace", criterion="span", search="random_walk", C=1.0, hyperprior=None
    )
