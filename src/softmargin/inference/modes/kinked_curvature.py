"""What stands for the curvature at the kink of a likelihood that is curved on both sides of it, and its derivatives.

A row on the margin whose weight is alpha = s + a, between the slopes s above and s + J below it, has flanks that fall
like exp(-a d) and exp(-(J - a) d): as at the hinge's (Sollich 2002, eq. 32, with C -> J and alpha -> a) the Gaussian
with their integral J/(a (J - a)) has the precision 2 pi [a (J - a)/J]^2. To it we add the curvature of the two sides,
W+ above and W- below, in the shares 1 - a/J and a/J, so that the evidence is continuous where a row leaves the margin:

    tau = 2 pi [a (J - a)/J]^2 + (1 - a/J) W+ + (a/J) W-
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from softmargin._linalg import Array
from softmargin.inference.modes.kinked_newton import at_kink
from softmargin.inference.posterior import Posterior
from softmargin.likelihoods import Kink, Likelihood


@dataclass(frozen=True)
class KinkedCurvature:
    """Precisions at the most probable f, and how f, beta and the precisions change. Arrays have shape (n,)."""

    tau: Array
    fixed: NDArray[np.bool_]
    """Mask of the rows at the kink, where f stays and beta moves; elsewhere both do, along the slope."""
    d_moving: Array
    """Derivative of tau with respect to beta at fixed rows, to f at the others."""
    d_params: Array
    """Derivatives at fixed f and beta, shape (n_params, n)."""
    slope_d_params: Array
    """Derivatives of the slope at fixed f, zero at fixed rows, shape (n_params, n)."""

    def pull_back(self, K: Array, beta: Array, on_tau: Array) -> tuple[Array, Array]:
        """Return the gradient in K, shape (n, n), and in the parameters of on_tau'tau.

        With x = df at moving rows and dbeta at fixed ones, df = dK beta + K dbeta reads A x = dK beta + K ds with ds
        the slope's own change; A has the columns e_j + K_j W_j (moving) and -K_j (fixed). u = A'^-1 g gives g'x.
        """
        W = np.where(self.fixed, -1.0, self.tau)
        A = K * W
        moving = np.flatnonzero(~self.fixed)
        A[moving, moving] += 1.0
        # Identical rows at the kink share their weight in any way: the smallest change is as good as another.
        u = np.linalg.lstsq(A.T, on_tau * self.d_moving, rcond=1e-13)[0]
        half = np.outer(u, 0.5 * beta)
        return half + half.T, self.d_params @ on_tau + self.slope_d_params @ (K @ u)


def kinked_curvature(
    y: Array, likelihood: Likelihood, kink: Kink, weight: Array | None, mode: Posterior
) -> KinkedCurvature:
    """Evaluate the precisions at the most probable f."""
    fixed = at_kink(y, kink, mode.beta, mode.mean)
    off = likelihood.map_curvature(y, mode.mean, weight)
    above, below = (likelihood.map_curvature(y, y * z, weight) for z in (np.nextafter(1.0, 2.0), 1.0))
    # At a large C the jump of the slope underflows: rows that are not at the kink must not divide by it.
    J = np.where(fixed, kink.jump, 1.0)
    a = np.where(fixed, y * mode.beta - kink.slope, 0.5 * J)
    share, rise = a / J, below.precision - above.precision
    g = a * (1 - share)
    # dtau/da at fixed J, and dtau/dJ at fixed a
    by_a = 4 * np.pi * g * (1 - 2 * share) + rise / J
    by_J = 4 * np.pi * g * share**2 - rise * share / J
    sides = (1 - share) * above.d_params + share * below.d_params
    on_kink = sides + by_J * kink.jump_d_params - by_a * kink.slope_d_params
    return KinkedCurvature(
        tau=np.where(fixed, 2 * np.pi * g**2 + above.precision + share * rise, off.precision),
        fixed=fixed,
        d_moving=np.where(fixed, y * by_a, off.d_f),
        d_params=np.where(fixed, on_kink, off.d_params),
        slope_d_params=np.where(fixed, 0.0, off.slope_d_params),
    )
