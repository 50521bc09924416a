"""Kernels of the distance in units of the length scales: RBF, Matern 1/2, 3/2, 5/2 and rational quadratic.

With D2 = sum_a (x_a - z_a)^2 / l_a^2 and the weight R = -2 dk/dD2 the derivatives are

    dk/dln l_a = R (x_a - z_a)^2 / l_a^2,    dk/dz_a = R (x_a - z_a) / l_a^2,

so that, with P = G o R, A = (X - c) / l and B = (Z - c) / l for any centre c, the contraction is

    sum_ij G_ij dk_ij/dln l_a = sum_i (P1)_i A_ia^2 + sum_j (P'1)_j B_ja^2 - 2 [A'PB]_aa.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy import sparse
from sklearn.gaussian_process.kernels import RBF, Kernel, Matern, RationalQuadratic

from softmargin._linalg import Array
from softmargin.kernels.evaluation.blocks import CACHE_BYTES, row_blocks
from softmargin.kernels.evaluation.distances import (
    Inputs,
    scale_inputs,
    squared,
    squared_distances,
    triangle_of_distances,
)
from softmargin.kernels.evaluation.exponential import gaussian, matern32, matern52
from softmargin.kernels.evaluation.leaves import EMPTY

STRIP = 64
"""Most rows of a symmetric matrix whose triangle is computed at a time: what lies above the diagonal is wasted."""


class Profile(Protocol):
    """A radial kernel as a function of the squared distance D2."""

    smooth: bool
    """Differentiable in D2 at zero."""

    def value(self, D2: Array) -> Array:
        """k(D2)."""
        ...

    def weight(self, D2: Array, K: Array) -> Array:
        """R = -2 dk/dD2, given D2 and K = k(D2)."""
        ...


@dataclass(frozen=True)
class Gaussian:
    """k = exp(-D2/2), R = k."""

    smooth = True

    def value(self, D2: Array) -> Array:
        return np.exp(-0.5 * D2)

    def weight(self, D2: Array, K: Array) -> Array:
        return K


@dataclass(frozen=True)
class Matern12:
    """k = exp(-t), t = D, R = k/t (the derivative vanishes with t: R t^2 = 0 at t = 0)."""

    smooth = False

    def value(self, D2: Array) -> Array:
        return np.exp(-np.sqrt(D2))

    def weight(self, D2: Array, K: Array) -> Array:
        t = np.sqrt(D2)
        return np.divide(K, t, out=np.zeros_like(K), where=t > 0)


@dataclass(frozen=True)
class Matern32:
    """k = (1 + t) exp(-t), t = sqrt(3) D, R = 3 exp(-t)."""

    smooth = True

    def value(self, D2: Array) -> Array:
        t = np.sqrt(3.0 * D2)
        return (1.0 + t) * np.exp(-t)

    def weight(self, D2: Array, K: Array) -> Array:
        return 3.0 * K / (1.0 + np.sqrt(3.0 * D2))


@dataclass(frozen=True)
class Matern52:
    """k = (1 + t + t^2/3) exp(-t), t = sqrt(5) D, R = (5/3) (1 + t) exp(-t)."""

    smooth = True

    def value(self, D2: Array) -> Array:
        t = np.sqrt(5.0 * D2)
        return (1.0 + t + t * t / 3.0) * np.exp(-t)

    def weight(self, D2: Array, K: Array) -> Array:
        t = np.sqrt(5.0 * D2)
        return (5.0 / 3.0) * K * (1.0 + t) / (1.0 + t + t * t / 3.0)


@dataclass(frozen=True)
class Rational:
    """k = (1 + D2/(2 alpha))^-alpha, R = k / (1 + D2/(2 alpha))."""

    alpha: float
    smooth = True

    def value(self, D2: Array) -> Array:
        # exp(-alpha ln(1 + s)) keeps its digits for large alpha, where 1 + s rounds.
        return np.exp(-self.alpha * np.log1p(D2 / (2.0 * self.alpha)))

    def weight(self, D2: Array, K: Array) -> Array:
        return K / (1.0 + D2 / (2.0 * self.alpha))

    def d_log_alpha(self, D2: Array, K: Array) -> Array:
        """dk/dln alpha = alpha k [s/(1+s) - ln(1+s)], s = D2/(2 alpha)."""
        s = D2 / (2.0 * self.alpha)
        return self.alpha * K * (s / (1.0 + s) - np.log1p(s))


LOOPS: dict[type, Any] = {Gaussian: gaussian, Matern32: matern32, Matern52: matern52}
"""Compiled, for matrices of at least `COMPILED_ENTRIES`; others are evaluated by NumPy."""
COMPILED_ENTRIES = 2**18
"""Below, as when a small model predicts, importing the compiler takes longer than it saves."""


def profile_of(kernel: Kernel) -> Profile | None:
    """The profile of a radial kernel, or None if the kernel is not one we know."""
    if type(kernel) is RBF:
        return Gaussian()
    if type(kernel) is RationalQuadratic:
        return Rational(float(kernel.alpha))
    if type(kernel) is Matern:
        known: dict[float, Profile] = {0.5: Matern12(), 1.5: Matern32(), 2.5: Matern52(), np.inf: Gaussian()}
        return known.get(kernel.nu)
    return None


class Radial:
    """A radial kernel at given inputs. Keeps K, and D2 where a derivative needs it.

    Where none does, the distances of a Gram matrix exist a strip of rows at a time.
    """

    def __init__(self, kernel: Kernel, profile: Profile, X: Inputs, Z: Inputs | None, *, gradient: bool) -> None:
        self.profile = profile
        self.length_scale = length_scale_of(kernel, X.shape[1])
        self.isotropic = self.length_scale.size == 1
        # `kernel.hyperparameters` would say so too, but it takes longer than a small Gram matrix.
        bounds = {name: getattr(kernel, f"{name}_bounds", "fixed") for name in ("alpha", "length_scale")}
        self.free = [name for name, box in bounds.items() if not isinstance(box, str)]
        self.same = Z is None
        self.A, self.B = scale_inputs(X, Z, self.length_scale)
        # RBF with a length scale per input: R = K and the formula above never needs D2.
        self.D2: Array | None = None
        if gradient or not self.same or sparse.issparse(X):
            self.D2 = squared_distances(self.A, self.B, smooth=profile.smooth)
            keep = gradient and not (isinstance(profile, Gaussian) and not self.isotropic)
            self.K = np.empty_like(self.D2) if keep else self.D2
        else:
            self.K = np.empty((X.shape[0], X.shape[0]))
        loop = LOOPS.get(type(profile)) if self.K.size >= COMPILED_ENTRIES else None
        for s, D2 in self._strips():
            width = s.stop if self.same else D2.shape[1]
            if loop is not None:
                loop(D2, self.K[s], width)
            else:
                self.K[s, :width] = profile.value(D2[:, :width])
            if self.same:
                # The exponentials dominate the cost: the lower triangle's are computed and mirrored.
                self.K[: s.start, s] = self.K[s, : s.start].T

    def _strips(self) -> Iterator[tuple[slice, Array]]:
        """Rows s and their squared distances to all rows of Z, or at least to the rows of X before s.stop."""
        n, m = self.K.shape
        most = min(CACHE_BYTES, 8 * STRIP * m) if self.same else CACHE_BYTES
        if self.D2 is None:
            yield from triangle_of_distances(self.A, row_blocks(n, m, most), smooth=self.profile.smooth)
            return
        for s in row_blocks(n, m, most):
            yield s, self.D2[s]

    def rows(self, s: slice) -> Array:
        return self.K[s]

    def contract(self, s: slice, G: Array) -> Array:
        if not self.free:
            return EMPTY
        assert self.D2 is not None, "built without derivatives"
        K, D2 = self.K[s], self.D2[s]
        parts = []
        if "alpha" in self.free:
            assert isinstance(self.profile, Rational)
            parts.append(np.atleast_1d(np.vdot(G, self.profile.d_log_alpha(D2, K))))
        if "length_scale" in self.free:
            P = G * self.profile.weight(D2, K)
            parts.append(np.atleast_1d(np.vdot(P, D2)) if self.isotropic else self._per_input(s, P))
        return np.concatenate(parts)

    def _per_input(self, s: slice, P: Array) -> Array:
        """sum_i (P1)_i A_ia^2 + sum_j (P'1)_j B_ja^2 - 2 [A'PB]_aa over the block, shape (d,)."""
        if self.same:
            # Pairs i = i contribute nothing; leaving them in would only add rounding errors that cancel.
            np.fill_diagonal(P[:, s], 0.0)
        A, PB = self.A[s], P @ self.B
        if sparse.issparse(A):
            cross = np.asarray(A.multiply(PB).sum(axis=0)).ravel()
        else:
            cross = np.einsum("ia,ia->a", A, PB)
        return P.sum(axis=1) @ squared(A) + P.sum(axis=0) @ squared(self.B) - 2.0 * cross

    def contract_inputs(self, s: slice, G: Array) -> Array:
        # sum_i P_ij (x_i - z_j) / l^2 = (P'A - diag(P'1) B) / l
        assert self.D2 is not None, "built without derivatives"
        P = G * self.profile.weight(self.D2[s], self.K[s])
        total = P.sum(axis=0)[:, None] * _dense(self.B)
        return (P.T @ self.A[s] - total) / self.length_scale


def _dense(A: Inputs) -> Array:
    return A.toarray() if sparse.issparse(A) else A


def length_scale_of(kernel: Kernel, n_features: int) -> Array:
    """The length scales, shape (d,) or (1,); as many as there are inputs, or a single one."""
    length_scale = np.atleast_1d(np.squeeze(kernel.length_scale)).astype(np.float64)
    if length_scale.ndim > 1 or length_scale.size not in (1, n_features):
        raise ValueError(
            f"{type(kernel).__name__} has {length_scale.size} length scales but the inputs have {n_features} "
            "features; give one length scale, or one for each feature"
        )
    return length_scale
