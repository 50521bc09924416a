"""BayesianSVR for ScoringBench (Landsgesell et al. 2026, arXiv:2603.29928): probabilistic regression.

ScoringBench asks a wrapper for ``fit``, ``predict`` (means) and ``predict_distribution``; it makes a distribution from
quantiles by ``DistributionPrediction.from_multi_quantile``. To run it there: put `SoftmarginWrapper`
into the models of ``scoringbench/univariate/models.py`` and start ``run_bench_regression.py``. Without ScoringBench the
class can be used too: `predict_distribution` then returns the quantiles and their levels.
"""

from typing import Any, NamedTuple

import numpy as np

from benchmarks.wrappers._inputs import as_frame, make_encoder
from softmargin import BayesianSVR

try:
    from scoringbench.univariate.wrappers.base import DistributionPrediction, ProbabilisticWrapper
except ImportError:
    DistributionPrediction, ProbabilisticWrapper = None, object

N_QUANTILES = 99


class Quantiles(NamedTuple):
    """Quantiles (n, k) of every row at the levels (k,), and means (n,)."""

    values: np.ndarray
    levels: np.ndarray
    mean: np.ndarray


class SoftmarginWrapper(ProbabilisticWrapper):
    """BayesianSVR with its defaults.

    Parameters
    ----------
    n_quantiles : int, default=99
        Quantiles at the levels k/(n_quantiles + 1).
    **settings
        Parameters of `BayesianSVR`.
    """

    def __init__(self, n_quantiles: int = N_QUANTILES, **settings: Any) -> None:
        self.n_quantiles = n_quantiles
        self.settings = settings

    def fit(self, X: Any, y: Any) -> "SoftmarginWrapper":
        """Learn the coding of the inputs and the model from rows with a finite target."""
        y = np.asarray(y, dtype=float).ravel()
        self._y_train_range = (float(np.nanmin(y)), float(np.nanmax(y)))
        rows = np.isfinite(y)
        self._encoder = make_encoder().fit(as_frame(X)[rows])
        self._model = BayesianSVR(**self.settings).fit(self._encoder.transform(as_frame(X)[rows]), y[rows])
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Predictive means, shape (n,)."""
        return self._model.predict(self._encoder.transform(as_frame(X)))

    def quantiles(self, X: Any) -> Quantiles:
        """Predictive quantiles and means."""
        levels = np.arange(1, self.n_quantiles + 1) / (self.n_quantiles + 1)
        coded = self._encoder.transform(as_frame(X))
        return Quantiles(self._model.predict_quantiles(coded, levels), levels, self._model.predict(coded))

    def predict_distribution(self, X: Any) -> Any:
        """ScoringBench's form of the predictive distribution, or `Quantiles` where it is not installed."""
        found = self.quantiles(X)
        if DistributionPrediction is None:
            return found
        return DistributionPrediction.from_multi_quantile(
            found.values, found.levels, mean=found.mean, train_range=self._y_train_range
        )
