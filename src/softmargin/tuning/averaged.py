"""A model averaged over hyperparameters: the predictions of several latent models, each with the same weight."""

from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
from scipy.special import log_expit, logsumexp

from softmargin._linalg import Array
from softmargin.kernels import without_white
from softmargin.tuning.model import LatentModel, Probability


@dataclass(frozen=True)
class AveragedModel(LatentModel):
    """The model at the best hyperparameters, whose predictions are those of `members` averaged.

    Probabilities and densities are averaged; means and variances are those of the mixture of the members' latent
    values. Everything else (the kernel, the posterior, the support vector machine) is the best model's.
    """

    members: tuple[LatentModel, ...] = field(default=(), repr=False)

    @classmethod
    def of(cls, best: LatentModel, members: list[LatentModel]) -> "AveragedModel":
        """Average over members; attributes are those of the best."""
        return cls(**{f.name: getattr(best, f.name) for f in fields(LatentModel)}, members=tuple(members))

    def latent(self, X: Any) -> tuple[Array, Array]:
        """Mean and variance of f at new rows, shape (n,) each: the variance includes that between the members."""
        means, variances = (np.stack(values) for values in zip(*(m.latent(X) for m in self.members)))
        return means.mean(axis=0), variances.mean(axis=0) + means.var(axis=0)

    @property
    def is_gaussian(self) -> bool:
        """No: f is a mixture, whose average probability may be on the other side of one half than that of its mean."""
        return False

    def latent_mean(self, X: Any) -> Array:
        """Mean of f at new rows, shape (n,)."""
        return np.mean([m.latent_mean(X) for m in self.members], axis=0)

    def log_density(self, X: Any, y: Array) -> Array:
        """ln of the averaged probability (density) of y at new rows, shape (n,)."""
        return _log_mean(np.stack([m.log_density(X, y) for m in self.members]))

    def log_odds(self, X: Any, probability: Probability) -> Array:
        """ln of the ratio of the averaged class probabilities."""
        odds = np.stack([m.log_odds(X, probability) for m in self.members])
        return _log_mean(log_expit(odds)) - _log_mean(log_expit(-odds))

    def without_nugget(self) -> "AveragedModel":
        """The same model of the function alone."""
        members = tuple(m.without_nugget() for m in self.members)
        return replace(self, kernel=without_white(self.kernel), members=members)

    def nugget(self, X: Any) -> Array:
        """Variance of the WhiteKernel terms at new rows, shape (n,)."""
        return np.mean([m.nugget(X) for m in self.members], axis=0)

    def covariance(self, X: Any) -> Array:
        """Joint covariance of f at new rows, shape (n, n)."""
        means = np.stack([m.latent_mean(X) for m in self.members])
        means -= means.mean(axis=0)
        within: Array = np.mean([m.covariance(X) for m in self.members], axis=0)
        return within + means.T @ means / len(means)

    def sample(self, X: Any, n_samples: int, random_state: np.random.RandomState) -> Array:
        """Draw latent functions at new rows, shape (n, n_samples): a member at random, then a function of it."""
        chosen = np.sort(random_state.randint(len(self.members), size=n_samples))
        drawn = [m.sample(X, int(np.sum(chosen == k)), random_state) for k, m in enumerate(self.members)]
        return np.concatenate([d for d in drawn if d.shape[1]], axis=1)


def _log_mean(values: Array) -> Array:
    """ln of the average of exp(values) over the members, shape (n,)."""
    found: Array = logsumexp(values, axis=0) - np.log(len(values))
    return found
