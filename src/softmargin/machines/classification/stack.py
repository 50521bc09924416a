"""A stack of machines: class probabilities mixed with weights learnt on leave-one-out."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import log_expit, logsumexp

from softmargin._linalg import Array
from softmargin.kernels import NoInputDerivativeError
from softmargin.machines.importance import differences
from softmargin.machines.warp import Warp
from softmargin.machines.weights import classifier_pseudo_count, stacking_weights

CLEAR = 1e-8
"""A latent mean or log-odds nearer to zero has a sign that rounding may turn."""


@dataclass(frozen=True)
class Member:
    """One machine of a stack.

    Parameters
    ----------
    name : str
        "hinge", "least_squares", "least_squares_additive" (ANOVA kernel) or "least_squares_warped" (inputs).
    machine : PairwiseMachine or LeastSquaresMachine
        What predicts.
    warp : Warp or None
        What happens to the inputs first.
    """

    name: str
    machine: Any
    warp: Warp | None = None

    def log_proba(self, X: Any) -> Array:
        """ln of the class probabilities, shape (n, n_classes)."""
        log_p: Array = self.machine.log_proba(X if self.warp is None else self.warp(X))
        return log_p

    def signs(self, X: Any) -> Array:
        """Numbers with the signs of `log_odds`, shape (n,), for less."""
        odds: Array = self.machine.signs(X if self.warp is None else self.warp(X))
        return odds.reshape(-1)

    def log_odds(self, X: Any) -> Array:
        """Log-odds of the second of two classes, shape (n,)."""
        odds: Array = self.machine.log_odds(X if self.warp is None else self.warp(X))
        return odds.reshape(-1)

    def sample_proba(self, X: Any, n_samples: int, rng: np.random.RandomState) -> Array:
        """Class probabilities of functions drawn from the posterior, shape (n_samples, n, n_classes).

        Of a least-squares machine.
        """
        drawn: Array = self.machine.sample_proba(X if self.warp is None else self.warp(X), n_samples, rng)
        return drawn

    def slopes(self, X: Any) -> Array:
        """Derivatives of the log-odds of two classes, shape (n, 1, d), or of all log-probabilities, (n, n_classes, d).

        In closed form where the machine and its kernel have one, else by central differences.
        """
        inner = X if self.warp is None else self.warp(X)
        try:
            found = self.machine.slopes(inner)
        except NoInputDerivativeError:
            found = None
        if found is None:
            found = differences(lambda X: class_outputs(self.machine, X), inner)
        return found if self.warp is None else found * self.warp.slope(X)[:, None, :]

    def __repr__(self) -> str:
        return f"Member({self.name!r})"


def class_outputs(machine: Any, X: Any) -> Array:
    """What importance looks at: the log-odds of two classes, shape (n, 1), or log-probabilities, (n, n_classes)."""
    return machine.log_odds(X).reshape(-1, 1) if machine.n_classes == 2 else np.asarray(machine.log_proba(X))


@dataclass(frozen=True)
class Stack:
    """Machines and their weights."""

    members: list[Member]
    weights: Array
    left_out: Array | None = field(default=None, repr=False)
    """ln of the mixture's leave-one-out class probabilities, shape (n, n_classes)."""

    @classmethod
    def of(cls, members: list[Member], left_out: list[Array | None], truth: np.ndarray, weight: Array) -> "Stack":
        """Learn the weights from leave-one-out class probabilities (ln, shape (n, n_classes)); equal where one lacks.

        Parameters
        ----------
        members : list of Member
        left_out : list of ndarray of shape (n, n_classes) or None
        truth : ndarray of shape (n,)
            The class of every row.
        weight : ndarray of shape (n,)
        """
        known = [table for table in left_out if table is not None]
        if len(known) < len(members):
            return cls(members, np.full(len(members), 1 / len(members)))
        of_truth = np.stack([table[np.arange(len(truth)), truth] for table in known], axis=1)
        weights = stacking_weights(of_truth, weight, classifier_pseudo_count(float(weight.sum())))
        return cls(members, weights, mix(np.stack(known), weights))

    def log_proba(self, X: Any) -> Array:
        """ln of the mixture's class probabilities, shape (n, n_classes)."""
        if len(self.members) == 1:
            return self.members[0].log_proba(X)
        return mix(np.stack([member.log_proba(X) for member in self.members]), self.weights)

    def log_odds(self, X: Any) -> Array:
        """Log-odds of the second of two classes, shape (n,)."""
        odds = np.stack([member.log_odds(X) for member in self.members])
        if len(self.members) == 1:
            return odds[0]
        up, down = mix(np.stack([log_expit(odds), log_expit(-odds)], axis=2), self.weights).T
        return up - down

    def signs(self, X: Any) -> Array:
        """Numbers with the signs of `log_odds`, shape (n,): where the members agree, no variance is needed."""
        odds = np.stack([member.signs(X) for member in self.members])
        clear = np.abs(odds) > CLEAR
        agreed = np.all(clear & (odds > 0), axis=0) | np.all(clear & (odds < 0), axis=0)
        signs: Array = odds[0]
        if not np.all(agreed):
            signs[~agreed] = self.log_odds(X[~agreed])
        return signs

    def slopes(self, X: Any) -> Array:
        """Derivatives of the mixture's outputs; see `Member.slopes`."""
        found = np.stack([member.slopes(X) for member in self.members])
        if len(self.members) == 1:
            return found[0]
        log_p = np.stack([member.log_proba(X) for member in self.members])
        with np.errstate(divide="ignore"):
            share = np.exp(log_p + np.log(self.weights)[:, None, None] - mix(log_p, self.weights))
        if found.shape[2] > 1:
            # d ln p_c = sum_k share_kc d ln p_kc.
            return np.einsum("kic,kicd->icd", share, found)
        # d ln p_k = (1 - p_k) dL_k and d ln(1 - p_k) = -p_k dL_k for the log-odds L_k.
        down, up = np.exp(log_p[:, :, 0]), np.exp(log_p[:, :, 1])
        factor = share[:, :, 1] * down + share[:, :, 0] * up
        return np.einsum("ki,kicd->icd", factor, found)


def mix(log_p: Array, weights: Array) -> Array:
    """ln sum_k w_k p_k for log_p of shape (n_members, n, n_classes)."""
    with np.errstate(divide="ignore"):
        mixed: Array = logsumexp(log_p + np.log(weights)[:, None, None], axis=0)
    return mixed
