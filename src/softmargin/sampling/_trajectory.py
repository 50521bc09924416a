"""The compiled parts of the samplers' steps: each passes over the memory of all chains once.

Compiled by numba, which does its own typing. Chains are rows; every array has the shape (chains, n).
"""

from softmargin._compiled import njit


@njit(cache=True, error_model="numpy")
def kick(u, force, push, h, error):
    """u -> u + h S g; add the change of |u|^2 / 2 in the metric S^-1, h g.u + h^2 g'Sg / 2, to `error`."""
    for c in range(u.shape[0]):
        work = 0.0
        for i in range(u.shape[1]):
            work += force[c, i] * (u[c, i] + 0.5 * h * push[c, i])
            u[c, i] += h * push[c, i]
        error[c] += h * work


@njit(cache=True, error_model="numpy")
def rotate(x, u, cos, sin, mean, f):
    """(x, u) -> (x cos + u sin, u cos - x sin), and f = mean + x."""
    for c in range(x.shape[0]):
        for i in range(x.shape[1]):
            position, velocity = x[c, i], u[c, i]
            x[c, i] = cos * position + sin * velocity
            u[c, i] = cos * velocity - sin * position
            f[c, i] = mean[i] + x[c, i]


@njit(cache=True, error_model="numpy")
def points(x, u, cos, sin, mean, chains, out):
    """out_k = mean + x cos + u sin of the chain chains[k], each with its own angle."""
    for k in range(chains.size):
        c = chains[k]
        for i in range(x.shape[1]):
            out[k, i] = mean[i] + cos[k] * x[c, i] + sin[k] * u[c, i]
