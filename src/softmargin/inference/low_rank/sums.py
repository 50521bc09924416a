"""What one sweep of low-rank EP needs of a block of rows.

With features f_i = L^-1 k(Z, x_i), D_i = k(x_i, x_i) - |f_i|^2 and u ~ N(0, I) the prior of row i is
f_i'u + sqrt(D_i) e_i. Sites sit on gamma_i = f_i'u, t_i = exp(-a_i gamma_i^2/2 + c_i gamma_i). A sweep is

1. `SiteStatistic`: B = I + sum a_i f_i f_i' = C C' and sum c_i f_i, which give the posterior N(mu, B^-1) of u;
2. `TiltedStatistic`: for every row s_i = |C^-1 f_i|^2 and g_i = f_i'mu, variance and mean of gamma_i; the cavity
   k = 1 - a s, s_c = s/k, m = (g - c s)/k, v = s_c + D; and the site that matches the tilted moments there,
   a = -h/q, c = (d - m h)/q, q = 1 + s_c h, with d, h the first two derivatives of ln Z_i in m.

Sites are numbers of a row: they stay with whoever asks for the sums, and each block gets its own.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import blas

from softmargin._linalg import Array
from softmargin.inference._sparse_sums import (
    Features,
    RowSums,
    WhitenedGaussian,
    WhitenedPrior,
    multiply_rows,
    significant,
)
from softmargin.likelihoods import Likelihood, TiltedMoments
from softmargin.rows import Workspace

SMALLEST_RESIDUAL = 1e-12
"""Smallest D_i, in units of the mean prior variance of the inducing values: variances are divided by."""


@dataclass(frozen=True)
class SiteStatistic:
    """Sums of the sites of a block of rows: sum a f f' (lower triangle) and sum c f."""

    prior: WhitenedPrior

    def __call__(
        self, X: Any, y: Array, weight: Array | None, state: Array, features: Features, workspace: Workspace
    ) -> tuple[RowSums, None]:
        """Sum over a block with sites `state` = (a, c)."""
        a, c = state
        F = features.F
        pull = np.asarray(c.astype(F.dtype, copy=False) @ F, dtype=np.float64)
        return RowSums(0.0, pull, weighted_gram(F, a, workspace), np.zeros(0)), None


def weighted_gram(F: Any, w: Array, workspace: Workspace) -> Any:
    """Lower triangle of sum_i w_i f_i f_i', shape (m, m), in the precision of F; w may be negative."""
    syrk, w = blas.ssyrk if F.dtype == np.float32 else blas.dsyrk, significant(w)
    root = np.sqrt(np.maximum(w, 0)).astype(F.dtype, copy=False)
    scaled = np.multiply(F, root[:, None], out=workspace.array("work", F.shape, F.dtype))
    # C-ordered rows are the columns of a Fortran-ordered matrix: nothing is transposed in memory.
    total = syrk(1.0, scaled.T, lower=1)
    minus = np.flatnonzero(w < 0)
    if len(minus):
        scaled = F[minus] * np.sqrt(-w[minus]).astype(F.dtype, copy=False)[:, None]
        total = syrk(-1.0, scaled.T, beta=1.0, c=total, lower=1, overwrite_c=1)
    return total


@dataclass(frozen=True)
class StartStatistic:
    """Per row the likelihood's own initial site (tau, nu) on f, or none, and the unexplained variance D."""

    prior: WhitenedPrior
    likelihood: Likelihood

    def __call__(
        self, X: Any, y: Array, weight: Array | None, state: Array, features: Features, workspace: Workspace
    ) -> tuple["TiltedSums", Array]:
        """Evaluate a block; `state` is not used."""
        sites = self.likelihood.initial_sites(np.asarray(y, dtype=np.float64), weight)
        tau, nu = np.zeros((2, len(y))) if sites is None else sites
        return TiltedSums(0.0, np.zeros(0), 0.0, 1.0), np.stack([tau, nu, unexplained(self.prior, features)])


def unexplained(prior: WhitenedPrior, features: Features) -> Array:
    """D of a block of rows, kept above zero; shape (rows,)."""
    return np.maximum(features.residual, SMALLEST_RESIDUAL * prior.mean_variance)


