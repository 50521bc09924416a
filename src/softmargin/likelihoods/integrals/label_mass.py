"""v(f) = Q(+1 | f) + Q(-1 | f) of the two hinges, and the derivatives of ln v, compiled.

Sampling the normalisers N(X) and Nhat (Sollich 2002, eqs. 28-29) does little else than this. v is even: with a = |f|,
the better label's share p = 1/(1 + t), t = exp(-C [l(-a) - l(a)]), and q = 1 - p,

    ln v = ln kappa - C l(a) + ln(1 + t),    d ln v/da = C [q l'(-a) - p l'(a)],
    d ln v/dC = d ln kappa/dC - p l(a) - q l(-a).
"""

import math

import numpy as np

from softmargin._compiled import njit
from softmargin.likelihoods._protocol import Array


def log_mass(f: Array, C: float, log_kappa: float, squared: bool) -> Array:
    """ln v(f), the shape of `f`; `squared` for the squared hinge."""
    f = np.ascontiguousarray(f, dtype=float)
    out = np.empty_like(f)
    _fill_log(f.ravel(), float(C), float(log_kappa), squared, out.reshape(-1))
    return out


def mass_slopes(f: Array, C: float, d_log_kappa: float, squared: bool) -> tuple[Array, Array]:
    """Return d ln v/df and d ln v/dC, each the shape of `f`; a kink counts as flat."""
    f = np.ascontiguousarray(f, dtype=float)
    d_f, d_C = np.empty_like(f), np.empty_like(f)
    _fill_slopes(f.ravel(), float(C), float(d_log_kappa), squared, d_f.reshape(-1), d_C.reshape(-1))
    return d_f, d_C


@njit(cache=True, error_model="numpy", inline="always")
def _losses(a, squared):
    """l(a), l(-a), l'(a) and l'(-a) for a >= 0."""
    near = 1.0 - a if a < 1.0 else 0.0
    if squared:
        return 0.5 * near * near, 0.5 * (1.0 + a) * (1.0 + a), -near, -(1.0 + a)
    return near, 1.0 + a, -1.0 if a < 1.0 else 0.0, -1.0


@njit(cache=True, error_model="numpy")
def _fill_log(f, C, log_kappa, squared, out):
    for i in range(f.size):
        loss, other, _, _ = _losses(abs(f[i]), squared)
        out[i] = log_kappa - C * loss + math.log1p(math.exp(C * (loss - other)))


@njit(cache=True, error_model="numpy")
def _fill_slopes(f, C, d_log_kappa, squared, d_f, d_C):
    for i in range(f.size):
        loss, other, slope, other_slope = _losses(abs(f[i]), squared)
        t = math.exp(C * (loss - other))
        p = 1.0 / (1.0 + t)
        q = t * p
        d_f[i] = math.copysign(C, f[i]) * (q * other_slope - p * slope)
        d_C[i] = d_log_kappa - p * loss - q * other
