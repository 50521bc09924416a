"""The score test of a further component of the covariance: what would the evidence gain from it?

With the Gram matrix K, the sites' precisions T = diag(tau), the weights b of the posterior mean and P = (K + T^-1)^-1,
adding t times a component's Gram matrix D changes the log evidence at the rate

    d ln Z(K + t D)/dt at t = 0:  S = <G, D>,    G = (b b' - P)/2

(Rasmussen & Williams 2006, eq. 5.9; EP's ln Z and the variational bound are stationary in the sites). Where there is no
such component S has mean 0 and variance I = tr(P D P D)/2, and a quadratic in t expects the gain
S^2/(2 I) = S^2/tr(PDPD) nats if S > 0. It does not depend on the scale of D.
"""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from softmargin._linalg import Array, cholesky, inverse_from_cholesky
from softmargin.inference import Posterior
from softmargin.policy import POLICY

Single = NDArray[np.float32]
PROBES = POLICY.structure.probes


@dataclass(frozen=True)
class ScoreTest:
    """The score test of a further component at a Gaussian posterior."""

    beta: Array = field(repr=False)
    """Weights b of the latent mean, shape (n,)."""
    P: Array = field(repr=False)
    """(K + T^-1)^-1, shape (n, n)."""

    @classmethod
    def of(cls, posterior: Posterior) -> "ScoreTest | None":
        """The test at a posterior of EP or the variational inference; None for others, which have another G."""
        tau = posterior.site_precision
        if posterior.method not in ("ep", "variational") or tau is None:
            return None
        if posterior.precision_gap is not None:
            return cls(posterior.beta, posterior.precision_gap)
        if posterior.factor is None:
            return None
        return cls(posterior.beta, _pull(posterior.factor, np.sqrt(tau)))

    @classmethod
    def normal(cls, K: Array, tau: Array, nu: Array) -> "ScoreTest":
        """The test for normal noise, given by sites of precision tau >= 0 and shift nu, each of shape (n,).

        For regression: noise between two bounds can imitate a wave so well that at its own posterior every further
        component seems to cost. With normal noise of the same variance the wave stands out.
        """
        root = np.sqrt(tau)
        P = _pull(cholesky(np.eye(len(K)) + root[:, None] * K * root), root)
        # b = P T^-1 nu; a row without a site has none.
        return cls(P @ np.divide(nu, tau, out=np.zeros_like(nu), where=tau > 0), P)

    def slope(self, D: Array) -> float:
        """S = <G, D> = (b'Db - <P, D>)/2 for the component's Gram matrix D of shape (n, n)."""
        return 0.5 * float(self.beta @ D @ self.beta - np.vdot(self.P, D))

    def expected_gain(self, D: Array) -> float:
        """S^2/tr(PDPD) in nats; 0 if S <= 0: the component cannot have a negative variance."""
        slope = self.slope(D)
        if slope <= 0:
            return 0.0
        PD = self.P @ D
        return slope**2 / max(float(np.vdot(PD, PD.T)), np.finfo(float).tiny)

    def estimated_gain(self, D: Single) -> float:
        """The expected gain with tr(PDPD) = E v'PDPDv over random signs v (Hutchinson), in single precision."""
        slope = self.slope(D.astype(np.float64))
        if slope <= 0:
            return 0.0
        P, V, PV = self._probes
        trace = float(np.vdot(D @ PV, P @ (D @ V))) / PROBES
        return slope**2 / trace if trace > 0 else np.inf

    @cached_property
    def _probes(self) -> tuple[Single, Single, Single]:
        """P, signs V of shape (n, PROBES), the same ones in every test, and P V."""
        V = np.where(np.random.RandomState(0).rand(len(self.beta), PROBES) < 0.5, -1.0, 1.0)
        return self.P.astype(np.float32), V.astype(np.float32), (self.P @ V).astype(np.float32)


def _pull(factor: Array, root: Array) -> Array:
    """P = T^1/2 (I + T^1/2 K T^1/2)^-1 T^1/2 from the matrix's Cholesky factor and root = tau^1/2."""
    P = inverse_from_cholesky(factor)
    P *= root
    P *= root[:, None]
    return P
