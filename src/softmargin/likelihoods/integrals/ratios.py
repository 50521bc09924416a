"""The ratios of `gauss` for one number, compiled: what the fused loops over rows call."""

import math

from softmargin._compiled import njit
from softmargin.likelihoods.integrals.gauss import FAR, LOG_SQRT_2PI, ONE

ROOT_HALF = math.sqrt(0.5)


@njit(cache=True, error_model="numpy")
def ratios(x):
    """ln(Phi/phi), ln Phi, rho, rho' and rho'' at x."""
    if x < FAR:
        # Laplace's continued fraction: Phi/phi = 1/(t + 1/(t + c)), c = 2/(t + 3/(t + ...)), and rho = 1/(t + c).
        t, c = -x, 0.0
        for k in range(40, 1, -1):
            c = k / (t + c)
        r = 1 / (t + c)
        slope = (c * (t + c) - 1) * r * r
        log_R = -math.log(t + r)
        return log_R, log_R - 0.5 * x * x - LOG_SQRT_2PI, r, slope, (t + r) * (r * r - slope)
    upper = 0.5 * math.erfc(x * ROOT_HALF)
    log_Phi = math.log1p(-upper) if x > 0 else math.log(0.5 * math.erfc(-x * ROOT_HALF))
    log_R = log_Phi + 0.5 * x * x + LOG_SQRT_2PI
    hazard = math.exp(-log_R) if x < ONE else 0.0
    r = x + hazard
    slope = 1 - hazard * r
    return log_R, log_Phi, r, slope, hazard * (r * r - slope)
