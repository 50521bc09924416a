"""The sums over rows that sparse inference is made of.

With Kzz = L L' at m inducing points, features f_i = L^-1 k(Z, x_i) and q(v) = N(mu, S), S^-1 = I + A = M M',

    mean_i = f_i' mu,    var_i = k(x_i, x_i) - |f_i|^2 + |M^-1 f_i|^2,

and with g, h the derivatives of the expected log-probability E(mean, var) and w = -2 h the sums

    sum E,    p = sum g f,    A = sum w f f'

are all that an update of q needs. The gradient adds dE/dparameters and the rows' part of the chain rule,
dF/dk(Z, x_i) = L^-T [g_i mu + w_i (I - S) f_i] and dF/dk(x_i, x_i) = h_i.
"""

from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import blas
from sklearn.gaussian_process.kernels import Kernel

from softmargin._linalg import Array, NotPositiveDefiniteError, cholesky, inverse_of_triangle, shifted_cholesky
from softmargin.kernels import contract_cross, contract_diag, contract_inputs, diag, gram, gram_float32
from softmargin.likelihoods import Likelihood
from softmargin.rows import Workspace

JITTER = {"float64": 1e-12, "float32": 1e-6}
"""Relative to the mean of k(z, z). A jittered u = f(Z) + noise is still a lower bound, only a looser one."""
NEGLIGIBLE = 1e-24
"""Share of the largest weight below which a row counts nothing."""
SMALLEST_VARIANCE = 1e-14
"""Relative to k(x, x): a row at an inducing point must not get a negative variance by rounding."""


@dataclass(frozen=True)
class Features:
    """A block of rows as the posterior sees them."""

    F: Any
    """Whitened cross-covariances f_i' = (L^-1 k(Z, x_i))', shape (rows, m)."""
    k_diag: Array
    """k(x_i, x_i), shape (rows,)."""
    residual: Array
    """k(x_i, x_i) - |f_i|^2, what the inducing points cannot explain, shape (rows,)."""


@dataclass(frozen=True)
class WhitenedPrior:
    """The prior at the inducing points, and the map from rows to features."""

    kernel: Kernel
    Z: Array
    """Inducing points, shape (m, d)."""
    L: Array
    """Lower Cholesky factor of Kzz + jitter, shape (m, m)."""
    jitter: float
    """Relative to the mean of the diagonal of Kzz."""
    dtype: str
    """Precision of the row blocks, "float64" or "float32"; sums over blocks are in float64 always."""

    @classmethod
    def at(cls, kernel: Kernel, Z: Array, dtype: str = "float64", least_jitter: float = 0.0) -> "WhitenedPrior":
        """Factor the Gram matrix of the inducing points with the least jitter that works."""
        Kzz = gram(kernel, Z)
        jitter, scale = max(JITTER[dtype], least_jitter), float(np.mean(np.diag(Kzz)))
        while jitter < 1e-2:
            try:
                return cls(kernel, Z, cholesky(Kzz + jitter * scale * np.eye(len(Kzz))), jitter, dtype)
            except NotPositiveDefiniteError:
                jitter *= 10
        raise NotPositiveDefiniteError(
            f"the Gram matrix of {len(Kzz)} inducing points is not positive definite even with a relative jitter of "
            f"{jitter:.0e}: the kernel is not a covariance function, or its values overflow"
        )

    @property
    def bytes_per_row(self) -> int:
        """Memory that one row's features take."""
        return len(self.L) * np.dtype(self.dtype).itemsize + 16

    @cached_property
    def mean_variance(self) -> float:
        """Mean prior variance of the inducing values: that of the diagonal of Kzz."""
        return float(np.einsum("ij,ij->", self.L, self.L)) / len(self.L)

    @cached_property
    def rows_factor(self) -> Any:
        """L in the precision of the row blocks; in single precision without numbers that would become subnormal."""
        L = self.L if self.dtype == "float64" else significant(self.L, 1e-10)
        return L.astype(self.dtype, copy=False)

    def features(self, X: Any, out: Any = None) -> Features:
        """Whiten the cross-covariances of a block of rows, in the memory of `out` (rows, m) if given."""
        k_diag = diag(self.kernel, X)
        K = gram_float32(self.kernel, X, self.Z, out) if self.dtype == "float32" else gram(self.kernel, X, self.Z)
        F = solve_rows(self.rows_factor, K, overwrite=True)
        explained = np.einsum("ij,ij->i", F, F).astype(np.float64, copy=False)
        return Features(F, k_diag, np.maximum(k_diag - explained, SMALLEST_VARIANCE * k_diag))


