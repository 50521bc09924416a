"""What a fitted classifier says of new rows."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import expit, log_expit
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from softmargin._linalg import Array
from softmargin.estimators._binary import Pair
from softmargin.estimators._model import LatentModel
from softmargin.estimators._multiclass import couple, pairwise_table, temper
from softmargin.rows import blockwise


class ClassPrediction:
    """The prediction methods of `BayesianSVC`."""

    classes_: np.ndarray
    probability: Any
    random_state: Any
    _models: list[LatentModel]
    _pairs: list[Pair]
    _beta: float
    _validate_new: Callable[[Any], Any]

    def _combine(self, log_odds: Array) -> Array:
        """Class probabilities, before tempering, from the log-odds of every binary problem; shape (n, n_classes)."""
        if self._pairs[0][0] < 0:
            p = np.clip(expit(log_odds), 1e-15, None)
            return p / p.sum(axis=1, keepdims=True)
        return couple(pairwise_table(log_odds, self._pairs, len(self.classes_)))

    def _log_proba(self, X: Any) -> Array:
        log_odds = np.stack([m.log_odds(X, self.probability) for m in self._models], axis=1)
        return temper(self._combine(log_odds), self._beta)

    @blockwise
    def decision_function(self, X: Any) -> Array:
        """Log-odds of `predict_proba`, so that prediction, ranking and probability agree.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
        """
        X = self._validate_new(X)
        if len(self.classes_) == 2:
            return self._models[0].log_odds(X, self.probability)
        log_p = self._log_proba(X)
        # ln p - ln(1 - p); 1 - p from the other classes would cancel only where p is 1 to rounding.
        return log_p - np.log(np.maximum(-np.expm1(log_p), 1e-300))

    @blockwise
    def predict(self, X: Any) -> np.ndarray:
        """Predict the most probable class.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        scores = self.decision_function(X)
        index = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[index]

    @blockwise
    def predict_log_proba(self, X: Any) -> Array:
        """Log of the class probabilities, shape (n_samples, n_classes)."""
        check_is_fitted(self)
        if len(self.classes_) == 2:
            odds = self.decision_function(X)
            return np.stack([log_expit(-odds), log_expit(odds)], axis=1)
        return self._log_proba(self._validate_new(X))

    @blockwise
    def predict_proba(self, X: Any) -> Array:
        """Class probabilities, shape (n_samples, n_classes), columns in the order of `classes_`."""
        return np.exp(self.predict_log_proba(X))

    def latent_mean_and_variance(self, X: Any) -> tuple[Array, Array]:
        """Posterior mean and variance of the latent function theta(x).

        Returns
        -------
        mean, variance : ndarrays of shape (n_samples,), or (n_samples, n_pairs) with more than two classes
        """
        X = self._validate_new(X)
        means, variances = zip(*(m.latent(X) for m in self._models))
        if len(self._models) == 1:
            return means[0], variances[0]
        return np.stack(means, axis=1), np.stack(variances, axis=1)

    def sample_latent(self, X: Any, n_samples: int = 1, random_state: Any = None) -> Array:
        """Draw latent functions from the posterior at the rows of X.

        Returns
        -------
        ndarray of shape (n_rows, n_samples), or (n_pairs, n_rows, n_samples) with more than two classes
        """
        X = self._validate_new(X)
        rng = check_random_state(self.random_state if random_state is None else random_state)
        draws = [m.sample(X, n_samples, rng) for m in self._models]
        return draws[0] if len(draws) == 1 else np.stack(draws)
