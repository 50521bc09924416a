"""A noise scale s(x) that varies with x, learnt from leave-one-out residuals.

The noise at x is s(x) times a noise of density p that is the same everywhere. With r a row's leave-one-out residual and
v the variance of the function there, e = r/sd(r) is what the present scale leaves. A Gaussian process (Matern 5/2) with
a fixed noise variance regresses a working response on x:

1. first, when s = 1, ln|e|, whose variance is Var ln|e|: no start is needed, and no outlier pulls far;
2. then Fisher's scoring, ln s + psi(e)/I with psi(e) = -1 - e p'(e)/p(e), the derivative of ln [p(r/s)/s] in ln s, and
   its variance 1/I, I = E psi^2. Of normal noise this has 5/2 times as much information as ln|e|.

It gives ln s a mean and a variance at every row, and at every training row without that row's response.
"""

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from softmargin._linalg import Array
from softmargin.kernels import make_kernel
from softmargin.likelihoods import Gaussian, Likelihood
from softmargin.machines.regression.conjugate import gaussian_inference
from softmargin.policy import POLICY
from softmargin.rows import TrainingRows, spread_of
from softmargin.search import LBFGS
from softmargin.tuning import FixedLikelihood, HyperPrior, LatentModel, Tuning, fit_latent

NOISE = POLICY.noise


@dataclass(frozen=True, eq=False)
class NoiseScale:
    """The function s(x), of geometric mean 1 over the training rows.

    Parameters
    ----------
    model : LatentModel
        Of ln s(x) plus a constant.
    shift : float
        That constant.
    """

    model: LatentModel = field(repr=False)
    shift: float

    def __call__(self, X: Any) -> Array:
        """s at the posterior mean of ln s, shape (n,)."""
        # A search asks for the training rows at every step.
        return self._of_training_rows if X is self.model.rows.X else np.exp(self._bounded(self.model.latent_mean(X)))

    @cached_property
    def _of_training_rows(self) -> Array:
        return np.exp(self._bounded(self.model.latent_mean(self.model.rows.X)))

    def log_moments(self, X: Any) -> tuple[Array, Array]:
        """Mean and standard deviation of ln s, shape (n,) each."""
        mean, variance = self.model.latent(X)
        return self._bounded(mean), NOISE.widen * np.sqrt(variance)

    def left_out(self) -> tuple[Array, Array]:
        """The same at each training row without it, shape (n,) each."""
        found = self.model.posterior.cavities()
        assert found is not None
        return self._bounded(found[0]), NOISE.widen * np.sqrt(found[1])

    def sample(self, X: Any, n_samples: int, rng: np.random.RandomState) -> Array:
        """Draw functions s, shape (n, n_samples)."""
        mean = self.model.latent_mean(X)[:, None]
        away = self.model.sample(X, n_samples, rng) - mean
        return np.exp(self._bounded(mean) + NOISE.widen * away)

    def __sklearn_clone__(self) -> "NoiseScale":
        return self

    def _bounded(self, log_s: Array) -> Array:
        return np.clip(log_s - self.shift, -NOISE.reach, NOISE.reach)


@dataclass(frozen=True)
class Residuals:
    """What a fit says of every training row without it, in units of the noise; shape (n,) each."""

    error: Array
    """Target less mean."""
    variance: Array
    """Of the function."""
    log_s: Array
    """ln of the noise scale of the fit."""

    @property
    def standardised(self) -> Array:
        """e."""
        return self.error / np.sqrt(1 + self.variance)


class LogScale(NamedTuple):
    """What one observation of a noise tells of the logarithm of its scale."""

    log_variance: float
    """Var ln|e|: 1 if the noise is uniform, pi^2/8 if normal, pi^2/6 if Laplace."""
    information: float
    """I: 2 if the noise is normal, 1 if Laplace."""

    @classmethod
    def of(cls, noise: Likelihood) -> "LogScale":
        """By a sum over ln|e|, whose density is 2 p(e) e."""
        log_e = 0.5 * np.log(noise.noise_variance) + np.linspace(-14.0, 6.0, 4001)
        e = np.exp(log_e)
        p = np.exp(noise.log_prob(e, np.zeros_like(e)) + log_e)
        p /= p.sum()
        return cls(float(p @ (log_e - p @ log_e) ** 2), float(p @ score(noise, e) ** 2))


def score(noise: Likelihood, e: Array) -> Array:
    """psi(e), shape (n,); `derivatives` has the slope -p'/p in the function."""
    psi: Array = e * noise.derivatives(e, np.zeros_like(e)).slope - 1
    return psi


def unit_noise(noise: Likelihood) -> Likelihood:
    """The same noise with variance 1; normal noise if it is flatter: edges of its density say too much of the scale."""
    unit = noise.in_units(float(noise.noise_variance) ** -0.5)
    return unit if LogScale.of(unit).log_variance > NOISE.least_variance else Gaussian(1.0)


def learn_scale(rows: TrainingRows, left_out: Residuals, noise: Likelihood, start: Array | None = None) -> NoiseScale:
    """Learn s(x) from the residuals of a fit with this noise.

    Parameters
    ----------
    rows : TrainingRows
    left_out : Residuals
        Of the rows.
    noise : Likelihood
        Of the fit; its shape matters, its scale does not.
    start : ndarray of shape (n_z,), optional
        Where the search for the hyperparameters of an earlier scale ended. Without it this is the first.
    """
    share = rows.weight / rows.weight.sum()
    unit = unit_noise(noise)
    log_scale, e = LogScale.of(unit), left_out.standardised
    if start is None:
        response, variance = left_out.log_s + _log_size(e, share), log_scale.log_variance
    else:
        step = score(unit, np.abs(e)) / log_scale.information
        response, variance = left_out.log_s + np.minimum(step, NOISE.largest_step), 1 / log_scale.information
    targets = replace(rows, y=response - share @ response)
    spread = spread_of(rows.X, rows.weight)
    kernel: Any = make_kernel("matern52", len(spread), spread)
    kernel.k1.k1.constant_value = float(np.exp(NOISE.amplitude[0]))
    likelihood = FixedLikelihood(Gaussian(float(np.sqrt(variance))))
    model = fit_latent(targets, kernel, likelihood, spread, _tuning(len(rows.y)), start)
    return NoiseScale(model, float(share @ model.latent_mean(rows.X)))


def _tuning(n: int) -> Tuning:
    prior = HyperPrior(C=None, amplitude=NOISE.amplitude, length_scale=NOISE.length_scale, shrinkage=NOISE.shrinkage)
    # Above, only the default inference has a prior of low rank.
    inference = gaussian_inference(n)
    return Tuning(inference, None, LBFGS(NOISE.max_iter, NOISE.tol), prior, brief=True)


def _log_size(e: Array, share: Array) -> Array:
    """ln|e|, shape (n,); an error that is small by chance is not smaller than a bound."""
    log_e = np.log(np.maximum(np.abs(e), np.finfo(float).tiny))
    middle = np.quantile(log_e, 0.5, weights=share, method="inverted_cdf")
    return np.maximum(log_e, middle - NOISE.lowest)
