"""Take one row out of a trained SVM along the exact path of its solution, without training again.

As the row's weight b_i shrinks to zero, all others follow on straight lines: with Q = K + D, F the free rows and bound
rows where they are, db_F = -Q_FF^-1 Q_Fi db_i, until a free weight meets its bound or the slope (Q b - t)_k of a bound
row meets zero. There the row changes sides and Q_FF^-1 changes by a matrix of rank one (Cauwenberghs & Poggio 2001,
without their bias). A path has some ten such corners, each at the cost of n |F| operations.
"""

import numpy as np

from softmargin._compiled import njit

AT_BOUND, FREE, GONE = 0, 1, 2
MOST_CORNERS = 20
"""Corners per row of the problem after which a path counts as lost."""


@njit(cache=True, fastmath=True, error_model="numpy")
def _drop(R, F, n, p):
    """Take the p-th of n free rows out of F and R = Q_FF^-1, moving the last into its place."""
    for a in range(n):
        if a != p:
            c = R[a, p] / R[p, p]
            for b in range(n):
                if b != p:
                    R[a, b] -= c * R[p, b]
    last = n - 1
    if p != last:
        for a in range(last):
            R[p, a] = R[last, a]
        R[p, p] = R[last, last]
        for a in range(last):
            R[a, p] = R[p, a]
        F[p] = F[last]


@njit(cache=True, fastmath=True, error_model="numpy")
def _join(Q, R, F, n, k, column):
    """Add row k to F and R; False if it depends on the free rows. `column` is working space."""
    rest = Q[k, k]
    for a in range(n):
        s = 0.0
        for b in range(n):
            s += R[a, b] * Q[k, F[b]]
        column[a] = s
        rest -= s * Q[k, F[a]]
    if not rest > 1e-12 * Q[k, k]:
        return False
    for a in range(n):
        c = column[a] / rest
        for b in range(n):
            R[a, b] += c * column[b]
        R[a, n] = -c
        R[n, a] = -c
    R[n, n] = 1 / rest
    F[n] = k
    return True


@njit(cache=True, fastmath=True, error_model="numpy")
def _direction(Q, R, F, n, i, sign, d, slope):
    """Set d to db_F and `slope` to the change of Q b as b_i changes by `sign`."""
    for k in range(slope.size):
        slope[k] = sign * Q[i, k]
    for a in range(n):
        s = 0.0
        for b in range(n):
            s -= R[a, b] * Q[i, F[b]]
        d[a] = sign * s
        row = Q[F[a]]
        for k in range(slope.size):
            slope[k] += d[a] * row[k]


@njit(cache=True, error_model="numpy")
def _corner(step, beta, grad, lower, upper, side, F, n, d, slope):
    """Length of the way to the next corner, at most `step`, and its row (n free rows first; -1: none)."""
    place = -1
    for a in range(n):
        k = F[a]
        room = np.inf
        if d[a] > 0:
            room = (upper[k] - beta[k]) / d[a]
        elif d[a] < 0:
            room = (lower[k] - beta[k]) / d[a]
        if room < step:
            step, place = max(room, 0.0), a
    for k in range(beta.size):
        if side[k] != AT_BOUND or lower[k] == upper[k]:
            continue
        # At its lower bound a row needs a slope >= 0, at its upper one a slope <= 0.
        inward = slope[k] if beta[k] <= lower[k] else -slope[k]
        room = (grad[k] if beta[k] <= lower[k] else -grad[k]) / -inward if inward < 0 else np.inf
        if room < step:
            step, place = max(room, 0.0), n + k
    return step, place


@njit(cache=True, error_model="numpy")
def _move(beta, grad, F, n, d, slope, step):
    """Go on by `step`, in place."""
    for a in range(n):
        beta[F[a]] += step * d[a]
    for k in range(grad.size):
        grad[k] += step * slope[k]


@njit(cache=True, error_model="numpy")
def unlearn(Q, inverse, free, start, grad, lower, upper, row):
    """The weights of the SVM trained without `row`, shape (n,), and whether the path reached its end.

    Parameters
    ----------
    Q : ndarray of shape (n, n)
        K + D.
    inverse : ndarray of shape (n_free, n_free)
        Of Q on the rows `free`.
    start, grad : ndarrays of shape (n,)
        The weights with the row, and Q start - target.
    """
    size = start.size
    beta, grad = start.copy(), grad.copy()
    R, F = np.empty((size, size)), np.empty(size, dtype=np.int64)
    n = free.size
    R[:n, :n] = inverse
    F[:n] = free
    side = np.full(size, AT_BOUND)
    side[free] = FREE
    d, slope, column = np.empty(size), np.empty(size), np.empty(size)
    for p in range(n):
        if F[p] == row:
            _drop(R, F, n, p)
            n -= 1
            break
    side[row] = GONE
    sign = -1.0 if beta[row] > 0 else 1.0
    for _ in range(MOST_CORNERS * size):
        _direction(Q, R, F, n, row, sign, d, slope)
        step, place = _corner(abs(beta[row]), beta, grad, lower, upper, side, F, n, d, slope)
        _move(beta, grad, F, n, d, slope, step)
        beta[row] += sign * step
        if place < 0:
            beta[row] = 0.0
            return beta, True
        if place < n:
            k = F[place]
            beta[k] = upper[k] if d[place] > 0 else lower[k]
            side[k] = AT_BOUND
            _drop(R, F, n, place)
            n -= 1
        else:
            k = place - n
            if not _join(Q, R, F, n, k, column):
                return beta, False
            side[k] = FREE
            n += 1
        grad[k] = 0.0
    return beta, False
