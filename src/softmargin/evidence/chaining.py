"""Monte Carlo chaining, the evidence's definition in practice (Sollich 2002, section 5).

Q(Y | X) = prod_k <w_{k+1}/w_k> over the distributions R_k = prior x w_k, where w_k holds the first ka examples;
likewise N(X), and Nhat with w_k = (mean v)^ka. Each R_k is sampled by Metropolis steps in one variable at a time:
the coordinates z of f = M z along the eigenvectors of K, or the weights beta of f = K beta. The paper gives
neither proposals nor burn-in nor order: here Gaussian proposals adapt to 44 % acceptance during the burn-in of each
link, a sixth of its sweeps, and rows are taken in their order.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from softmargin._linalg import Array
from softmargin.evidence import _metropolis
from softmargin.evidence._estimate import EvidenceEstimate, jackknife
from softmargin.sampling import ConditionalNormaliser, DataTarget, JointNormaliser, Spectrum, Target

REPRESENTATIONS = ("eigenvector", "beta")
NEGLIGIBLE = 1e-12
"""Eigenvalues below this fraction of the largest one are discarded."""


@dataclass(frozen=True)
class Chaining:
    """How to chain.

    Parameters
    ----------
    representation : {"eigenvector", "beta"}
    block : int
        a, the examples that each link adds.
    n_sweeps : int
        Sweeps through all variables at each link.
    n_chains : int
        Independent repetitions (at least 2, for the standard error).

    References
    ----------
    Sollich (2002), Bayesian methods for support vector machines, section 5, below eq. 32.
    """

    representation: str = "eigenvector"
    block: int = 1
    n_sweeps: int = 1000
    n_chains: int = 8

    def __post_init__(self) -> None:
        if self.representation not in REPRESENTATIONS:
            raise ValueError(f"unknown representation {self.representation!r}; choose one of {REPRESENTATIONS}")
        if self.n_chains < 2:
            raise ValueError(f"n_chains must be at least 2 to give a standard error; got {self.n_chains}")
        if self.block < 1 or self.n_sweeps < 12:
            raise ValueError(
                f"block must be at least 1 and n_sweeps at least 12; got block={self.block}, n_sweeps={self.n_sweeps}"
            )


def chain(rng: np.random.Generator, K: Array, target: Target, settings: Chaining | None = None) -> EvidenceEstimate:
    """Estimate ln of the prior average of the target's weight by chaining.

    References
    ----------
    Sollich (2002), Bayesian methods for support vector machines, section 5, below eq. 32.
    """
    settings = settings or Chaining()
    rows = _rows(target, len(K))
    moves, slope_is_f = _moves(K, settings.representation)
    n_steps = int(np.ceil(rows.n_examples / settings.block))
    powers = np.minimum(settings.block * np.arange(n_steps + 1), rows.n_examples)
    burn_in = max(settings.n_sweeps // 6, 2)
    ratios = np.empty((settings.n_chains, n_steps))
    for c, seed in enumerate(rng.integers(2**31 - 1, size=settings.n_chains)):
        ratios[c] = _metropolis.run_chain(
            np.random.default_rng(int(seed)),
            moves,
            slope_is_f,
            rows.kind,
            rows.is_joint,
            rows.y,
            rows.weight,
            *rows.constants,
            powers,
            burn_in,
            settings.n_sweeps - burn_in,
        )
    return jackknife(ratios)


@dataclass(frozen=True)
class _Rows:
    """A target in the form that the compiled loop takes."""

    kind: int
    is_joint: bool
    y: Array
    weight: Array
    constants: tuple[float, float, float]
    n_examples: float
    """Links end here: rows, or for the joint normaliser the power n."""


def _rows(target: Any, n: int) -> _Rows:
    likelihood = target.likelihood
    kind = _metropolis.row_kind(likelihood, normaliser=not isinstance(target, DataTarget))
    constants = _metropolis.constants(likelihood)
    weight = np.ones(n) if target.weight is None else np.asarray(target.weight, dtype=float)
    if isinstance(target, DataTarget):
        return _Rows(kind, False, np.asarray(target.y, dtype=float), weight, constants, float(n))
    if isinstance(target, ConditionalNormaliser):
        return _Rows(kind, False, np.zeros(n), weight, constants, float(n))
    assert isinstance(target, JointNormaliser)
    return _Rows(kind, True, np.zeros(n), weight / weight.sum(), constants, float(target.n_examples))


def _moves(K: Array, representation: str) -> tuple[Array, bool]:
    """Rows are the changes of f for a unit change of each variable; and whether the variables are beta."""
    if representation == "beta":
        return np.ascontiguousarray(K), True
    spectrum = Spectrum.of(K)
    keep = spectrum.values > NEGLIGIBLE * spectrum.values[-1]
    return np.ascontiguousarray((spectrum.vectors[:, keep] * np.sqrt(spectrum.values[keep])).T), False
