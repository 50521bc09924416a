"""The Gaussian that a sampler moves in: the prior N(0, K), or the prior times Gaussian sites (from EP).

With f = K^1/2 z (symmetric root, so that z depends smoothly on the hyperparameters) the prior of z is
N(0, I), and sites exp(nu f - tau f^2 / 2) give it the precision P = I + K^1/2 T K^1/2. Everything
is formed from the eigenvectors of K: a singular Gram matrix needs neither an inverse nor jitter.
The distribution proportional to N(f; 0, K) w(f) then is N(f; m, S) exp(r(f)), with the residual
r = ln w + tau f^2 / 2 - nu f, whose slope is the force g of the samplers.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from scipy.linalg import solve_triangular

from softmargin._linalg import Array, cholesky, log_det_from_cholesky
from softmargin.sampling.targets import Target

EIGENVALUE_FLOOR = 1e-13
"""Eigenvalues of K below this fraction of the largest count as zero wherever K^-1 is applied."""


class HasSites(Protocol):
    """A posterior that may be the prior times Gaussian sites."""

    @property
    def method(self) -> str:
        """The inference that made it."""
        ...

    @property
    def site_precision(self) -> Array | None:
        """tau, shape (n,)."""
        ...

    @property
    def site_shift(self) -> Array | None:
        """nu, shape (n,)."""
        ...


@dataclass(frozen=True)
class Spectrum:
    """Eigen-decomposition K = U diag(lambda) U' with the symmetric root and its pseudo-inverse."""

    values: Array
    """Eigenvalues, ascending, rounding's negative ones set to zero, shape (n,)."""
    vectors: Array
    """U, shape (n, n)."""
    root: Array
    """K^1/2, shape (n, n)."""

    @classmethod
    def of(cls, K: Array) -> "Spectrum":
        """Decompose a Gram matrix."""
        values, vectors = np.linalg.eigh(K)
        top = max(float(values[-1]), 0.0)
        if values[0] < -1e-6 * max(top, np.finfo(float).tiny):
            raise ValueError(
                f"the Gram matrix of order {len(K)} is not positive semi-definite: its smallest eigenvalue is "
                f"{values[0]:.3g}, its largest {top:.3g}. Use a kernel that is a covariance function; ExpSineSquared "
                "is one for a single input only"
            )
        values = np.maximum(values, 0.0)
        return cls(values, vectors, (vectors * np.sqrt(values)) @ vectors.T)

    @cached_property
    def gram(self) -> Array:
        """K = K^1/2 K^1/2, shape (n, n)."""
        return self.root @ self.root

    @property
    def inverse_root_values(self) -> Array:
        """lambda^-1/2, zero for negligible eigenvalues, shape (n,)."""
        keep = self.values > EIGENVALUE_FLOOR * self.values[-1]
        return np.where(keep, 1 / np.sqrt(np.where(keep, self.values, 1.0)), 0.0)


@dataclass(frozen=True)
class Reference:
    """A Gaussian N(m, S) over f, and the matrices that map between f and z.

    Chains are rows: ``f = z @ root``, a draw of z around `z_mean` is ``whiten(noise)``.
    """

    spectrum: Spectrum
    tau: Array
    """Site precisions, shape (n,); zero for the prior."""
    nu: Array
    """Site shifts, shape (n,)."""
    mean: Array
    """m, shape (n,)."""
    z_mean: Array
    """m = K^1/2 z_mean, shape (n,)."""
    draw: Array | None
    """L^-1 with P = L L', shape (n, n): noise to z; None for the prior, whose P is the identity."""
    spread: Array
    """L^-1 K^1/2, shape (n, n): noise to f; S = spread' spread."""
    covariance: Array
    """S, shape (n, n): force to the change of f's velocity."""
    gain: Array
    """K^1/2 P^-1, shape (n, n): force to the change of z's velocity."""
    log_z: float
    """ln of the integral of N(f; 0, K) prod exp(nu f - tau f^2 / 2)."""

    @classmethod
    def prior(cls, K: Array | Spectrum) -> "Reference":
        """The prior N(0, K)."""
        spectrum = K if isinstance(K, Spectrum) else Spectrum.of(K)
        zero, root = np.zeros(len(spectrum.values)), spectrum.root
        # S = K from the clipped eigenvalues, so that it is the square of the root.
        return cls(spectrum, zero, zero, zero, zero, None, root, root @ root, root, 0.0)

    @classmethod
    def sites(cls, K: Array | Spectrum, tau: Array, nu: Array) -> "Reference":
        """The prior times Gaussian sites of precision `tau` and shift `nu`, each of shape (n,)."""
        spectrum = K if isinstance(K, Spectrum) else Spectrum.of(K)
        root = spectrum.root
        L = cholesky(np.eye(len(tau)) + (root * tau) @ root)
        draw = solve_triangular(L, np.eye(len(tau)), lower=True, check_finite=False)
        spread = draw @ root
        z_mean = draw.T @ (spread @ nu)
        mean = root @ z_mean
        log_z = 0.5 * float(nu @ mean) - 0.5 * log_det_from_cholesky(L)
        return cls(spectrum, tau, nu, mean, z_mean, draw, spread, spread.T @ spread, spread.T @ draw, log_z)

    @classmethod
    def posterior(cls, K: Array | Spectrum, posterior: HasSites) -> "Reference":
        """The Gaussian posterior that EP (or the variational inference) found for this Gram matrix."""
        if posterior.site_precision is None or posterior.site_shift is None:
            raise ValueError(f"the {posterior.method!r} posterior has no Gaussian sites; use 'ep' or 'variational'")
        return cls.sites(K, posterior.site_precision, posterior.site_shift)

    def whiten(self, noise: Array) -> Array:
        """Turn standard normal noise into a draw of z around `z_mean`, shape (chains, n)."""
        return noise if self.draw is None else noise @ self.draw

    def residual(self, target: Target, f: Array) -> Array:
        """r(f) = ln w + tau f^2 / 2 - nu f, shape (chains,)."""
        if self.draw is None:
            return target.log_weight(f)
        return target.log_weight(f) + f**2 @ (0.5 * self.tau) - f @ self.nu

    def force(self, target: Target, f: Array) -> Array:
        """Slope of the residual, shape (chains, n)."""
        if self.draw is None:
            return target.slope(f)
        return target.slope(f) + self.tau * f - self.nu

    def sample(self, rng: np.random.Generator, n_chains: int) -> tuple[Array, Array]:
        """Draw (z, f), each of shape (n_chains, n), from the reference Gaussian."""
        noise = rng.standard_normal((n_chains, len(self.mean)))
        return self.z_mean + self.whiten(noise), self.mean + noise @ self.spread
