"""Derivatives of a log-probability by differences, for likelihoods that give nothing else.

Central differences at the steps h, h/2, h/4, ... are functions of h^2; the polynomial through five of them, at h = 0,
is the derivative to order ten, and its slope there the third derivative. The five consecutive steps whose result
changes least from one choice to the next are used: wide ones on smooth functions, where rounding counts, and narrow
ones next to a kink.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from softmargin._linalg import Array

WIDEST, N_STEPS = 4.0, 24
"""The first step in f; the last is WIDEST / 2^23, about 5e-7."""
WIDEST_SHARE, N_SHARES = 0.2, 18
"""The first step of a parameter, relative to its value."""
WINDOW = 5
"""Steps that one polynomial goes through."""


def _at_zero() -> tuple[Array, Array]:
    """Weights of the values at x = 1, 1/4, 1/16, ... that give their polynomial's value and slope at x = 0."""
    x = 0.25 ** np.arange(WINDOW)
    inverse = np.linalg.inv(np.vander(x, increasing=True))
    return inverse[0], inverse[1]


VALUE, SLOPE = _at_zero()


def derivatives(log_prob: Callable[[Array], Array], f: Array) -> tuple[Array, Array, Array]:
    """First, second and third derivative in f, each of f's shape; `log_prob` takes further leading axes."""
    f = np.asarray(f, dtype=float)
    h = (WIDEST * 0.5 ** np.arange(N_STEPS)).reshape(-1, *(1,) * f.ndim)
    with np.errstate(all="ignore"):
        up, here, down = log_prob(f + h), log_prob(f), log_prob(f - h)
        odd, even = (up - down) / (2 * h), (up - 2 * here + down) / h**2
        slope, curvature = _steadiest(_windows(odd, VALUE)), _steadiest(_windows(even, VALUE))
        third = _steadiest(6 * _windows(odd, SLOPE) / h[: N_STEPS - WINDOW + 1] ** 2)
    return slope, curvature, third


def by_parameters(likelihood: Any, function: Callable[[Any], Array]) -> Array:
    """Derivatives of a function of the likelihood with respect to its parameters, shape (n_params, ...)."""
    result = []
    for name in likelihood.param_names:
        value = getattr(likelihood, name)
        steps = (abs(value) or 1.0) * WIDEST_SHARE * 0.5 ** np.arange(N_SHARES)
        up, down = (
            np.stack([function(replace(likelihood, **{name: value + sign * step})) for step in steps])
            for sign in (1, -1)
        )
        odd = (up - down) / (2 * steps.reshape(-1, *(1,) * (up.ndim - 1)))
        result.append(_steadiest(_windows(odd, VALUE)))
    return np.stack(result) if result else np.empty((0, *np.shape(function(likelihood))))


def _windows(values: Array, weights: Array) -> Array:
    """The weighted sums of five consecutive entries along axis 0."""
    n = len(values) - WINDOW + 1
    return np.sum([weight * values[i : i + n] for i, weight in enumerate(weights)], axis=0)


def _steadiest(estimates: Array) -> Array:
    """The estimate whose neighbours along axis 0 differ least from it."""
    change = np.abs(np.diff(estimates, axis=0))
    change = np.maximum(change[1:], change[:-1])
    best = np.argmin(np.where(np.isfinite(change), change, np.inf), axis=0)
    return np.take_along_axis(estimates, best[None] + 1, axis=0)[0]