def solve_rows(L: Array, rows: Any, overwrite: bool = False) -> Any:
    """(L^-1 rows')', shape (n, m): forward substitution for every row, in the rows' own precision."""
    trsm = blas.strsm if rows.dtype == np.float32 else blas.dtrsm
    # C-ordered rows are the columns of a Fortran-ordered matrix: nothing is transposed in memory.
    return trsm(1.0, L.astype(rows.dtype, copy=False), rows.T, lower=1, overwrite_b=int(overwrite)).T


def multiply_rows(T: Array, rows: Any, *, transposed: bool = False, overwrite: bool = False) -> Any:
    """(T rows')' or (T' rows')' of a lower triangular T, shape (n, m), in the rows' own precision."""
    trmm = blas.strmm if rows.dtype == np.float32 else blas.dtrmm
    T = T.astype(rows.dtype, copy=False)
    return trmm(1.0, T, rows.T, lower=1, trans_a=int(transposed), overwrite_b=int(overwrite)).T


def significant(w: Array, share: float = NEGLIGIBLE) -> Array:
    """The weights of rows in a sum, without those that rounding would swallow: up to a share of the largest.

    Products with them would be subnormal numbers, of which one costs as much as a hundred others. Far from the kinks of
    a likelihood weights are as small as exp(-1000), and with many rows most of them are far in units of the posterior.
    """
    size = np.abs(w)
    return np.where(size > share * size.max(initial=0.0), w, 0.0)


@dataclass(frozen=True)
class RowSums:
    """Sums over rows; additive."""

    value: float
    """sum E."""
    force: Array
    """p = sum g f, shape (m,)."""
    precision: Array
    """A = sum w f f', shape (m, m)."""
    d_params: Array
    """sum dE/d parameter, shape (n_params,)."""
    d_theta: Array | None = None
    """The rows' part of the gradient with respect to kernel.theta, shape (n_theta,)."""
    d_Z: Array | None = None
    """The rows' part of the gradient with respect to the inducing points, shape (m, d)."""

    def add(self, other: "RowSums") -> "RowSums":
        """Add two sums field by field."""
        sums: dict[str, Any] = {}
        for f in fields(self):
            mine = getattr(self, f.name)
            sums[f.name] = None if mine is None else mine + getattr(other, f.name)
        return RowSums(**sums)

    def absorb(self, other: "RowSums") -> "RowSums":
        """Add other sums in the memory of these arrays, which must be this object's own."""
        for f in fields(self):
            mine = getattr(self, f.name)
            if isinstance(mine, np.ndarray):
                mine += getattr(other, f.name)
        return replace(self, value=self.value + other.value)

    def owned(self) -> "RowSums":
        """The same sums with a float64 matrix of its own."""
        return replace(self, precision=np.array(self.precision, dtype=np.float64))


@dataclass(frozen=True)
class WhitenedGaussian:
    """q(v) = N(mu, (M M')^-1) in whitened coordinates."""

    mean: Array
    """mu, shape (m,)."""
    factor: Array
    """M, the lower Cholesky factor of S^-1, shape (m, m)."""

    @cached_property
    def inverse(self) -> Array:
        """M^-1, shape (m, m), so that rows are multiplied: half the time of solving for each of them.

        Where sites have positive precisions S^-1 = I + A is at least I, and M^-1 at most 1 in norm: nothing is lost.
        """
        return inverse_of_triangle(self.factor)

    @classmethod
    def prior(cls, m: int) -> "WhitenedGaussian":
        """N(0, I)."""
        return cls(np.zeros(m), np.eye(m))

    @classmethod
    def from_natural(cls, precision: Array, shift: Array) -> "WhitenedGaussian":
        """The Gaussian with S^-1 = precision and S^-1 mu = shift."""
        factor = shifted_cholesky(precision)
        half = blas.dtrsm(1.0, factor, shift[:, None], lower=1)
        return cls(blas.dtrsm(1.0, factor, half, lower=1, trans_a=1)[:, 0], factor)

    @classmethod
    def from_sums(cls, sums: RowSums) -> "WhitenedGaussian":
        """S^-1 = I + A, S^-1 mu = p: the posterior of Gaussian sites."""
        return cls.from_natural(np.eye(len(sums.force)) + sums.precision, sums.force)

    def divergence(self) -> float:
        """KL(q || N(0, I)) = (tr S + mu'mu - m - ln det S)/2."""
        log_det, spread = 2 * float(np.sum(np.log(np.diag(self.factor)))), float(np.vdot(self.inverse, self.inverse))
        return 0.5 * (spread + float(self.mean @ self.mean) - len(self.mean) + log_det)


