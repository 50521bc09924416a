"""Predictions of BayesianSVR: mean, standard deviation, intervals, quantiles, densities, samples."""

from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_array, check_consistent_length, check_is_fitted

from softmargin._checks import check_number
from softmargin._linalg import Array
from softmargin._typing import MatrixLike, Seed, VectorLike
from softmargin.machines import RegressionFit
from softmargin.rows import blockwise


class TargetPredictionMixin:
    """What a fitted regression says of new rows."""

    _fit: Any
    _validate_new: Any
    random_state: Seed

    @blockwise
    def predict(self, X: MatrixLike, return_std: bool = False, return_cov: bool = False) -> Any:
        """Predict the mean of y, and how far a new y is from it.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows to predict, with the columns of `fit`.
        return_std : bool, default=False
            Also return the standard deviation of y: of the function and of the noise together.
        return_cov : bool, default=False
            Also return the joint covariance of the targets.

        Returns
        -------
        mean : ndarray of shape (n_samples,)
            Predicted mean.
        std or covariance : ndarray of shape (n_samples,) or (n_samples, n_samples)
            Of the targets, noise included; only with `return_std` or `return_cov`.
        """
        if return_std and return_cov:
            raise ValueError("return_std and return_cov are both True; ask for one of them")
        predictive, X = self._fitted().predictive, self._validate_new(X)
        if return_cov:
            return predictive.mean_and_covariance(X)
        return predictive.mean_and_std(X) if return_std else predictive.mean(X)

    @blockwise
    def predict_interval(self, X: MatrixLike, confidence_level: float = 0.95) -> Array:
        """Predict the central interval that a new y falls into with the given probability.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows to predict, with the columns of `fit`.
        confidence_level : float, default=0.95
            Probability that a target falls inside, between 0 and 1.

        Returns
        -------
        ndarray of shape (n_samples, 2)
            Lower and upper ends.
        """
        check_number("confidence_level", confidence_level, low=0, strict=True)
        if confidence_level >= 1:
            raise ValueError(f"confidence_level={confidence_level!r} must lie between 0 and 1, e.g. 0.95")
        tail = (1 - confidence_level) / 2
        return self.predict_quantiles(X, [tail, 1 - tail])

    @blockwise
    def predict_quantiles(self, X: MatrixLike, q: VectorLike) -> Array:
        """Predict quantiles of y: of the posterior and the noise density together, not of a Gaussian.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows to predict, with the columns of `fit`.
        q : float or array-like of shape (n_q,)
            Levels between 0 and 1.

        Returns
        -------
        ndarray of shape (n_samples, n_q)
            One column for each level.
        """
        levels = np.atleast_1d(np.asarray(q, dtype=np.float64))
        if levels.ndim != 1 or not np.all((levels > 0) & (levels < 1)):
            raise ValueError(f"q={q!r} must hold levels strictly between 0 and 1")
        return self._fitted().predictive.quantiles(self._validate_new(X), levels)

    def log_predictive_density(self, X: MatrixLike, y: VectorLike) -> Array:
        """Compute ln p(y | X) of each row, in the units of y.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows to predict, with the columns of `fit`.
        y : array-like of shape (n_samples,)
            Targets at which the density is taken.

        Returns
        -------
        ndarray of shape (n_samples,)
            In nats; larger is better.
        """
        predictive, X = self._fitted().predictive, self._validate_new(X)
        y = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
        check_consistent_length(X, y)
        return predictive.log_density(X, y)

    def latent_mean_and_variance(self, X: MatrixLike) -> tuple[Array, Array]:
        """Compute the posterior mean and variance of the function, without the noise.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows to predict, with the columns of `fit`.

        Returns
        -------
        mean, variance : ndarray of shape (n_samples,)
            Moments of f at each row.
        """
        return self._fitted().predictive.latent(self._validate_new(X))

    @blockwise
    def predict_noise_std(self, X: MatrixLike) -> Array:
        """Standard deviation of the noise, nugget included, at the rows of X: the error bar without the function's.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows to predict, with the columns of `fit`.

        Returns
        -------
        ndarray of shape (n_samples,)
            The same number everywhere if one machine with constant noise predicts.
        """
        predictive, X = self._fitted().predictive, self._validate_new(X)
        _, std = predictive.mean_and_std(X)
        _, variance = predictive.latent(X)
        return np.sqrt(np.maximum(std**2 - variance, 0.0))

    def sample_latent(self, X: MatrixLike, n_samples: int = 1, random_state: Seed = None) -> Array:
        """Draw functions from the posterior at the rows of X.

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
        ndarray of shape (n_rows, n_samples)
            One draw per column.
        """
        predictive, X = self._fitted().predictive, self._validate_new(X)
        return predictive.sample_latent(X, n_samples, self._rng(random_state))

    def sample_y(self, X: MatrixLike, n_samples: int = 1, random_state: Seed = None) -> Array:
        """Draw targets, function plus noise, at the rows of X.

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
        ndarray of shape (n_rows, n_samples)
            One draw per column.
        """
        predictive, X = self._fitted().predictive, self._validate_new(X)
        return predictive.sample_y(X, n_samples, self._rng(random_state))

    def _rng(self, random_state: Seed) -> np.random.RandomState:
        return check_random_state(self.random_state if random_state is None else random_state)

    def _fitted(self) -> RegressionFit:
        check_is_fitted(self)
        fitted: RegressionFit = self._fit
        return fitted
