"""The SVM's solution as a differentiable function of the Gram matrix and the parameters, on its active set.

Rows whose weight is at a bound stay there; the free rows F solve (K + D)_FF b_F = (t - epsilon sigma)_F - K_FU b_U with
sigma = sign(b) and U the hard rows, so as long as no row changes sides

    (K + D)_FF db_F = -(dK b)_F - (dD b)_F - (K db_U)_F - sigma_F d epsilon.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve

from softmargin._linalg import Array, jittered_cholesky
from softmargin.svm._box import BoxProblem
from softmargin.svm._gram import gather

Rows = NDArray[np.intp]


@dataclass(frozen=True)
class ActiveSet:
    """The solution, its free and hard rows, and the factor of the free rows' equations."""

    K: Array
    problem: BoxProblem
    C: float
    beta: Array
    """The weights, shape (n,), exact on the free rows."""
    mean: Array
    """K beta."""
    free: Rows
    """Row numbers strictly between the bounds (for the hinge: the marginal support vectors)."""
    hard: Rows
    """Row numbers at their upper bound."""
    factor: Array
    """L L' = (K + D)_FF."""

    @property
    def alpha(self) -> Array:
        """The papers' ``alpha = |beta|``, shape (n,)."""
        return np.abs(self.beta)

    def solve(self, x: Array) -> Array:
        """(K + D)_FF^-1 x for x of shape (n_free, ...)."""
        return cho_solve((self.factor, True), x, check_finite=False)

    def pull_back(self, on_beta: Array) -> tuple[Array, Array]:
        """Turn a gradient with respect to beta, shape (n,), into one with respect to K and to (C, epsilon).

        Returns the symmetric W of shape (n, n) with d value = sum_ij W_ij dK_ij, and an array of shape (2,).
        """
        F, U, b = self.free, self.hard, self.beta
        v = np.zeros_like(b)
        v[F] = self.solve(on_beta[F])
        half = np.outer(v, -0.5 * b)
        # dD = -D dC/C and db_U = b_U dC/C
        by_C = v @ (self.problem.ridge * b) - v[F] @ (self.K[np.ix_(F, U)] @ b[U]) + on_beta[U] @ b[U]
        return half + half.T, np.array([by_C / self.C, -v[F] @ np.sign(b[F])])


def active_set(K: Array, problem: BoxProblem, C: float, beta: Array, mean: Array) -> ActiveSet:
    """Sharpen the free weights of the solution ``mean = K beta`` to machine precision.

    One Newton step on the free rows; it is not taken if it would leave the box (the active set is not final then).
    """
    beta = problem.clip(beta)
    free = np.flatnonzero((beta != 0) & (beta > problem.lower) & (beta < problem.upper))
    hard = np.flatnonzero((beta != 0) & ((beta <= problem.lower) | (beta >= problem.upper)))
    factor = K[:0, :0]
    if len(free):
        system = gather(K, free)
        system[np.diag_indices(len(free))] += problem.ridge[free]
        factor, _ = jittered_cholesky(system)
        left = (problem.target - mean - problem.ridge * beta - problem.epsilon * np.sign(beta))[free]
        sharp = beta.copy()
        sharp[free] += cho_solve((factor, True), left, check_finite=False)
        lower, upper = problem.pieces(beta)
        if np.all((sharp[free] > lower[free]) & (sharp[free] < upper[free])):
            beta, mean = sharp, K @ sharp
    return ActiveSet(K, problem, C, beta, mean, free, hard, factor)
