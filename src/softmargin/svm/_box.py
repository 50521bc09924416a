"""The dual of every support vector machine here, as one box-constrained quadratic problem in beta.

The latent function is f = K beta, with the offset inside K, so there is no equality constraint:

    min over lower <= beta <= upper of   beta'(K + diag(ridge)) beta / 2 - target'beta + epsilon |beta|_1

Hinge: target = y, y beta in [0, C w]. Squared hinge: the same with y beta >= 0 and ridge = 1/(C w).
Epsilon-insensitive: target = t, beta in [-C w, C w]. (Gold & Sollich 2003, section 2; Gao, Gunn & Harris, eq. 2.2.)

Its primal is beta'K beta / 2 + sum_i L_i(r_i) with r = target - f and the loss written as a maximum,

    L_i(r) = max over lower_i <= b <= upper_i of   b r - epsilon |b| - ridge_i b^2 / 2

so that the duality gap is a sum over rows of non-negative terms, free of cancellation (`measure`).
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from softmargin._compiled import njit
from softmargin._linalg import Array

MACHINE_EPSILON = float(np.finfo(float).eps)


@dataclass(frozen=True)
class BoxProblem:
    """The dual problem without its Gram matrix. Arrays have shape (n,)."""

    target: Array
    lower: Array
    upper: Array
    ridge: Array
    """Added to the diagonal of K."""
    epsilon: float = 0.0

    def take(self, rows: NDArray[np.intp]) -> "BoxProblem":
        """Return the problem restricted to some rows, all other weights staying where they are."""
        return BoxProblem(self.target[rows], self.lower[rows], self.upper[rows], self.ridge[rows], self.epsilon)

    def repeated(self, times: float) -> "BoxProblem":
        """Return the problem in which each row stands for so many equal ones; its weight is their sum."""
        return BoxProblem(self.target, self.lower * times, self.upper * times, self.ridge / times, self.epsilon)

    def attained(self, residual: Array) -> Array:
        """Return the b at which the loss L_i(r_i) is attained, shape (n,)."""
        return _attained(residual, self.lower, self.upper, self.ridge, self.epsilon)

    def clip(self, beta: Array) -> Array:
        """Return the feasible point next to beta."""
        return np.clip(beta, self.lower, self.upper)

    def free(self, beta: Array) -> NDArray[np.bool_]:
        """Mask of the weights strictly inside a smooth piece: off the bounds and off the kink at zero."""
        inside = (beta > self.lower) & (beta < self.upper)
        return inside & (beta != 0) if self.epsilon > 0 else inside

    def pieces(self, beta: Array) -> tuple[Array, Array]:
        """Bounds of the smooth piece around each free weight: the box, cut at the kink at zero."""
        if self.epsilon == 0:
            return self.lower, self.upper
        return np.where(beta > 0, 0.0, self.lower), np.where(beta < 0, 0.0, self.upper)

    def measure(self, beta: Array, mean: Array, diag: Array) -> "Measure":
        """Evaluate primal and duality gap at a feasible beta with mean = K beta; diag = diag(K)."""
        return Measure(*_measure(beta, mean, diag, self.target, self.lower, self.upper, self.ridge, self.epsilon))


class Measure(NamedTuple):
    """How far a feasible point is from the optimum."""

    primal: float
    """beta'K beta / 2 + sum of losses: minus ln Q* up to normalising constants."""
    gap: float
    """Primal minus dual, the sum of non-negative terms."""
    rounding: float
    """What the rounding of f = K beta alone can add to the gap."""

    @property
    def relative(self) -> float:
        """The relative duality gap (primal - dual) / primal; primal >= 0 always, and 0 / 0 counts as 0."""
        return self.gap / self.primal if self.gap > 0 else 0.0

    def within(self, tol: float) -> bool:
        """True if the relative gap is at most tol or, below 1e-4, as small as double precision can show."""
        return self.gap <= max(tol * self.primal, min(self.rounding, 1e-4 * self.primal))


@njit(cache=True, error_model="numpy")
def _attains(r, lower, upper, ridge, epsilon):
    """The b that attains L(r)."""
    excess = max(abs(r) - epsilon, 0.0)
    if excess == 0.0:
        return 0.0
    if ridge > 0:
        return min(max(math.copysign(excess, r) / ridge, lower), upper)
    return upper if r > 0 else lower


@njit(cache=True, error_model="numpy")
def _attained(r, lower, upper, ridge, epsilon):
    """`_attains` for every row."""
    best = np.empty(r.size)
    for i in range(r.size):
        best[i] = _attains(r[i], lower[i], upper[i], ridge[i], epsilon)
    return best


@njit(cache=True, error_model="numpy")
def _measure(beta, mean, diag, target, lower, upper, ridge, epsilon):
    """Primal, gap and rounding level; see `Measure`."""
    size = 0.0
    for i in range(beta.size):
        size += math.sqrt(abs(diag[i])) * abs(beta[i])
    primal, gap, rounding = 0.0, 0.0, 0.0
    for i in range(beta.size):
        b, r = beta[i], target[i] - mean[i]
        best = _attains(r, lower[i], upper[i], ridge[i], epsilon)
        primal += 0.5 * b * mean[i] + best * r - epsilon * abs(best) - 0.5 * ridge[i] * best * best
        # L_i(r) - (b r - epsilon |b| - ridge b^2/2), without subtracting large numbers.
        term = (best - b) * (r - 0.5 * ridge[i] * (best + b)) - epsilon * (abs(best) - abs(b))
        gap += max(term, 0.0)
        # |f_i| is rounded by about epsilon sqrt(K_ii) sum_j sqrt(K_jj) |beta_j| (Cauchy-Schwarz).
        rounding += abs(best - b) * math.sqrt(abs(diag[i])) * size
    # Errors of many terms partly cancel: a quarter of the bound is still well above what is seen.
    return primal, gap, 0.25 * MACHINE_EPSILON * rounding
