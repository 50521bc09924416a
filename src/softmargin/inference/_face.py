"""The minimum over a face of the box: Newton's equations for the free weights, bound after bound.

Weights at a bound stay there; the free ones F solve (K + ridge)_FF d = -gradient_F by Cholesky. A step that
meets bounds is bent along them while the objective falls, the weights that met one leave the factor by a rank-one
update (order |F|^2, no new factorisation), and the equations are solved again: at most |F| times in all.
"""

import numpy as np
from numba import njit
from scipy.linalg import lapack

from softmargin._linalg import Array, NotPositiveDefiniteError
from softmargin.inference._box import BoxProblem
from softmargin.inference._gram import add_rows, gather

FAST = {"reassoc", "nsz", "contract"}
JITTER = 1e-12
"""Relative to the mean of the diagonal; undone by solving again with the remaining gradient."""
REFINEMENTS = 4
MAX_SOLVES = 60


def minimise_face(K: Array, problem: BoxProblem, grad: Array, beta: Array, noise: float) -> None:
    """Minimise over the free weights, binding those that meet a bound; beta and grad change in place.

    Parameters
    ----------
    K : ndarray of shape (m, m)
    grad : ndarray of shape (m,)
        (K + ridge) beta - target.
    noise : float
        Gradients below it are rounding.
    """
    solves = 0
    while solves < MAX_SOLVES:
        rows = np.flatnonzero(problem.free(beta))
        if rows.size == 0:
            return
        Q = gather(K, rows)
        Q[np.diag_indices(rows.size)] += problem.ridge[rows]
        lower, upper = (bound[rows] for bound in problem.pieces(beta))
        slope = grad[rows] + problem.epsilon * np.sign(beta[rows])
        moved = beta[rows]
        used, done = _to_face_minimum(Q, _upper_factor(Q), slope, moved, lower, upper, noise, MAX_SOLVES - solves)
        step = moved - beta[rows]
        beta[rows] = moved
        grad[rows] += problem.ridge[rows] * step
        add_rows(K, rows, step, grad)
        solves += used
        if done:
            return


def _upper_factor(Q: Array) -> Array:
    """U with U'U = Q + jitter, the jitter as small as Cholesky allows."""
    jitter = JITTER * float(np.mean(np.diag(Q)))
    for _ in range(8):
        A = Q.copy()
        A[np.diag_indices(len(A))] += jitter
        # LAPACK's lower factor in Fortran order is our upper one in C order.
        L, info = lapack.dpotrf(A.T, lower=1, clean=0, overwrite_a=1)
        if info == 0:
            return L.T
        jitter *= 100
    raise NotPositiveDefiniteError(
        f"the Gram matrix is not positive semi-definite: its block on {len(Q)} support vectors has the eigenvalue "
        f"{np.linalg.eigvalsh(Q)[0]:.3g}"
    )


@njit(cache=True, fastmath=FAST)
def _solve(U, x):
    """Solve U'U x = x in place."""
    n = x.size
    for i in range(n):
        row = U[i]
        x[i] /= row[i]
        s = x[i]
        if s != 0.0:
            for j in range(i + 1, n):
                x[j] -= s * row[j]
    for i in range(n - 1, -1, -1):
        row = U[i]
        s = 0.0
        for j in range(i + 1, n):
            s += row[j] * x[j]
        x[i] = (x[i] - s) / row[i]


@njit(cache=True, fastmath=FAST)
def _decouple(U, k):
    """Make the factor that of Q with row and column k replaced by those of the identity.

    The trailing block of Q loses nothing, so its factor takes up the k-th row: U2'U2 + u u', by Givens rotations.
    """
    n = len(U)
    u = U[k].copy()
    U[: k + 1, k] = 0.0
    U[k, k:] = 0.0
    U[k, k] = 1.0
    for i in range(k + 1, n):
        row = U[i]
        r = np.hypot(row[i], u[i])
        c, s = row[i] / r, u[i] / r
        row[i] = r
        for j in range(i + 1, n):
            a, b = row[j], u[j]
            row[j] = c * a + s * b
            u[j] = c * b - s * a


@njit(cache=True, error_model="numpy")
def _bend(Q, U, grad, beta, d, alive, lower, upper):
    """Follow beta + s d, bent at the bounds, to its first minimum; return the number of bounds met."""
    n = beta.size
    q = Q @ d
    slope, curvature, s, hits = grad @ d, d @ q, 0.0, 0
    ends = np.full(n, np.inf)
    for k in range(n):
        if d[k] != 0.0:
            ends[k] = ((upper[k] if d[k] > 0 else lower[k]) - beta[k]) / d[k]
    while slope < 0 and s < 1:
        k = np.argmin(ends)
        # Never beyond the Newton step itself: along the null space of a singular Q the slope is rounding.
        length = min(-slope / curvature, 1 - s) if curvature > 0 else 1 - s
        stays = s + length <= ends[k]
        if not stays:
            length = ends[k] - s
        grad += length * q
        beta += length * d
        if stays:
            break
        s = ends[k]
        slope += length * curvature
        # Stop weight k at its bound: its share leaves the slope and the curvature.
        beta[k] = upper[k] if d[k] > 0 else lower[k]
        slope -= grad[k] * d[k]
        curvature += d[k] * (d[k] * Q[k, k] - 2 * q[k])
        q -= d[k] * Q[k]
        d[k], ends[k], alive[k] = 0.0, np.inf, False
        _decouple(U, k)
        hits += 1
    return hits


@njit(cache=True, error_model="numpy")
def _to_face_minimum(Q, U, grad, beta, lower, upper, noise, max_solves):
    """Repeat Newton steps; return the number of solves and whether the minimum was reached.

    Returns early when a third of the weights has left: a fresh, smaller factor is cheaper then.
    """
    n = beta.size
    alive = np.ones(n, np.bool_)
    hits, calm = 0, 0
    for solve in range(1, max_solves + 1):
        size = np.max(np.abs(grad[alive])) if hits < n else 0.0
        if size <= noise:
            return solve, True
        d = np.where(alive, -grad, 0.0)
        _solve(U, d)
        new = _bend(Q, U, grad, beta, d, alive, lower, upper)
        hits += new
        calm = 0 if new else calm + 1
        # Done when a solve without new bounds gains nothing more on the gradient.
        if calm and (hits == n or calm == REFINEMENTS or np.max(np.abs(grad[alive])) > 0.1 * size):
            return solve, True
        if 3 * hits > n and n > 8:
            return solve, False
    return max_solves, False
