"""The result of every inference: a posterior over the latent values at the training rows.

Laplace, EP and variational posteriors are Gaussian with one site per row, N(f; nu/tau, 1/tau), and share
the code path below; the SVM itself (MAP) is the same with no variance (`site_precision` is None).
"""

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from scipy.linalg import solve_triangular

from softmargin._linalg import Array
from softmargin.likelihoods import Likelihood


class LatentPosterior(Protocol):
    """What predictions, samples and leave-one-out need of a posterior, whatever made it.

    ``K_star = k(X_new, X)`` has shape (n_new, n), with X the training rows or the inducing points; ``k_diag`` is the
    prior variance k(x, x) at the new rows, shape (n_new,), and ``K_new = k(X_new, X_new)``.
    """

    @property
    def method(self) -> str:
        """The inference that really produced it."""
        ...

    @property
    def log_evidence(self) -> float:
        """ln of the (approximate) evidence in nats, all rows together."""
        ...

    @property
    def has_variance(self) -> bool:
        """Whether predictions have a variance; MAP's do not."""
        ...

    @property
    def is_gaussian(self) -> bool:
        """Whether f at a new row has a normal distribution."""
        ...

    def latent_mean(self, K_star: Array) -> Array:
        """Mean of f at new rows, shape (n_new,)."""
        ...

    def latent_variance(self, K_star: Array, k_diag: Array) -> Array:
        """Variance of f at new rows, shape (n_new,)."""
        ...

    def variance_slope(self, K_star: Array) -> Array:
        """Derivative of `latent_variance` with respect to K_star, the shape of K_star."""
        ...

    def latent_covariance(self, K_star: Array, K_new: Array) -> Array:
        """Joint covariance of f at new rows, shape (n_new, n_new)."""
        ...

    def log_odds(self, likelihood: Likelihood, K_star: Array, k_diag: Array) -> Array:
        """ln P(+1 | x)/P(-1 | x) of a classifier at new rows, averaged over the posterior, shape (n_new,)."""
        ...

    def log_predictive(self, likelihood: Likelihood, y: Array, K_star: Array, k_diag: Array) -> Array:
        """ln of the probability (density) of y at new rows, averaged over the posterior, shape (n_new,)."""
        ...

    def sample(self, K_star: Array, K_new: Array, n_samples: int, rng: np.random.RandomState) -> Array:
        """Draw f at new rows jointly, shape (n_new, n_samples)."""
        ...

    def cavities(self, share: Array | None = None) -> tuple[Array, Array] | None:
        """Leave-one-out mean and variance of f at the training rows, shape (n,) each; None if it has none.

        `share` is the part of each row's copies that is left out, shape (n,); None: all of them.
        """
        ...


def sample_gaussian(mean: Array, covariance: Array, n_samples: int, rng: np.random.RandomState) -> Array:
    """Draw from N(mean, covariance), shape (n, n_samples); the covariance may be singular."""
    values, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(np.maximum(values, 0))
    return mean[:, None] + root @ rng.standard_normal((len(mean), n_samples))


