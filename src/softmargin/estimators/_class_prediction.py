"""Predictions of BayesianSVC: log-odds, classes, probabilities, latent functions."""

from typing import Any, Literal

import numpy as np
from scipy.special import log_expit
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from softmargin._linalg import Array
from softmargin._typing import MatrixLike, Seed
from softmargin.machines import ClassificationFit
from softmargin.rows import blockwise
from softmargin.tuning import LatentModel


class ClassPredictionMixin:
    """What a fitted classification says of new rows."""

    _fit: Any
    _validate_new: Any
    classes_: np.ndarray
    random_state: Seed
    decision_function_shape: Literal["ovo", "ovr"]

    @blockwise
    def decision_function(self, X: MatrixLike) -> Array:
        """Compute the log-odds of `predict_proba`, so that prediction, ranking and probability agree.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows to predict, with the columns of `fit`.

        Returns
        -------
        ndarray of shape (n_samples,), (n_samples, n_classes) or (n_samples, n_pairs)
            Of the second of two classes, of each class against the rest, or, with `decision_function_shape="ovo"`, of
            the first class of each pair against the second.
        """
        fitted, X = self._fitted(), self._validate_new(X)
        pairs = self.decision_function_shape == "ovo" and len(fitted.classes) > 2
        return fitted.pair_log_odds(X) if pairs else fitted.log_odds(X)

    @blockwise
    def predict(self, X: MatrixLike) -> np.ndarray:
        """Predict the most probable class.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows to predict, with the columns of `fit`.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels as in `classes_`.
        """
        fitted = self._fitted()
        return fitted.classes[fitted.winners(self._validate_new(X))]

    @blockwise
    def predict_log_proba(self, X: MatrixLike) -> Array:
        """Predict the logarithms of the class probabilities.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows to predict, with the columns of `fit`.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            ln of `predict_proba`, exact also where a probability is too small for it.
        """
        if len(self._fitted().classes) == 2:
            odds = self.decision_function(X)
            return np.stack([log_expit(-odds), log_expit(odds)], axis=1)
        return self._fitted().log_proba(self._validate_new(X))

    @blockwise
    def predict_proba(self, X: MatrixLike) -> Array:
        """Predict class probabilities; see `probability` for what they average.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows to predict, with the columns of `fit`.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Columns in the order of `classes_`.
        """
        return np.exp(self.predict_log_proba(X))

    def latent_mean_and_variance(self, X: MatrixLike) -> tuple[Array, Array]:
        """Compute the posterior mean and variance of the latent function f(x).

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows to predict, with the columns of `fit`.

        Returns
        -------
        mean, variance : ndarray of shape (n_samples,) or (n_samples, n_pairs)
            Moments of f at each row, with one column per pair where there are more than two classes.
        """
        machine, X = self._latent_machine(), self._validate_new(X)
        mean, variance = machine.latent(X)
        if variance.ndim == 1:
            variance = np.repeat(variance[:, None], mean.shape[1], axis=1)
        return (mean[:, 0], variance[:, 0]) if mean.shape[1] == 1 else (mean, variance)

    def sample_latent(self, X: MatrixLike, n_samples: int = 1, random_state: Seed = None) -> Array:
        """Draw latent functions from the posterior at the rows of X.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            Rows to predict, with the columns of `fit`.
        n_samples : int, default=1
            Number of draws.
        random_state : int, RandomState or None, default=None
            None: the estimator's.

        Returns
        -------
        ndarray of shape (n_rows, n_samples) or (n_pairs, n_rows, n_samples)
            One latent function per column; with more than two classes, for each pair.
        """
        models = self._hinge_models("sample_latent")
        X = self._validate_new(X)
        rng = check_random_state(self.random_state if random_state is None else random_state)
        draws = [m.sample(X, n_samples, rng) for m in models]
        return draws[0] if len(draws) == 1 else np.stack(draws)

    def _latent_machine(self) -> Any:
        """The hinge machine, or the first other one."""
        fitted = self._fitted()
        return fitted.stack.members[0].machine if fitted.machine is None else fitted.machine

    def _hinge_models(self, what: str) -> list[LatentModel]:
        """The latent functions of the hinge machine; an error says how to get one."""
        machine = self._fitted().hinge
        if machine is None:
            raise ValueError(f"{what} is that of support vector machines; fit with multi_class='ovo' or stack=False")
        return machine.models

    def _fitted(self) -> ClassificationFit:
        check_is_fitted(self)
        fitted: ClassificationFit = self._fit
        return fitted