@dataclass(frozen=True)
class Marginals:
    """A block of rows under the posterior of u; arrays of shape (rows,)."""

    W: Any
    """C^-1 f_i, shape (rows, m), in a workspace's memory."""
    a: Array
    c: Array
    D: Array
    s: Array
    """Posterior variance of gamma."""
    gamma: Array
    """Posterior mean of gamma."""
    keep: Array
    """k = 1 - a s; a cavity is proper where it is positive."""

    @classmethod
    def of(
        cls, prior: WhitenedPrior, q: WhitenedGaussian, state: Array, features: Features, workspace: Workspace
    ) -> "Marginals":
        """Marginals of a block with sites `state` = (a, c)."""
        F = features.F
        work = workspace.array("work", F.shape, F.dtype)
        work[...] = F
        W = multiply_rows(q.inverse, work, overwrite=True)
        s = np.einsum("ij,ij->i", W, W).astype(np.float64, copy=False)
        gamma = np.asarray(F @ q.mean.astype(F.dtype, copy=False), dtype=np.float64)
        return cls(W, state[0], state[1], unexplained(prior, features), s, gamma, 1 - state[0] * s)

    @property
    def cavity_spread(self) -> Array:
        """s_c: cavity variance of gamma."""
        return self.s / self.keep

    @property
    def cavity_mean(self) -> Array:
        """m: cavity mean of gamma and of f."""
        return (self.gamma - self.c * self.s) / self.keep

    @property
    def variance(self) -> Array:
        """Posterior variance of f."""
        return self.s + self.D

    def tilted(self, likelihood: Likelihood, y: Array, weight: Array | None) -> TiltedMoments:
        """Tilted moments at the cavities N(m, s_c + D)."""
        y = np.asarray(y, dtype=np.float64)
        return likelihood.tilted_moments(y, self.cavity_mean, self.cavity_spread + self.D, weight)


@dataclass(frozen=True)
class TiltedSums:
    """Sums over rows of a sweep; additive, but for the two maxima."""

    value: float
    """The rows' part of ln Z_EP."""
    d_params: Array
    """sum d ln Z_i / d parameter, shape (n_params,)."""
    residual: float
    """Largest gap between tilted and posterior moments; inf if a cavity is improper."""
    confidence: float
    """Largest cavity variance in units of the posterior variance: 1 + v h loses so many digits."""

    def add(self, other: "TiltedSums") -> "TiltedSums":
        """Add two sums."""
        return TiltedSums(
            self.value + other.value,
            self.d_params + other.d_params,
            max(self.residual, other.residual),
            max(self.confidence, other.confidence),
        )

    absorb = add

    def owned(self) -> "TiltedSums":
        """The sums themselves: they use no workspace."""
        return self


@dataclass(frozen=True)
class TiltedStatistic:
    """Compare tilted and posterior moments of a block of rows, at a posterior of u.

    Per row it gives the matching site (a, c), the posterior variance of f, the cavity's mean and variance, and D.
    """

    prior: WhitenedPrior
    q: WhitenedGaussian
    likelihood: Likelihood

    def __call__(
        self, X: Any, y: Array, weight: Array | None, state: Array, features: Features, workspace: Workspace
    ) -> tuple[TiltedSums, Array]:
        """Evaluate a block with sites `state` = (a, c)."""
        r = Marginals.of(self.prior, self.q, state, features, workspace)
        if not r.keep.min() > 0:
            n_params = len(self.likelihood.param_names)
            return TiltedSums(0.0, np.zeros(n_params), np.inf, 1.0), np.zeros((6, len(r.s)))
        m, spread = r.cavity_mean, r.cavity_spread
        tilted = r.tilted(self.likelihood, y, weight)
        shrink = 1 + spread * tilted.d2_mean
        target = -tilted.d2_mean / shrink, (tilted.d_mean - m * tilted.d2_mean) / shrink
        variance = r.variance
        gap = np.maximum(
            np.abs(m + spread * tilted.d_mean - r.gamma) / np.sqrt(variance),
            np.abs(spread * shrink - r.s) / variance,
        ).max()
        # ln of the integral of q(gamma) over the site: -ln(k)/2 + (a gamma^2 - 2 c gamma + c^2 s)/(2 k).
        site = -0.5 * np.log(r.keep) + 0.5 * (r.a * r.gamma**2 - 2 * r.c * r.gamma + r.c**2 * r.s) / r.keep
        sums = TiltedSums(
            value=float(np.sum(tilted.log_z + site)),
            d_params=tilted.d_params.sum(axis=1),
            residual=float(gap) if np.isfinite(gap) else np.inf,
            confidence=float(np.max((spread + r.D) / variance)),
        )
        return sums, np.stack([*target, variance, m, spread + r.D, r.D])
