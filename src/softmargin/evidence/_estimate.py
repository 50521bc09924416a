"""What every evidence method returns, and what they all take."""

from dataclasses import dataclass, field

import numpy as np

from softmargin._linalg import Array


@dataclass(frozen=True)
class EvidenceEstimate:
    """A logarithm of an evidence in nats, all rows together.

    Examples
    --------
    >>> EvidenceEstimate(-3.0, 0.3) - EvidenceEstimate(-1.0, 0.4)
    EvidenceEstimate(value=-2.0, standard_error=0.5)
    """

    value: float
    standard_error: float = 0.0
    """Monte Carlo standard error; zero for deterministic methods, which have errors of another kind."""

    def per_example(self, n_examples: float) -> "EvidenceEstimate":
        """Divide by the number of examples: the papers' E = ln P / n."""
        return EvidenceEstimate(self.value / n_examples, self.standard_error / n_examples)

    def __sub__(self, other: "EvidenceEstimate") -> "EvidenceEstimate":
        """Difference of two independent estimates."""
        error = float(np.hypot(self.standard_error, other.standard_error))
        return EvidenceEstimate(self.value - other.value, error)


@dataclass(frozen=True)
class EvidenceGradient(EvidenceEstimate):
    """An estimate with its gradient.

    ``d value = sum_ij d_gram_ij dK_ij + sum_k d_params_k d params_k``.
    """

    d_gram: Array = field(default_factory=lambda: np.empty((0, 0)), repr=False)
    """Shape (n, n), symmetric."""
    d_params: Array = field(default_factory=lambda: np.empty(0))
    """Shape (n_params,)."""
    is_reliable: bool = True
    """Whether annealing reached its end in steps as small as it needs."""


def jackknife(log_values: Array) -> EvidenceEstimate:
    """Combine independent estimates of factors into the logarithm of their product.

    Parameters
    ----------
    log_values : ndarray of shape (n_replicas, n_factors)
        ln of each replica's estimate of each factor.
    """
    n = len(log_values)
    top = log_values.max(axis=0)
    share = np.exp(log_values - top)
    value = float(np.sum(top + np.log(share.mean(axis=0))))
    others = np.sum(top + np.log((share.sum(axis=0) - share) / (n - 1)), axis=1)
    return EvidenceEstimate(value, float(np.sqrt((n - 1) / n * np.sum((others - others.mean()) ** 2))))
