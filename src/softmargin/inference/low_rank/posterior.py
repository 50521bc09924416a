"""The result of low-rank EP: the sparse posterior with the sites and cavities of its rows."""

from dataclasses import dataclass, field

import numpy as np

from softmargin._linalg import Array
from softmargin.inference.sparse import SparsePosterior


@dataclass(frozen=True)
class LowRankPosterior(SparsePosterior):
    """Latent posterior through m inducing points, by EP; predictions are those of `SparsePosterior`.

    Arrays over rows follow the rows that were given, with zeros for rows that did not take part.
    """

    a: Array = field(default_factory=lambda: np.empty(0), repr=False)
    """Precisions of the sites on gamma_i = f_i'u, shape (n,); negative where a factor is not log-concave."""
    c: Array = field(default_factory=lambda: np.empty(0), repr=False)
    """Shifts of these sites, shape (n,)."""
    variance: Array = field(default_factory=lambda: np.empty(0), repr=False)
    """Posterior variance of f at the rows, shape (n,)."""
    cavity_mean: Array = field(default_factory=lambda: np.empty(0), repr=False)
    """Leave-one-out mean of f, shape (n,)."""
    cavity_variance: Array = field(default_factory=lambda: np.empty(0), repr=False)
    """Leave-one-out variance of f, shape (n,)."""
    D: Array = field(default_factory=lambda: np.empty(0), repr=False)
    """Prior variance of f that the inducing points leave unexplained, shape (n,)."""
    jitter: float = 0.0
    """Of Kzz, relative to the mean of its diagonal."""
    residual: float = 0.0
    """Largest gap between tilted and posterior moments."""
    method: str = "ep"

    def cavities(self, share: Array | None = None) -> tuple[Array, Array]:  # type: ignore[override]
        """Leave-one-out mean and variance of f at the rows, shape (n,) each; see `Posterior.cavities`."""
        if share is None:
            return self.cavity_mean, self.cavity_variance
        # The cavity of gamma is N(m, s_c); sites to the power 1 - share are given back to it.
        m, s = self.cavity_mean, self.cavity_variance - self.D
        back = 1 - share
        k = 1 + back * self.a * s
        return (m + back * self.c * s) / k, s / k + self.D

    def sites_at(self, D: Array) -> Array:
        """The same sites on f, seen through another rank with unexplained variances D: (a, c), shape (2, n).

        A site (tau, nu) on f is a = tau/(1 + tau D), c = nu/(1 + tau D) on gamma.
        """
        # Extrapolated sites may not be those of any tau: never lengthen them by more than ten.
        scale = np.maximum(1 + self.a * (D - self.D), 0.1)
        return np.stack([self.a, self.c]) / scale
