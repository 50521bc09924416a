"""Has the sampler converged? Rank-normalised split R-hat, bulk and tail effective sample sizes, Monte Carlo errors.

The checked quantities are those whose averages are used: the loss and the gradients of the evidence. The
statistics are those of arviz-stats (extra ``diagnostics``), after Vehtari et al. 2021.
"""

import warnings
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from softmargin._linalg import Array
from softmargin.policy import POLICY
from softmargin.sampling.chains import Draws

SAMPLING = POLICY.sampling


@dataclass(frozen=True)
class Diagnostics:
    """One entry for each quantity in `names`."""

    names: tuple[str, ...]
    mean: Array
    mcse: Array
    """Monte Carlo standard error of the mean."""
    r_hat: Array
    ess_bulk: Array
    ess_tail: Array
    acceptance: float
    max_energy_error: float

    @property
    def passed(self) -> bool:
        """Whether every R-hat is below 1.01 and every effective sample size above 400."""
        return bool(np.all(self.r_hat < SAMPLING.largest_r_hat) and np.all(self.ess_bulk > SAMPLING.smallest_ess))


def can_diagnose() -> bool:
    """Whether arviz-stats is installed."""
    return find_spec("arviz_stats") is not None


def diagnose(draws: Draws, param_names: tuple[str, ...]) -> Diagnostics:
    """Compute the diagnostics of recorded draws."""
    stats = _array_stats()
    names = ("loss", "d_log_amplitude", *(f"d_{name}" for name in param_names))
    # arviz wants (quantity, chain, draw).
    values = np.stack([-draws.log_weight, draws.d_log_amplitude, *draws.d_params]).transpose(0, 2, 1)
    # Where the likelihood is flat a quantity is the same in every draw, and its R-hat 0/0: nothing is left to converge.
    still = np.ptp(values, axis=(1, 2)) == 0
    with np.errstate(invalid="ignore", divide="ignore"):
        r_hat = np.array([float(stats.rhat(v)) for v in values])
        mcse = np.array([float(stats.mcse(v)) for v in values])
    return Diagnostics(
        names=names,
        mean=values.mean(axis=(1, 2)),
        mcse=np.where(still, 0.0, mcse),
        r_hat=np.where(still, 1.0, r_hat),
        ess_bulk=np.array([float(stats.ess(v, method="bulk")) for v in values]),
        ess_tail=np.array([float(stats.ess(v, method="tail", prob=(0.05, 0.95))) for v in values]),
        acceptance=draws.acceptance,
        max_energy_error=float(np.max(draws.energy_error)),
    )


def warn_if_failed(diagnostics: Diagnostics) -> None:
    """Warn, with a remedy, when a diagnostic fails."""
    if diagnostics.passed:
        return
    failed = (diagnostics.r_hat >= SAMPLING.largest_r_hat) | (diagnostics.ess_bulk <= SAMPLING.smallest_ess)
    details = ", ".join(
        f"{name} (R-hat {r:.3f}, bulk ESS {e:.0f})"
        for name, r, e, bad in zip(diagnostics.names, diagnostics.r_hat, diagnostics.ess_bulk, failed, strict=True)
        if bad
    )
    warnings.warn(
        f"the sampler has not converged: {details}; wanted R-hat < {SAMPLING.largest_r_hat} and "
        f"bulk ESS > {SAMPLING.smallest_ess}. "
        "Raise n_draws (or thin, to keep memory), raise n_warmup, or use reference='ep' with sampler='rotation'.",
        ConvergenceWarning,
        stacklevel=3,
    )


def _array_stats() -> Any:
    try:
        from arviz_stats.base import array_stats
    except ImportError as error:
        raise ImportError(
            "sampling diagnostics need arviz-stats; install the extra with `pip install 'softmargin[diagnostics]'`"
        ) from error
    return array_stats
