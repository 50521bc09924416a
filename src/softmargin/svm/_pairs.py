"""Pair descent: the exact minimum over two weights at a time, chosen greedily.

The first weight has the steepest feasible slope; its partner promises the largest further decrease once the
first has moved, with the curvature that remains (Schur complement). Pairs matter when the kernel has a large
offset: two weights can move against each other where one alone could hardly move.

Slopes are one-sided. `up[i]` and `down[i]` hold the l1 term's slope to the right and left of beta_i, or +-BLOCKED
at a bound, so that "how fast does the objective fall along the best feasible side of i" is the branch-free
max(-(g + up), g + down). Loops run over chunks, each remembering its maximum only, which compilers vectorise.
"""

import numpy as np

from softmargin._compiled import njit

BLOCKED = 1e150
CHUNK = 64
# Everything but infinities may be assumed: g, up and down are finite by construction.
FAST = {"reassoc", "nnan", "nsz", "contract"}


@njit(cache=True)
def _slope_up(b, upper, epsilon):
    if b >= upper:
        return BLOCKED
    return epsilon if b >= 0 else -epsilon


@njit(cache=True)
def _slope_down(b, lower, epsilon):
    if b <= lower:
        return -BLOCKED
    return epsilon if b > 0 else -epsilon


@njit(cache=True)
def sides(beta, lower, upper, epsilon):
    """One-sided slopes of the l1 term and the bounds, each of shape (n,)."""
    up, down = np.empty(beta.size), np.empty(beta.size)
    for i in range(beta.size):
        up[i] = _slope_up(beta[i], upper[i], epsilon)
        down[i] = _slope_down(beta[i], lower[i], epsilon)
    return up, down


@njit(cache=True)
def violations(grad, beta, lower, upper, epsilon):
    """Steepest feasible descent of each weight, zero where the optimality conditions hold, shape (n,)."""
    up, down = sides(beta, lower, upper, epsilon)
    return np.maximum(np.maximum(-(grad + up), grad + down), 0.0)


@njit(cache=True, fastmath=FAST)
def _move(grad, row_i, row_j, step_i, step_j, up, down):
    """Add the two rows to the gradient; return the largest violation and the chunk that holds it."""
    n, best, where = grad.size, -1.0, 0
    for start in range(0, n, CHUNK):
        top = -1.0
        for k in range(start, min(start + CHUNK, n)):
            g = grad[k] + step_i * row_i[k] + step_j * row_j[k]
            grad[k] = g
            top = max(top, max(-(g + up[k]), g + down[k]))
        if top > best:
            best, where = top, start
    return best, where


@njit(cache=True)
def _locate(grad, up, down, best, start):
    """Index in the chunk whose violation is the largest."""
    for k in range(start, min(start + CHUNK, grad.size)):
        if max(-(grad[k] + up[k]), grad[k] + down[k]) >= best:
            return k
    return start


@njit(cache=True, fastmath=FAST, error_model="numpy")
def _partner(grad, up, down, row, curvature, step, inverse, gain):
    """Weight with the largest decrease q^2 / (K_jj - K_ij^2 inverse) after i has moved by step; -1 if none."""
    n, best, where = grad.size, 0.0, -1
    for start in range(0, n, CHUNK):
        top = 0.0
        for k in range(start, min(start + CHUNK, n)):
            g = grad[k] + row[k] * step
            q = max(max(-(g + up[k]), g + down[k]), 0.0)
            left = max(curvature[k] - row[k] * row[k] * inverse, 1e-10 * curvature[k] + 1e-100)
            gain[k] = q * q / left
            top = max(top, gain[k])
        if top > best:
            best, where = top, start
    if where >= 0:
        for k in range(where, min(where + CHUNK, n)):
            if gain[k] >= best:
                return k
    return -1


@njit(cache=True, error_model="numpy")
def _line_minimum(slope, curvature, lower, upper):
    """Minimiser of slope x + curvature x^2/2 over [lower, upper]; flat or linear cases included."""
    if curvature > 0:
        return min(max(-slope / curvature, lower), upper)
    if slope == 0:
        return 0.0
    return upper if slope < 0 else lower


