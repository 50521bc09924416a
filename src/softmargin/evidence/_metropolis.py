"""The compiled loop of `chaining`: single-variable Metropolis sweeps. Compiled by numba, which does its own typing.

Each row's ln Q(y | f) or ln v(f) is written out here once more, because numba cannot call the likelihood classes;
a test holds the two together.
"""

import numpy as np

from softmargin._compiled import njit

HINGE, SQUARED_HINGE, LOGISTIC, EPSILON, HINGE_V, SQUARED_HINGE_V, LINK, SQUARED_LINK = range(8)
_KINDS = {
    "hinge": HINGE,
    "squared_hinge": SQUARED_HINGE,
    "logistic": LOGISTIC,
    "epsilon_insensitive": EPSILON,
    "link": LINK,
    "squared_link": SQUARED_LINK,
}
_NORMALISERS = {"hinge": HINGE_V, "squared_hinge": SQUARED_HINGE_V}


def row_kind(likelihood, normaliser=False):
    """The code of a likelihood, or of its v."""
    table = _NORMALISERS if normaliser else _KINDS
    if likelihood.name not in table:
        raise ValueError(f"chaining knows the losses {sorted(table)}; got {likelihood.name!r}. Use 'annealing'")
    return table[likelihood.name]


def constants(likelihood):
    """(C, epsilon, ln of the normalising constant)."""
    if likelihood.name == "epsilon_insensitive":
        return likelihood.C, likelihood.epsilon, likelihood.log_norm
    return likelihood.C, 0.0, 0.0 if likelihood.is_normalised else likelihood.log_kappa


@njit(cache=True)
def log_row(kind, y, f, C, epsilon, log_constant):
    """ln Q(y | f) or ln v(f)."""
    if kind == HINGE:
        return log_constant - C * max(1.0 - y * f, 0.0)
    if kind == SQUARED_HINGE:
        return log_constant - 0.5 * C * max(1.0 - y * f, 0.0) ** 2
    if kind in (LOGISTIC, LINK, SQUARED_LINK):
        z = y * f
        if kind == LINK:
            z += min(max(z, -1.0), 1.0)
        elif kind == SQUARED_LINK:
            z = 2 * z if abs(z) <= 1 else 0.5 * np.sign(z) * (1 + abs(z)) ** 2
        a = C * z
        return -np.log1p(np.exp(-a)) if a > 0 else a - np.log1p(np.exp(a))
    if kind == EPSILON:
        return log_constant - C * max(abs(y - f) - epsilon, 0.0)
    if kind == HINGE_V:
        a, b = -C * max(1.0 - f, 0.0), -C * max(1.0 + f, 0.0)
    else:
        a, b = -0.5 * C * max(1.0 - f, 0.0) ** 2, -0.5 * C * max(1.0 + f, 0.0) ** 2
    return log_constant + max(a, b) + np.log1p(np.exp(-abs(a - b)))


@njit(cache=True)
def _log_weight(f, done, kind, is_joint, y, weight, C, epsilon, log_constant):
    """ln w_k: the first `done` rows, or `done` times ln of the average of v."""
    total = 0.0
    if is_joint:
        for t in range(len(f)):
            total += weight[t] * np.exp(log_row(kind, y[t], f[t], C, epsilon, log_constant))
        return done * np.log(total)
    for t in range(int(done)):
        total += weight[t] * log_row(kind, y[t], f[t], C, epsilon, log_constant)
    return total


@njit(cache=True)
def _log_ratio(f, low, high, kind, is_joint, y, weight, C, epsilon, log_constant):
    """ln w_{k+1} - ln w_k."""
    if is_joint:
        return _log_weight(f, high - low, kind, is_joint, y, weight, C, epsilon, log_constant)
    total = 0.0
    for t in range(int(low), int(high)):
        total += weight[t] * log_row(kind, y[t], f[t], C, epsilon, log_constant)
    return total


@njit(cache=True)
def run_chain(
    rng,
    moves,
    slope_is_f,
    kind,
    is_joint,
    y,
    weight,
    C,
    epsilon,
    log_constant,
    powers,
    burn_in,
    n_sweeps,
):
    """ln of the averages of w_{k+1}/w_k, shape (n_links,), of one chain through all links."""
    n_variables, n = moves.shape
    x, f, trial = np.zeros(n_variables), np.zeros(n), np.zeros(n)
    scale = np.ones(n_variables)
    for j in range(n_variables):
        x[j] = rng.standard_normal()
        if slope_is_f:
            # The prior of beta has the precision K: its rows' own scale is 1/sqrt(K_jj).
            scale[j] = 1.0 / np.sqrt(moves[j, j])
            x[j] = 0.0
    for j in range(n_variables):
        f += x[j] * moves[j]
    result = np.empty(len(powers) - 1)
    step = 1.0
    for k in range(len(powers) - 1):
        current = _log_weight(f, powers[k], kind, is_joint, y, weight, C, epsilon, log_constant)
        top, total = -np.inf, 0.0
        for sweep in range(burn_in + n_sweeps):
            accepted = 0
            for _ in range(n_variables):
                j = min(int(rng.random() * n_variables), n_variables - 1)
                delta = step * scale[j] * rng.standard_normal()
                if slope_is_f:
                    change = -delta * (f[j] + 0.5 * delta * moves[j, j])
                else:
                    change = -delta * (x[j] + 0.5 * delta)
                for t in range(n):
                    trial[t] = f[t] + delta * moves[j, t]
                proposed = _log_weight(trial, powers[k], kind, is_joint, y, weight, C, epsilon, log_constant)
                if np.log(rng.random()) < change + proposed - current:
                    accepted += 1
                    current = proposed
                    x[j] += delta
                    for t in range(n):
                        f[t] = trial[t]
            if sweep < burn_in:
                step = min(max(step * np.exp(0.3 * (accepted / n_variables - 0.44)), 1e-3), 10.0)
                continue
            value = _log_ratio(f, powers[k], powers[k + 1], kind, is_joint, y, weight, C, epsilon, log_constant)
            # Running ln of a sum of exponentials.
            if value > top:
                total = total * np.exp(top - value) + 1.0
                top = value
            else:
                total += np.exp(value - top)
        result[k] = top + np.log(total / n_sweeps)
    return result
