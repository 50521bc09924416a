"""The hinge's Gaussian integral Z = <exp(-C max(1 - z, 0))>, z ~ N(m, v), and its derivatives, compiled.

With s = v^1/2, a = (m - 1)/s and b = -a - C s, Z = A + B: A = Phi(a) is the mass beyond the kink (z > 1) and
B = exp(C s (a + C s/2)) Phi(b) that on the slope. In r = B/Z and rho = R'/R (see `gauss`)

    d ln Z/dm = C r,    dr/dm = -r (1 - r) (rho(a) + rho(b))/s,    dr/dC = -s rho(b) r (1 - r),

and rho' = 1 - (rho - x) rho closes the system: all higher derivatives follow.
"""

import math

import numpy as np

from softmargin._compiled import njit
from softmargin.likelihoods._protocol import Array
from softmargin.likelihoods.integrals.gauss import LOG_SQRT_2PI
from softmargin.likelihoods.integrals.ratios import ratios


def hinge_moments(m: Array, v: Array, C: Array) -> Array:
    """ln Z, its first four derivatives in m, its derivative in C, and the first two in m of that; shape (8, n)."""
    m, v, C = (np.ascontiguousarray(a, dtype=float) for a in np.broadcast_arrays(m, v, C))
    out = np.empty((8, *m.shape))
    _fill(m.ravel(), v.ravel(), C.ravel(), out.reshape(8, -1))
    return out


@njit(cache=True, error_model="numpy")
def _fill(m, v, C, out):
    for i in range(m.size):
        s, c = math.sqrt(v[i]), C[i]
        a = (m[i] - 1) / s
        b = -a - c * s
        log_R_a, log_A, rho_a, slope_a, bend_a = ratios(a)
        log_R_b, log_Phi_b, rho_b, slope_b, bend_b = ratios(b)
        # For b < 0 in the form that does not cancel.
        log_B = -0.5 * a * a - LOG_SQRT_2PI + log_R_b if b < 0 else c * s * (a + 0.5 * c * s) + log_Phi_b
        high, low = (log_A, log_B) if log_A > log_B else (log_B, log_A)
        # r = B/Z and p = A/Z
        e = math.exp(-abs(log_R_b - log_R_a))
        r, p = (1 / (1 + e), e / (1 + e)) if log_R_b > log_R_a else (e / (1 + e), 1 / (1 + e))
        psi, psi_1, psi_2 = rho_a + rho_b, (slope_a - slope_b) / s, (bend_a + bend_b) / v[i]
        r_1 = -r * p * psi / s
        r_2 = -((p - r) * r_1 * psi + r * p * psi_1) / s
        r_3 = -((p - r) * (r_2 * psi + 2 * r_1 * psi_1) - 2 * r_1 * r_1 * psi + r * p * psi_2) / s
        r_C = -s * rho_b * r * p
        out[0, i] = high + math.log1p(math.exp(low - high))
        out[1, i] = c * r
        out[2, i] = c * r_1
        out[3, i] = c * r_2
        out[4, i] = c * r_3
        out[5, i] = -s * r * rho_b
        out[6, i] = r + c * r_C
        out[7, i] = r_1 - c / s * ((p - r) * r_C * psi - s * slope_b * r * p)