@njit(cache=True, error_model="numpy")
def _pair_minimum(a, b, c, p, q, x0, x1, y0, y1):
    """Minimiser of a x^2/2 + b x y + c y^2/2 + p x + q y over the box [x0, x1] x [y0, y1]."""
    det = a * c - b * b
    if det > 1e-12 * a * c:
        x, y = (b * q - c * p) / det, (b * p - a * q) / det
        if x0 <= x <= x1 and y0 <= y <= y1:
            return x, y
    # Otherwise a minimiser lies on an edge.
    lowest, best_x, best_y = 0.0, 0.0, 0.0
    for edge in range(4):
        if edge < 2:
            x = x0 if edge == 0 else x1
            y = _line_minimum(q + b * x, c, y0, y1)
        else:
            y = y0 if edge == 2 else y1
            x = _line_minimum(p + b * y, a, x0, x1)
        value = x * (p + 0.5 * a * x) + y * (q + b * x + 0.5 * c * y)
        # NaN (an infinite edge) compares false and is passed over.
        if value < lowest:
            lowest, best_x, best_y = value, x, y
    return best_x, best_y


@njit(cache=True)
def _steepest(k, g, beta, lower, upper, up, down, epsilon):
    """Slope of weight k at gradient g on its steeper side, and how far it may move on that smooth piece."""
    rising = -(g + up[k]) > g + down[k]
    lo, hi = lower[k], upper[k]
    if epsilon > 0:
        if beta[k] > 0 or (beta[k] == 0 and rising):
            lo = max(lo, 0.0)
        else:
            hi = min(hi, 0.0)
    return (up[k] if rising else down[k]), lo, hi


@njit(cache=True)
def _place(k, step, lo, hi, ridge, grad, beta, lower, upper, up, down, epsilon):
    """Move weight k, exactly onto a bound if the step reaches it; return the step taken."""
    old = beta[k]
    if step >= hi - old:
        beta[k] = hi
    elif step <= lo - old:
        beta[k] = lo
    else:
        beta[k] = old + step
    grad[k] += ridge[k] * (beta[k] - old)
    up[k] = _slope_up(beta[k], upper[k], epsilon)
    down[k] = _slope_down(beta[k], lower[k], epsilon)
    return beta[k] - old


@njit(cache=True, error_model="numpy")
def descend(K, ridge, diag, grad, beta, lower, upper, epsilon, n_steps, tol):
    """Take up to n_steps pair steps; beta and grad = (K + ridge) beta - target change in place.

    Returns the number of steps taken; fewer than n_steps if every violation is at most tol.
    """
    up, down = sides(beta, lower, upper, epsilon)
    curvature = diag + ridge
    gain = np.empty(beta.size)
    violation, where = _move(grad, K[0], K[0], 0.0, 0.0, up, down)
    for step in range(n_steps):
        if violation <= tol:
            return step
        i = _locate(grad, up, down, violation, where)
        side, lo_i, hi_i = _steepest(i, grad[i], beta, lower, upper, up, down, epsilon)
        p, x0, x1 = grad[i] + side, lo_i - beta[i], hi_i - beta[i]
        x, y = _line_minimum(p, curvature[i], x0, x1), 0.0
        # A partner sees the curvature that i leaves only if i is not stopped by its bound.
        inverse = 1 / curvature[i] if x0 < x < x1 else 0.0
        up[i], down[i] = BLOCKED, -BLOCKED
        j = _partner(grad, up, down, K[i], curvature, x, inverse, gain)
        if j >= 0:
            # The partner's side is the one it takes once i has moved.
            side, lo, hi = _steepest(j, grad[j] + K[i, j] * x, beta, lower, upper, up, down, epsilon)
            q, y0, y1 = grad[j] + side, lo - beta[j], hi - beta[j]
            x, y = _pair_minimum(curvature[i], K[i, j], curvature[j], p, q, x0, x1, y0, y1)
            y = _place(j, y, lo, hi, ridge, grad, beta, lower, upper, up, down, epsilon)
        x = _place(i, x, lo_i, hi_i, ridge, grad, beta, lower, upper, up, down, epsilon)
        violation, where = _move(grad, K[i], K[max(j, 0)], x, y, up, down)
    return n_steps
