"""Integrals of powers of Student's t density against a Gaussian, as a mixture over the scale.

With a = df scale^2, r = y - f and k = w (df + 1)/2,

    p(y | f)^w = c^w (1 + r^2/a)^-k = c^w int Gamma(l; k, 1) exp(-l r^2/a) dl,

so that every l is Gaussian noise of variance A = a/(2l), and with l = exp(u)

    Z = c^w int exp(k u - e^u - ln Gamma(k) + ln(A/(v + A))/2 - (y - m)^2/(2(v + A))) du.

Likewise ln(1 + r^2/a) = int e^-l (1 - exp(-l r^2/a)) du, whose average over f is that of exp(-l r^2/a) = Z at w = 0.
The integrands are analytic for abs(Im u) < pi/2 and have one scale, k^-1/2: the trapezoidal rule converges
geometrically (Trefethen & Weideman 2014), and a hundred points give twelve digits of what adaptive panels need
thousands for.
"""

import numpy as np
from scipy.special import gammaln, ndtr, psi

from softmargin.likelihoods._protocol import Array, ExpectedLogProb, TiltedMoments

SHAPES = (1.0, 1e3)
"""k for which this is cheap: below, the tail of u is long; above, the points are many."""
STEP = 0.25
"""Distance of the points, less where k^-1/2 is."""
LAST = 50.0
"""The largest u: e^-e^u has long been zero there."""
DROP = 40.0
"""Nats below the peak at which the points end."""
BLOCK = 2**18
"""Points at once."""