@dataclass(frozen=True)
class StartStatistic:
    """The sums of the likelihood's own initial sites (regression: Gaussian noise of the same variance)."""

    prior: WhitenedPrior
    likelihood: Any

    def __call__(
        self,
        X: Any,
        y: Array,
        weight: Array | None,
        features: Features | None = None,
        workspace: Workspace | None = None,
    ) -> RowSums:
        """Sum the sites."""
        F = (self.prior.features(X) if features is None else features).F
        tau, nu = self.likelihood.initial_sites(np.asarray(y, dtype=np.float64), weight)
        G = np.sqrt(tau).astype(F.dtype)[:, None] * F
        force = np.asarray(nu.astype(F.dtype) @ F, dtype=np.float64)
        return RowSums(0.0, force, np.asarray(G.T @ G, dtype=np.float64), np.zeros(0))


@dataclass(frozen=True)
class RowStatistic:
    """The sums of one block of rows, at given hyperparameters and q. Plain data: it travels to a cluster."""

    prior: WhitenedPrior
    q: WhitenedGaussian
    likelihood: Likelihood
    gradient: bool = False
    """Also the gradient with respect to kernel.theta."""
    gradient_inputs: bool = False
    """Also the gradient with respect to Z."""

    @cached_property
    def rows_inverse(self) -> Any:
        """M^-1 in the precision of the row blocks."""
        return self.q.inverse.astype(self.prior.dtype, copy=False)

    def __call__(
        self,
        X: Any,
        y: Array,
        weight: Array | None,
        features: Features | None = None,
        workspace: Workspace | None = None,
    ) -> RowSums:
        """Sum over the rows of a block; `features` are those of X, if already known.

        With a workspace the matrix of the sums lies in it, in the precision of the block, until the next block.
        """
        features = self.prior.features(X) if features is None else features
        F, dtype = features.F, features.F.dtype
        memory = Workspace() if workspace is None else workspace
        mean = np.asarray(F @ self.q.mean.astype(dtype), dtype=np.float64)
        work = memory.array("work", F.shape, dtype)
        work[...] = F
        work = multiply_rows(self.rows_inverse, work, overwrite=True)
        variance = features.residual + np.einsum("ij,ij->i", work, work)
        expected = self.likelihood.expected_log_prob(np.asarray(y, dtype=np.float64), mean, variance, weight)
        # A likelihood that is not log-concave can ask for negative precision, which is clipped: q stays proper.
        w = significant(np.maximum(-2 * expected.d_var, 0))
        G = np.multiply(np.sqrt(w).astype(dtype)[:, None], F, out=work)
        sums = RowSums(
            value=float(expected.value.sum()),
            force=np.asarray(significant(expected.d_mean).astype(dtype) @ F, dtype=np.float64),
            precision=np.matmul(G.T, G, out=memory.array("precision", (F.shape[1],) * 2, dtype)),
            d_params=expected.d_params.sum(axis=1),
        )
        if not self.gradient:
            return sums.owned() if workspace is None else sums
        w = significant(-2 * expected.d_var)
        d_cross = self._d_cross(F, expected.d_mean, w)
        d_theta = contract_cross(self.prior.kernel, X, self.prior.Z, d_cross)
        d_theta += contract_diag(self.prior.kernel, X, expected.d_var)
        d_Z = contract_inputs(self.prior.kernel, X, self.prior.Z, d_cross) if self.gradient_inputs else None
        precision = np.asarray((w.astype(dtype)[:, None] * F).T @ F, dtype=np.float64)
        return RowSums(sums.value, sums.force, precision, sums.d_params, d_theta, d_Z)

    def _d_cross(self, F: Any, g: Array, w: Array) -> Array:
        """dF/dk(x_i, z_j) = g_i L^-T mu + w_i f_i'(I - S) L^-1, shape (rows, m)."""
        L, q = self.prior.L, self.q
        beta = blas.dtrsm(1.0, L, q.mean[:, None], lower=1, trans_a=1)[:, 0]
        project = blas.dtrsm(1.0, L, np.eye(len(L)) - q.inverse.T @ q.inverse, lower=1, trans_a=1).T
        rows = F @ project.astype(F.dtype)
        return np.asarray(rows, dtype=np.float64) * w[:, None] + np.outer(g, beta)
