"""A posterior that is a set of samples: predictions average over them with no Gaussian assumption.

Sollich 2002, section 6: given f at the training rows, f(x) is Gaussian with mean k(x)'K^-1 f and
variance k(x, x) - k(x)'K^-1 k(x). Equation 33 averages the class probability over both. The posterior mean
weights (eq. 36) are averages of K^-1 f and of the slope of ln Q, which have the same mean.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import logsumexp

from softmargin._linalg import Array
from softmargin.inference.posterior import Posterior
from softmargin.likelihoods import Likelihood
from softmargin.sampling import Diagnostics, Draws

BLOCK = 200_000
"""One-dimensional integrals taken at once."""


@dataclass(frozen=True, kw_only=True)
class SampledPosterior(Posterior):
    """Samples of f at the training rows; see `Posterior` for the fields shared with the Gaussian posteriors.

    The sites, where present, are those of the reference Gaussian that guided the sampler.
    """

    draws: Draws = field(repr=False)
    log_evidence_error: float = float("nan")
    """Standard error of `log_evidence`; nan when that is EP's value."""
    max_kept: int = 1000
    """Samples that predictions average over, evenly spaced among the draws."""
    diagnostics: Diagnostics | None = None
    """None without arviz-stats."""
    run: int = 0
    """How many earlier runs, each with random numbers of its own, the chains have gone on from."""

    @property
    def is_gaussian(self) -> bool:
        """Whether f at a new row has a normal distribution: no, it is a mixture."""
        return False

    def kept(self) -> Array:
        """Whitened samples in the eigenvectors' basis, shape (n_kept, n): f = U lambda^1/2 kept."""
        z = self.draws.z.reshape(-1, self.draws.z.shape[-1])
        index = np.linspace(0, len(z) - 1, min(len(z), self.max_kept)).round().astype(int)
        return z[index] @ self.draws.spectrum.vectors

    def _project(self, K_star: Array) -> Array:
        """K_star U lambda^-1/2, shape (n_new, n): the conditional mean of f is this times a kept sample."""
        spectrum = self.draws.spectrum
        return (K_star @ spectrum.vectors) * spectrum.inverse_root_values

    def latent_variance(self, K_star: Array, k_diag: Array) -> Array:
        """Variance of f at new rows: that given the training rows plus that of the conditional means."""
        project = self._project(K_star)
        return _conditional(project, k_diag) + (project @ self.kept().T).var(axis=1)

    def variance_slope(self, K_star: Array) -> Array:
        """Derivative of the variance of f at new rows with respect to K_star, the shape of K_star."""
        spectrum, kept, project = self.draws.spectrum, self.kept(), self._project(K_star)
        gaps = kept - kept.mean(axis=0)
        inner = project @ (gaps.T @ gaps) / len(kept) - project
        return 2.0 * (inner * spectrum.inverse_root_values) @ spectrum.vectors.T

    def latent_covariance(self, K_star: Array, K_new: Array) -> Array:
        """Joint covariance of f at new rows; ``K_new = k(X_new, X_new)``."""
        project = self._project(K_star)
        means = project @ self.kept().T
        means -= means.mean(axis=1, keepdims=True)
        return K_new - project @ project.T + means @ means.T / means.shape[1]

    def components(self, K_star: Array, k_diag: Array) -> tuple[Array, Array]:
        """Mean of f at new rows given each kept sample, shape (n_new, n_kept), and variance given it, (n_new,)."""
        project = self._project(K_star)
        return project @ self.kept().T, _conditional(project, k_diag)

    def sample(self, K_star: Array, K_new: Array, n_samples: int, rng: np.random.RandomState) -> Array:
        """Draw f at new rows, shape (n_new, n_samples): a kept sample at random, then f given it."""
        project, kept = self._project(K_star), self.kept()
        values, vectors = np.linalg.eigh(K_new - project @ project.T)
        root = vectors * np.sqrt(np.maximum(values, 0))
        chosen = kept[rng.randint(len(kept), size=n_samples)]
        return project @ chosen.T + root @ rng.standard_normal((len(K_new), n_samples))

    def log_predictive(self, likelihood: Likelihood, y: Array, K_star: Array, k_diag: Array) -> Array:
        """ln of the average over samples of the integral of N(f; conditional mean, variance) P(y | f) (eq. 33)."""
        normalised, kept = likelihood.normalised(), self.kept()
        result = np.empty(len(K_star))
        rows = max(1, BLOCK // len(kept))
        y = np.broadcast_to(y, len(K_star))
        for first in range(0, len(K_star), rows):
            block = slice(first, first + rows)
            project = self._project(K_star[block])
            means = project @ kept.T
            variance = np.broadcast_to(_conditional(project, k_diag[block])[:, None], means.shape)
            labels = np.broadcast_to(y[block, None], means.shape)
            log_p = normalised.tilted_moments(labels.ravel(), means.ravel(), variance.ravel()).log_z
            result[block] = logsumexp(log_p.reshape(means.shape), axis=1) - np.log(len(kept))
        return result

    def to_arviz(self) -> Any:
        """Return the draws as an ArviZ DataTree: groups ``posterior`` (f) and ``sample_stats``."""
        try:
            from arviz_base import from_dict
        except ImportError as error:
            raise ImportError(
                "to_arviz needs arviz-base; install the extra with `pip install 'softmargin[diagnostics]'`"
            ) from error
        draws = self.draws
        return from_dict(
            {
                "posterior": {"f": draws.f.transpose(1, 0, 2)},
                "sample_stats": {
                    "lp": -draws.energy.T,
                    "energy": draws.energy.T,
                    "energy_error": draws.energy_error.T,
                    "log_likelihood_sum": draws.log_weight.T,
                },
            }
        )


def _conditional(project: Array, k_diag: Array) -> Array:
    """Variance of f given f at the training rows, kept positive against rounding."""
    return np.maximum(k_diag - np.einsum("ij,ij->i", project, project), 1e-12 * k_diag)
