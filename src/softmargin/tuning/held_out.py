"""Early stopping on held-out rows: the remedy of Gold & Sollich 2003, section 5.3.2, against an overfitted criterion.

A fraction of the rows is held out of the search. Each evaluation predicts them; the search ends where their log loss is
lowest, and the posterior is then inferred from all rows.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from softmargin._linalg import Array
from softmargin.inference import LatentPosterior
from softmargin.kernels import PrecomputedKernel, diag, gram
from softmargin.policy import POLICY
from softmargin.rows import TrainingRows
from softmargin.search import Evaluation, StopSearch
from softmargin.tuning.coordinates import Model


@dataclass(frozen=True)
class HeldOut:
    """Rows that the search does not see."""

    train: TrainingRows = field(repr=False)
    X: Any = field(repr=False)
    """Inputs of shape (n, d); of a precomputed kernel the matrix of shape (n, n_train)."""
    y: Array = field(repr=False)
    weight: Array = field(repr=False)
    k_diag: Array | None = field(repr=False)
    """k(x, x) of a precomputed kernel, shape (n,)."""

    def log_loss(self, model: Model, posterior: LatentPosterior) -> float:
        """Average of -ln p(y) over the held-out rows."""
        if isinstance(model.kernel, PrecomputedKernel):
            K_star, k_diag = self.X, self.k_diag
        else:
            K_star, k_diag = gram(model.kernel, self.X, self.train.X), diag(model.kernel, self.X)
        assert k_diag is not None
        log_p = posterior.log_predictive(model.likelihood, self.y, K_star, k_diag)
        return float(-(self.weight @ log_p) / self.weight.sum())


def hold_out(rows: TrainingRows, fraction: float, seed: int, *, stratify: bool, precomputed: bool) -> HeldOut:
    """Hold a fraction of the (merged) rows out, drawn within each class if `stratify`; every class keeps a row."""
    rng = np.random.RandomState(seed)
    out = np.zeros(len(rows.y), dtype=bool)
    groups = [np.flatnonzero(rows.y == label) for label in np.unique(rows.y)] if stratify else [np.arange(len(out))]
    for group in groups:
        size = min(max(round(fraction * len(group)), 1), len(group) - 1)
        out[rng.permutation(group)[:size]] = True
    if not out.any():
        raise ValueError(
            f"validation_fraction={fraction} leaves no row to validate on: every class has one row only. "
            "Give more rows, or validation_fraction=None"
        )
    train = rows.subset(~out, rows.y[~out], precomputed=precomputed)
    if precomputed:
        X, k_diag = np.ascontiguousarray(rows.X[out][:, ~out]), np.diag(rows.X)[out]
        return HeldOut(train, X, rows.y[out], rows.weight[out], k_diag)
    return HeldOut(train, rows.X[out], rows.y[out], rows.weight[out], None)


@dataclass
class Watch:
    """Remembers the evaluation with the lowest held-out log loss, and ends a search that has passed it."""

    held_out: HeldOut
    best: Evaluation | None = None
    log_loss: float = np.inf
    waited: int = 0

    def __call__(self, evaluation: Evaluation, model: Model) -> float:
        """Return the held-out log loss of an evaluation."""
        loss = self.held_out.log_loss(model, evaluation.posterior)
        self.waited += 1
        if self.best is None or loss < self.log_loss:
            self.best, self.log_loss, self.waited = evaluation, loss, 0
        return loss

    def check(self) -> None:
        """Raise `StopSearch` if nothing has been gained for a while."""
        if self.waited >= POLICY.search.patience:
            self.waited = 0
            raise StopSearch