def tilted_moments(y: Array, m: Array, v: Array, weight: Array, scale: float, df: float) -> TiltedMoments:
    """ln Z of N(f; m, v) p(y | f)^w and its derivatives, for rows whose k is within `SHAPES`."""
    a, r2 = df * scale**2, (y - m) ** 2
    k = 0.5 * weight * (df + 1)
    n_points = _n_points(k, r2 / a)
    out = np.empty((5, len(y)))
    step = max(1, BLOCK // n_points)
    for first in range(0, len(y), step):
        part = slice(first, first + step)
        out[:, part] = _tilted(y[part] - m[part], v[part], k[part], a, n_points)
    log_z, d_mean, d2_mean, d_log_a, d_k = out
    norm = gammaln((df + 1) / 2) - gammaln(df / 2) - 0.5 * np.log(np.pi * a)
    d_log_a -= 0.5 * weight
    d_df = d_log_a / df + 0.5 * weight * (d_k + psi((df + 1) / 2) - psi(df / 2))
    d_params = np.stack([2 * d_log_a / scale, d_df])
    return TiltedMoments(log_z + weight * norm, d_mean, np.maximum(d2_mean, -1 / v), d_params)


def expected_log_prob(y: Array, m: Array, v: Array, scale: float, df: float) -> ExpectedLogProb:
    """E[ln p(y | f)] over N(m, v) and its derivatives."""
    a, r = df * scale**2, y - m
    # To the left the integrand falls as l (r^2 + v)/a.
    low, high = -np.log1p((r**2 + v) / a) - DROP, np.log(DROP)
    n_points = int(np.max(high - low, initial=1.0) / STEP) + 2
    steps = STEP * np.arange(n_points)
    out, step = np.empty((4, len(r))), max(1, BLOCK // n_points)
    for first in range(0, len(r), step):
        part = slice(first, first + step)
        out[:, part] = _expected(r[part], v[part], a, np.minimum(low[part, None] + steps, LAST))
    log_term, d_mean, d_var, d_log_a = out * 0.5 * (df + 1)
    norm = gammaln((df + 1) / 2) - gammaln(df / 2) - 0.5 * np.log(np.pi * a)
    d_log_a -= 0.5
    d_df = d_log_a / df + 0.5 * (psi((df + 1) / 2) - psi(df / 2)) - log_term / (df + 1)
    return ExpectedLogProb(norm - log_term, d_mean, d_var, np.stack([2 * d_log_a / scale, d_df]))


def _expected(r: Array, v: Array, a: float, u: Array) -> Array:
    """E[ln(1 + r^2/a)] and the derivatives of its negative with respect to m, v and ln a; shape (4, n)."""
    r, v = r[:, None], v[:, None]
    noise = 0.5 * a * np.exp(-u)
    precision = 1 / (v + noise)
    share, damped = noise * precision, r**2 * precision
    log_z = -0.5 * (np.log1p(v / noise) + damped)
    mass = STEP * np.exp(-np.exp(u))
    z = mass * np.exp(log_z)
    parts = (
        -mass * np.expm1(log_z),
        z * r * precision,
        0.5 * z * precision * (damped - 1),
        0.5 * z * (v * precision + damped * share),
    )
    return np.stack([part.sum(axis=1) for part in parts])


def noise_cdf(d: Array, s: Array, scale: float, df: float) -> Array:
    """Probability that the noise plus a Gaussian of standard deviation s is at most d, shape (n,); df >= 1."""
    a, k = df * scale**2, np.full_like(d, 0.5 * df)
    n_points = _n_points(k, d**2 / a)
    out, step = np.empty_like(d), max(1, BLOCK // n_points)
    for first in range(0, len(d), step):
        part = slice(first, first + step)
        u, h = _points(k[part], d[part] ** 2 / a, n_points)
        mass = h * np.exp(k[part, None] * u - np.exp(u) - gammaln(0.5 * df))
        spread = np.sqrt(s[part, None] ** 2 + 0.5 * a * np.exp(-u))
        out[part] = np.sum(mass * ndtr(d[part, None] / spread), axis=1)
    return np.clip(out, 0.0, 1.0)


def _tilted(r: Array, v: Array, k: Array, a: float, n_points: int) -> Array:
    """ln Z without c^w, its two derivatives with respect to m, those with respect to ln a and k; shape (5, n)."""
    u, h = _points(k, r**2 / a, n_points)
    r, v, k = r[:, None], v[:, None], k[:, None]
    noise = 0.5 * a * np.exp(-u)
    precision = 1 / (v + noise)
    share = noise * precision
    log_p = k * u - np.exp(u) - gammaln(k) - 0.5 * np.log1p(v / noise) - 0.5 * r**2 * precision
    top = log_p.max(axis=1)
    p = np.exp(log_p - top[:, None])
    total = p.sum(axis=1)
    p /= total[:, None]
    d_mean = r[:, 0] * np.sum(p * precision, axis=1)
    # Var(slope) - <precision>, with the variance taken about its mean.
    spread = np.sum(p * (r * precision - d_mean[:, None]) ** 2, axis=1)
    d2_mean = spread - np.sum(p * precision, axis=1)
    d_log_a = 0.5 * np.sum(p * (v * precision + r**2 * precision * share), axis=1)
    d_k = np.sum(p * u, axis=1) - psi(k[:, 0])
    return np.stack([top + np.log(total * h[:, 0]), d_mean, d2_mean, d_log_a, d_k])


def _ends(k: Array, squares: Array) -> tuple[Array, Array]:
    """The interval of u outside of which nothing is left; `squares` are r^2/a."""
    # The peak lies between those without the Gaussian (v = 0) and without the target (r = 0); to the left the integrand
    # falls at least as exp((k - 1/2) u - e^u): at a distance t by t + e^-t - 1 >= t^2/(2 + t) times k - 1/2.
    share = DROP / np.maximum(k - 0.5, 0.5)
    low = np.log(k) - np.log1p(squares) - 0.5 * (share + np.sqrt(share**2 + 8 * share))
    return low, np.log(k + np.sqrt(2 * DROP * k) + DROP)


def _n_points(k: Array, squares: Array) -> int:
    low, high = _ends(k, squares)
    return int(np.max((high - low) / _step(k), initial=1.0)) + 2


def _step(k: Array) -> Array:
    """Distance of the points; it depends on the row alone, so that other rows do not matter."""
    return np.minimum(STEP, 0.6 / np.sqrt(k))


def _points(k: Array, squares: Array, n_points: int) -> tuple[Array, Array]:
    """Points u of shape (n, n_points) and their distance (n, 1)."""
    h = _step(k)[:, None]
    return np.minimum(_ends(k, squares)[0][:, None] + h * np.arange(n_points), LAST), h
