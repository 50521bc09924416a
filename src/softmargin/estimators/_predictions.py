"""Predictions of a fitted regressor: means, error bars, intervals, quantiles, densities and samples of y.

The predictive distribution is that of a latent value plus epsilon-insensitive noise (Gao, Gunn & Harris, eq. 5.2), in
closed form for a Gaussian posterior and an average of such distributions for a sampled one.
"""

from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_array, check_consistent_length

from softmargin._linalg import Array
from softmargin.estimators._base import check_number
from softmargin.estimators._model import LatentModel
from softmargin.inference import SampledPosterior
from softmargin.kernels import diag, gram
from softmargin.likelihoods import EpsilonInsensitive, NoiseMixture, SampledMixture, sample_noise
from softmargin.rows import blockwise

BLOCK = 200_000
"""One-dimensional distributions inverted at once."""


class TargetPredictions:
    """What a fitted model says of y at new rows (a mixin of the regressor)."""

    random_state: Any
    _validate_new: Any
    _model: LatentModel
    _smooth: LatentModel
    """The same without its WhiteKernel terms."""
    _density: EpsilonInsensitive
    """The noise of the scaled target."""
    y_center_: float
    y_scale_: float

    def _mixture(self, X: Any) -> NoiseMixture:
        """The predictive distribution of the scaled target at validated rows."""
        mean, variance = self._smooth.latent(X)
        return NoiseMixture(self._density, mean, variance + self._model.nugget(X))

    @blockwise
    def predict(self, X: Any, return_std: bool = False, return_cov: bool = False) -> Any:
        """Predict the mean of y, and how far a new y is from it.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        return_std : bool, default=False
            Also return the standard deviation of y: of the function and of the noise together.
        return_cov : bool, default=False
            Also return the joint covariance of the targets.

        Returns
        -------
        mean : ndarray of shape (n_samples,)
        std : ndarray of shape (n_samples,), or covariance : ndarray of shape (n_samples, n_samples)
        """
        if return_std and return_cov:
            raise ValueError("return_std and return_cov are both True; ask for one of them")
        X = self._validate_new(X)
        if return_cov:
            mean, _ = self._smooth.latent(X)
            noise = self._density.noise_variance + self._model.nugget(X)
            covariance = self._smooth.covariance(X) + np.diag(noise)
            return self._to_y(mean), covariance * self.y_scale_**2
        if return_std:
            mixture = self._mixture(X)
            return self._to_y(mixture.mean), mixture.std * self.y_scale_
        return self._to_y(self._smooth.latent_mean(X))

    @blockwise
    def predict_interval(self, X: Any, confidence_level: float = 0.95) -> Array:
        """Central interval that a new y falls into with the given probability.

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
    def predict_quantiles(self, X: Any, q: Any) -> Array:
        """Quantiles of y: of the posterior and the noise density together, not of a Gaussian.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        q : float or array-like of shape (n_q,)
            Levels between 0 and 1.

        Returns
        -------
        ndarray of shape (n_samples, n_q)
        """
        levels = np.atleast_1d(np.asarray(q, dtype=np.float64))
        if levels.ndim != 1 or not np.all((levels > 0) & (levels < 1)):
            raise ValueError(f"q={q!r} must hold levels strictly between 0 and 1")
        X = self._validate_new(X)
        if isinstance(self._smooth.posterior, SampledPosterior):
            return self._to_y(self._sampled_quantiles(X, levels))
        return self._to_y(self._mixture(X).quantile(levels))

    def _sampled_quantiles(self, X: Any, levels: Array) -> Array:
        """Quantiles of the scaled target averaged over the samples of the posterior, shape (n, n_q)."""
        posterior, nugget = self._smooth.posterior, self._model.nugget(X)
        out = np.empty((X.shape[0], len(levels)))
        step = max(1, BLOCK // len(posterior.kept()))
        for first in range(0, X.shape[0], step):
            part = X[first : first + step]
            means, variance = posterior.components(
                gram(self._smooth.kernel, part, self._smooth.rows.X), diag(self._smooth.kernel, part)
            )
            mixture = SampledMixture(self._density, means, variance + nugget[first : first + step])
            out[first : first + step] = mixture.quantile(levels)
        return out

    def log_predictive_density(self, X: Any, y: Any) -> Array:
        """ln p(y | X) of each row, in the units of y; shape (n_samples,)."""
        X = self._validate_new(X)
        y = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
        check_consistent_length(X, y)
        scaled = (y - self.y_center_) / self.y_scale_
        return self._model.log_density(X, scaled) - np.log(self.y_scale_)

    def latent_mean_and_variance(self, X: Any) -> tuple[Array, Array]:
        """Posterior mean and variance of the function, without the noise; shape (n_samples,) each."""
        mean, variance = self._smooth.latent(self._validate_new(X))
        return self._to_y(mean), variance * self.y_scale_**2

    def sample_latent(self, X: Any, n_samples: int = 1, random_state: Any = None) -> Array:
        """Draw functions from the posterior at the rows of X, shape (n_rows, n_samples)."""
        X = self._validate_new(X)
        rng = check_random_state(self.random_state if random_state is None else random_state)
        return self._to_y(self._smooth.sample(X, n_samples, rng))

    def sample_y(self, X: Any, n_samples: int = 1, random_state: Any = None) -> Array:
        """Draw targets, function plus noise, at the rows of X, shape (n_rows, n_samples)."""
        X = self._validate_new(X)
        rng = check_random_state(self.random_state if random_state is None else random_state)
        latent = self._smooth.sample(X, n_samples, rng)
        nugget = np.sqrt(self._model.nugget(X))[:, None] * rng.standard_normal(latent.shape)
        return self._to_y(latent + nugget + sample_noise(self._density, latent.shape, rng))

    def _to_y(self, scaled: Array) -> Array:
        return self.y_center_ + self.y_scale_ * scaled
