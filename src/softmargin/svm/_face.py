"""The minimum over a face of the box: Newton's equations for the free weights, bound after bound.

Weights at a bound stay there; the free ones F solve (K + ridge)_FF d = -gradient_F by Cholesky. A step that
meets bounds is bent along them while the objective falls, the weights that met one leave the factor by a rank-one
update (order |F|^2, no new factorisation), and the equations are solved again: at most |F| times in all.

The compiled functions are written as plain loops: numba translates NumPy's array functions several times more slowly,
and the first fit on a machine waits for it.
"""

import math

import numpy as np
from scipy.linalg import lapack

from softmargin._compiled import njit
from softmargin._linalg import Array, NotPositiveDefiniteError
from softmargin.svm._box import BoxProblem
from softmargin.svm._gram import add_rows, gather

FAST = {"reassoc", "nsz", "contract"}
JITTER = 1e-12
"""Relative to the mean of the diagonal; undone by solving again with the remaining gradient."""
REFINEMENTS = 4
MAX_SOLVES = 60
LEAVING, LEAVING_MEMORY, IN_CACHE = 3, 16, 512
"""A factor is made anew when more than one weight in `LEAVING` has left it, above `IN_CACHE` rows one in
`LEAVING_MEMORY`: an update then waits for memory, where a factorisation works in the cache [solver]."""


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
        alive = np.ones(rows.size, dtype=bool)
        factor = _upper_factor(Q)
        # Where a step is next to nothing the way to a bound is infinite: loops that are not compiled would warn.
        with np.errstate(over="ignore"):
            used, done = _to_face_minimum(Q, factor, slope, moved, lower, upper, alive, noise, MAX_SOLVES - solves)
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
    u = np.empty(n)
    for j in range(k, n):
        u[j] = U[k, j]
        U[k, j] = 0.0
    for i in range(k):
        U[i, k] = 0.0
    U[k, k] = 1.0
    for i in range(k + 1, n):
        row = U[i]
        r = math.hypot(row[i], u[i])
        c, s = row[i] / r, u[i] / r
        row[i] = r
        for j in range(i + 1, n):
            a, b = row[j], u[j]
            row[j] = c * a + s * b
            u[j] = c * b - s * a


@njit(cache=True, fastmath=FAST)
def _row_sums(Q, d, q):
    """Set q to Q d; return the curvature d'Q d."""
    curvature = 0.0
    for i in range(d.size):
        row, s = Q[i], 0.0
        for j in range(d.size):
            s += row[j] * d[j]
        q[i] = s
        curvature += d[i] * s
    return curvature


@njit(cache=True, error_model="numpy")
def _room(beta, d, lower, upper, ends):
    """Set ends to the s at which beta + s d meets its bound, infinite where d is zero."""
    for k in range(beta.size):
        if d[k] > 0:
            ends[k] = (upper[k] - beta[k]) / d[k]
        elif d[k] < 0:
            ends[k] = (lower[k] - beta[k]) / d[k]
        else:
            ends[k] = np.inf


@njit(cache=True)
def _first(ends):
    """Index of the smallest end."""
    k = 0
    for i in range(1, ends.size):
        if ends[i] < ends[k]:
            k = i
    return k


@njit(cache=True, fastmath=FAST)
def _add(x, length, step):
    """Add length times step to x, in place."""
    for i in range(x.size):
        x[i] += length * step[i]


@njit(cache=True, error_model="numpy")
def _bend(Q, grad, beta, d, q, ends, alive, lower, upper, met):
    """Follow beta + s d, bent at the bounds, to its first minimum; return the number of bounds met.

    `met` gets the weights that met them, in their order. `q` and `ends` are working space.
    """
    curvature = _row_sums(Q, d, q)
    slope, s, hits = 0.0, 0.0, 0
    for k in range(d.size):
        slope += grad[k] * d[k]
    _room(beta, d, lower, upper, ends)
    while slope < 0 and s < 1:
        k = _first(ends)
        # Never beyond the Newton step itself: along the null space of a singular Q the slope is rounding.
        length = min(-slope / curvature, 1 - s) if curvature > 0 else 1 - s
        stays = s + length <= ends[k]
        if not stays:
            length = ends[k] - s
        _add(grad, length, q)
        _add(beta, length, d)
        if stays:
            break
        s = ends[k]
        slope += length * curvature
        # Stop weight k at its bound: its share leaves the slope and the curvature.
        beta[k] = upper[k] if d[k] > 0 else lower[k]
        slope -= grad[k] * d[k]
        curvature += d[k] * (d[k] * Q[k, k] - 2 * q[k])
        _add(q, -d[k], Q[k])
        d[k], ends[k], alive[k] = 0.0, np.inf, False
        met[hits] = k
        hits += 1
    return hits


@njit(cache=True)
def _largest(grad, alive):
    """Largest |gradient| of the weights that are still free, zero if none is."""
    size = 0.0
    for i in range(grad.size):
        if alive[i]:
            size = max(size, abs(grad[i]))
    return size


@njit(cache=True, error_model="numpy")
def _to_face_minimum(Q, U, grad, beta, lower, upper, alive, noise, max_solves):
    """Repeat Newton steps; return the number of solves and whether the minimum was reached.

    `alive` is true at the start and false for the weights that met a bound at the end. Returns early when so many
    weights have left that a fresh, smaller factor is cheaper.
    """
    n = beta.size
    d, q, ends, met = np.empty(n), np.empty(n), np.empty(n), np.empty(n, dtype=np.intp)
    most = n // (LEAVING if n <= IN_CACHE else LEAVING_MEMORY)
    hits, calm = 0, 0
    for solve in range(1, max_solves + 1):
        size = _largest(grad, alive)
        if size <= noise:
            return solve, True
        for i in range(n):
            d[i] = -grad[i] if alive[i] else 0.0
        _solve(U, d)
        new = _bend(Q, grad, beta, d, q, ends, alive, lower, upper, met)
        hits += new
        calm = 0 if new else calm + 1
        # Done when a solve without new bounds gains nothing more on the gradient.
        if calm and (hits == n or calm == REFINEMENTS or _largest(grad, alive) > 0.1 * size):
            return solve, True
        if hits > most and n > 8:
            return solve, False
        for i in range(new):
            _decouple(U, met[i])
    return max_solves, False
