"""The fixed-point iteration of EP's sites, whatever the covariance: accelerated first, careful where that fails.

A sweep moves all sites by a share of the way to those that match the tilted moments. Anderson acceleration from the
second sweep on takes two thirds of the sweeps that plain ones take until close to the fixed point, and converges where
those cycle. Its history is forgotten whenever the residual rises; if it gains nothing for some sweeps, the steps become
short and acceleration waits until the residual is small.
"""

from collections.abc import Callable
from typing import Protocol, TypeVar

import numpy as np

from softmargin._linalg import Array
from softmargin.inference.sites.anderson import Anderson

STEP, CAREFUL_STEP = 0.8, 0.3
"""Share of the way to the matching sites that a sweep goes, at first and when that gains nothing."""
CAREFUL_CLOSE = 0.1
"""Residual below which careful sweeps are accelerated."""
HURRY, PATIENCE = 6, 15
"""Sweeps without a clear gain after which an iteration turns careful, and after which a careful one is given up."""


class Sweep(Protocol):
    """A posterior given by sites, and how far its moments are from the tilted ones."""

    @property
    def residual(self) -> float:
        """Largest gap between tilted and posterior moments."""
        ...

    @property
    def sites(self) -> Array:
        """Precisions and shifts, shape (2n,)."""
        ...

    @property
    def target(self) -> Array:
        """The sites that match the tilted moments, shape (2n,)."""
        ...

    @property
    def variance(self) -> Array:
        """Posterior variances, shape (n,)."""
        ...

    def agrees(self, tol: float) -> bool:
        """Whether the moments agree to `tol`, or to the digits that they have."""
        ...


S = TypeVar("S", bound=Sweep)


def iterate(
    evaluate: Callable[[Array], S | None], sites: Array, tol: float, max_sweeps: int, careful: float | None = None
) -> tuple[S | None, int]:
    """Sweep until the moments agree.

    Parameters
    ----------
    evaluate : callable
        Sites (2n,) to a `Sweep`; None if they are improper.
    sites : ndarray of shape (2n,)
        Where to start.
    tol : float
    max_sweeps : int
    careful : float, optional
        Go this share of the way from the first sweep on, without the hurried part.

    Returns
    -------
    The last state (None if there is no proper one) and the sweeps used.
    """
    anderson, last, mark, waited = Anderson(), np.inf, np.inf, 0
    share, close, patience = (STEP, np.inf, HURRY) if careful is None else (careful, CAREFUL_CLOSE, PATIENCE)
    sweep, state = 1, evaluate(sites)
    while state is not None and not state.agrees(tol) and sweep < max_sweeps:
        # The first residual says little: without sites every row's moments are wrong by about the same.
        residual = state.residual if sweep > 1 else np.inf
        mark, waited = (residual, 0) if residual < 0.7 * mark else (mark, waited + 1)
        if waited > patience:
            if patience == PATIENCE:
                break
            share, close, patience, waited = CAREFUL_STEP, CAREFUL_CLOSE, PATIENCE, 0
        if sweep <= 2 or residual > min(last, close):
            anderson.clear()
        last = residual
        step = state.target - state.sites
        if not np.all(np.isfinite(step)):
            # A site would outweigh its cavity by more than 1e16: 1 + v h of `match_moments` has no digits left.
            return None, sweep
        old, now, state = state, share, evaluate(_proposal(anderson, state, step, share))
        sweep += 1
        while state is None and now > 1e-3:
            # Improper: the plain step, shortened until it is not.
            anderson.clear()
            now *= 0.25
            state, sweep = evaluate(old.sites + now * step), sweep + 1
    return state, sweep


def _proposal(anderson: Anderson, state: Sweep, step: Array, share: float) -> Array:
    n = len(step) // 2
    scale = np.concatenate([state.variance, np.sqrt(state.variance)])
    proposal = anderson.propose(state.sites, step, scale, share)
    # A log-concave factor has a non-negative site; extrapolation and rounding must not break that.
    least = np.minimum(np.minimum(state.target[:n], 0), state.sites[:n])
    np.maximum(proposal[:n], least, out=proposal[:n])
    return proposal
