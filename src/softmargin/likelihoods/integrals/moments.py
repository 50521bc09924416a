"""Gaussian integrals of a likelihood by quadrature, and their derivatives: the defaults of `LikelihoodDefaults`.

With g the slope of w ln p, averages < > over the tilted density and E[ ] over N(m, v), Stein's identity gives

    d ln Z/dm = <g> = (<f> - m)/v,    d2 ln Z/dm2 = Cov(g, f)/v = (Var f - v)/v^2,
    dE/dm = E[g] = E[l (f - m)]/v,    dE/dv = E[g (f - m)]/2v = E[l ((f - m)^2/v - 1)]/2v.

The forms with g keep their digits where v is small; those without do where the likelihood is narrow.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from softmargin.likelihoods._protocol import Array, ExpectedLogProb, TiltedMoments, TiltedSlopes, power
from softmargin.likelihoods.integrals.quadrature import (
    TOLERANCE,
    Rows,
    gaussian_panels,
    integrate,
    log_normal,
    tilted_panels,
)

CENTRAL = (-2, -1, 1, 2), (1, -8, 8, -1)
"""Steps of fourth-order differences and twelve times their shares."""
FORWARD = (0, 1, 2, 3, 4), (-25, 48, -36, 16, -3)
NARROWEST = 1e-13
"""Standard deviation over the mean below which panels have no nodes between their ends."""


def tilted_moments(likelihood: Any, y: Array, m: Array, v: Array, weight: Array | None) -> TiltedMoments:
    """ln Z of N(f; m, v) p(y | f)^w and its derivatives; rows of weight zero give zeros."""
    y, m, v, w = _rows(y, m, v, weight)
    kept, n_params = np.flatnonzero(w), len(likelihood.param_names)
    result = np.zeros((3 + n_params, len(m)))
    if len(kept):
        result[:, kept] = _tilted(likelihood, y[kept], m[kept], v[kept], w[kept])
    return TiltedMoments(result[0], result[1], result[2], result[3:])


def _tilted(likelihood: Any, y: Array, m: Array, v: Array, w: Array) -> Array:
    def log_prob(rows: Rows, f: Array) -> Array:
        return w[rows] * likelihood.log_prob(y[rows], f)

    edges, peak, top = tilted_panels(log_prob, y, m, v)
    with_slope = likelihood.gives_derivatives

    def values(rows: Rows, f: Array) -> Array:
        target = np.broadcast_to(y[rows, None], f.shape).ravel()
        flat, one = f.ravel(), rows[:, None]
        log_p = w[one] * likelihood.log_prob(target, flat).reshape(f.shape)
        t = f - peak[one]
        # Nothing is much higher than the peak, but where ln p is -1e15 rounding can say so.
        p = np.exp(np.minimum(log_p + log_normal(f, m[one], v[one]) - top[one], 30.0))
        parts = [p, p * t, p * t * t]
        if with_slope:
            g = w[one] * likelihood.derivatives(target, flat).slope.reshape(f.shape)
            parts += [p * g, p * g * t]
        d_params = likelihood.d_log_prob_d_params(target, flat).reshape(-1, *f.shape)
        # Where p is zero a derivative may be infinite.
        parts += [np.where(p > 0, w[one] * d * p, 0.0) for d in d_params]
        return np.stack(parts)

    # exp(x) has as many digits as x has behind the point: with weights of 1e12 fewer than the rules ask for.
    tolerance = np.maximum(TOLERANCE, 4 * np.finfo(float).eps * np.abs(top))
    total, first, second, *rest = integrate(values, edges, np.minimum(tolerance, 1e-3))
    mean, second = first / total, second / total
    variance = second - mean**2
    d_mean, d2_mean = (peak - m + mean) / v, (variance / v - 1) / v
    if with_slope:
        slope, cross = rest[0] / total, rest[1] / total
        rest = rest[2:]
        # Where the likelihood is narrow slopes of both signs cancel, and mean and variance themselves have more digits.
        narrow = variance < 0.5 * v
        d_mean, d2_mean = np.where(narrow, d_mean, slope), np.where(narrow, d2_mean, (cross - slope * mean) / v)
    log_z = top + np.log(total) - 0.5 * np.log(2 * np.pi * v)
    return np.stack([log_z, d_mean, np.maximum(d2_mean, -1 / v), *(part / total for part in rest)])


def expected_log_prob(likelihood: Any, y: Array, m: Array, v: Array, weight: Array | None) -> ExpectedLogProb:
    """E[w ln p(y | f)] over N(m, v) and its derivatives; rows of weight zero give zeros."""
    y, m, v, w = _rows(y, m, v, weight)
    found = _expected(likelihood, y, m, v)
    found = np.where(w > 0, w * found, 0.0)
    return ExpectedLogProb(found[0], found[1], found[2], found[3:])


def _expected(likelihood: Any, y: Array, m: Array, v: Array) -> Array:
    s, middle = np.sqrt(v), likelihood.log_prob(y, m)
    with_slope = likelihood.gives_derivatives

    def values(rows: Rows, f: Array) -> Array:
        target, flat = np.broadcast_to(y[rows, None], f.shape).ravel(), f.ravel()
        t = (f - m[rows, None]) / s[rows, None]
        density = np.exp(-0.5 * t * t)
        # Without its value in the middle, less is left to cancel.
        log_p = likelihood.log_prob(target, flat).reshape(f.shape) - middle[rows, None]
        parts = [density * log_p]
        if with_slope:
            g = likelihood.derivatives(target, flat).slope.reshape(f.shape)
            parts += [density * g, density * g * t]
        else:
            parts += [density * log_p * t, density * log_p * (t * t - 1)]
        d_params = likelihood.d_log_prob_d_params(target, flat).reshape(-1, *f.shape)
        return np.stack([*parts, *(density * d for d in d_params)])

    value, first, second, *d_params = integrate(values, gaussian_panels(y, m, v)) / (s * np.sqrt(2 * np.pi))
    d_mean, d_var = (first, 0.5 * second / s) if with_slope else (first / s, 0.5 * second / v)
    return np.stack([value + middle, d_mean, d_var, *d_params])


def tilted_slopes(likelihood: Any, y: Array, m: Array, v: Array, weight: Array | None = None) -> TiltedSlopes:
    """Differentiate `tilted_moments` by fourth-order central differences.

    ln Z is smooth on the scale of the cavity's standard deviation, so they are good to about nine digits. A parameter
    of zero is at the end of its range: there they are forward differences.
    """

    def moments(m: Array, **changed: float) -> TiltedMoments:
        shifted: TiltedMoments = replace(likelihood, **changed).tilted_moments(y, m, v, weight)
        return shifted

    step = 0.02 * np.sqrt(v)
    h_mm, h_m, h, h_p, h_pp = (moments(m + k * step).d2_mean for k in (-2, -1, 0, 1, 2))
    d3 = (8 * (h_p - h_m) - (h_pp - h_mm)) / (12 * step)
    d4 = (16 * (h_p + h_m) - (h_pp + h_mm) - 30 * h) / (12 * step**2)
    by_params = []
    for name in likelihood.param_names:
        value = getattr(likelihood, name)
        width = 1e-3 * (abs(value) or 1.0)
        steps, shares = CENTRAL if value else FORWARD
        near = [moments(m, **{name: value + k * width}) for k in steps]
        by_params.append([sum(c * at[i] for c, at in zip(shares, near)) / (12 * width) for i in (1, 2)])
    g_c, h_c = np.array(by_params).reshape(-1, 2, len(m)).swapaxes(0, 1)
    return TiltedSlopes(d3, d4, g_c, h_c)


def _rows(y: Array, m: Array, v: Array, weight: Array | None) -> tuple[Array, Array, Array, Array]:
    """Float arrays of one shape (n,); a Gaussian narrower than the rounding of its mean is as wide as some of that."""
    w = power(weight)
    y, m, v, w = (np.asarray(a, dtype=float) for a in np.broadcast_arrays(y, m, v, w))
    return y, m, np.maximum(v, (NARROWEST * m) ** 2), w