@dataclass(frozen=True)
class Posterior:
    """Latent posterior at the training rows, and what prediction needs of it.

    The latent mean at x is ``k(x, X) @ beta``; its variance is ``k(x, x) - |L^-1 T^1/2 k(X, x)|^2`` with
    T = diag(tau) and L L' = I + T^1/2 K T^1/2. All arrays follow the rows of the Gram matrix given to `infer`.
    """

    beta: Array
    """Weights of the latent mean, shape (n,). For the SVM: y alpha (classification), alpha (regression)."""
    mean: Array
    """Posterior mean of f at the training rows, shape (n,)."""
    log_evidence: float
    """ln of the (approximate) evidence in nats, all rows together, normalising constants included."""
    method: str
    """The inference that really produced this posterior (EP may fall back to "variational")."""
    variance: Array | None = None
    """Posterior variance of f at the training rows, shape (n,); None for MAP."""
    site_precision: Array | None = None
    """tau, shape (n,); None for MAP. Negative entries occur for likelihoods that are not log-concave."""
    site_shift: Array | None = None
    """nu = precision times mean of the sites, shape (n,)."""
    factor: Array | None = field(default=None, repr=False)
    """L (lower Cholesky factor), shape (n, n), when every tau >= 0."""
    precision_gap: Array | None = field(default=None, repr=False)
    """(K + T^-1)^-1, shape (n, n), kept instead of `factor` when some tau < 0."""
    cavity_mean: Array | None = None
    """Leave-one-out mean of f, shape (n,) (ep only)."""
    cavity_variance: Array | None = None
    """Leave-one-out variance of f, shape (n,) (ep only)."""
    d_gram: Array | None = field(default=None, repr=False)
    """Symmetric W of shape (n, n): d log_evidence = sum_ij W_ij dK_ij (the factor 1/2 is inside)."""
    d_params: Array | None = None
    """d log_evidence / d likelihood parameter, shape (n_params,)."""
    converged: bool = True
    n_iter: int = 0

    @property
    def has_variance(self) -> bool:
        """Whether predictions have a variance; MAP's do not."""
        return self.site_precision is not None

    @property
    def is_gaussian(self) -> bool:
        """Whether f at a new row has a normal distribution: yes, or MAP's point."""
        return True

    def latent_mean(self, K_star: Array) -> Array:
        """Mean of f at new rows; ``K_star = k(X_new, X)`` has shape (n_new, n)."""
        return K_star @ self.beta

    def latent_variance(self, K_star: Array, k_diag: Array) -> Array:
        """Variance of f at new rows; ``k_diag = k(x, x)`` has shape (n_new,). Zero for MAP, a point."""
        if self.site_precision is None:
            return np.zeros(len(K_star))
        if self.precision_gap is not None:
            explained = np.einsum("ij,ij->i", K_star @ self.precision_gap, K_star)
        else:
            explained = np.einsum("ij,ij->j", *2 * (self._whiten(K_star),))
        # Rounding must not turn a tiny variance negative; where the kernel is zero, f is 0 to ten digits.
        return np.maximum(k_diag - explained, np.maximum(1e-12 * k_diag, 1e-20))

    def variance_slope(self, K_star: Array) -> Array:
        """Derivative of the variance of f at new rows with respect to K_star, the shape of K_star."""
        if self.site_precision is None:
            return np.zeros_like(K_star)
        if self.precision_gap is not None:
            return -2.0 * (K_star @ self.precision_gap)
        V = self._whiten(K_star)
        inner = solve_triangular(self.factor, V, lower=True, trans=1, check_finite=False, overwrite_b=True)
        return -2.0 * (np.sqrt(self.site_precision)[:, None] * inner).T

    def latent_covariance(self, K_star: Array, K_new: Array) -> Array:
        """Joint covariance of f at new rows; ``K_new = k(X_new, X_new)``."""
        if self.site_precision is None:
            return np.zeros_like(K_new)
        if self.precision_gap is not None:
            return K_new - K_star @ self.precision_gap @ K_star.T
        V = self._whiten(K_star)
        return K_new - V.T @ V

    def sample(self, K_star: Array, K_new: Array, n_samples: int, rng: np.random.RandomState) -> Array:
        """Draw f at new rows jointly, shape (n_new, n_samples)."""
        return sample_gaussian(self.latent_mean(K_star), self.latent_covariance(K_star, K_new), n_samples, rng)

    def cavities(self, share: Array | None = None) -> tuple[Array, Array] | None:
        """Leave-one-out mean and variance of f at the training rows, shape (n,) each; None for MAP.

        A posterior without EP's cavities (variational, Laplace) divides its own sites out, which is the same formula.
        The site of a row of w copies stands for all of them: without one copy it is the site to the power 1 - 1/w.

        Parameters
        ----------
        share : ndarray of shape (n,), optional
            The part of each row's copies that is left out; None: all of them.
        """
        if share is None and self.cavity_mean is not None and self.cavity_variance is not None:
            return self.cavity_mean, self.cavity_variance
        if self.variance is None or self.site_precision is None:
            return None
        tau = self.site_precision if share is None else share * self.site_precision
        v = self.variance / np.maximum(1 - tau * self.variance, 1e-12)
        if share is None:
            return self.mean - v * self.beta, v
        assert self.site_shift is not None
        return v * (self.mean / self.variance - share * self.site_shift), v

    def _whiten(self, K_star: Array) -> Array:
        """L^-1 T^1/2 K_star', shape (n, n_new)."""
        assert self.site_precision is not None
        scaled = np.sqrt(self.site_precision)[:, None] * K_star.T
        return solve_triangular(self.factor, scaled, lower=True, check_finite=False, overwrite_b=True)

    def log_odds(self, likelihood: Likelihood, K_star: Array, k_diag: Array) -> Array:
        """ln P(+1 | x)/P(-1 | x) of a classifier at new rows, averaged over the posterior, shape (n_new,)."""
        one = np.ones(len(K_star))
        if type(self).log_predictive is not Posterior.log_predictive or self.site_precision is None:
            up, down = (self.log_predictive(likelihood, y, K_star, k_diag) for y in (one, -one))
            return up - down
        # The variance costs n^2 per row: once is enough.
        mean, variance, link = self.latent_mean(K_star), self.latent_variance(K_star, k_diag), likelihood.normalised()
        return link.tilted_moments(one, mean, variance).log_z - link.tilted_moments(-one, mean, variance).log_z

    def log_predictive(self, likelihood: Likelihood, y: Array, K_star: Array, k_diag: Array) -> Array:
        """ln of the probability (density) of y at new rows, averaged over the posterior (Sollich 2002, eq. 33)."""
        mean = self.latent_mean(K_star)
        if self.site_precision is None:
            return likelihood.normalised().log_prob(y, mean)
        variance = self.latent_variance(K_star, k_diag)
        return likelihood.normalised().tilted_moments(y, mean, variance).log_z
