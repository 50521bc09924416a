"""The hinge machine: one latent function for each binary problem of a classification, and how they combine."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from sklearn.gaussian_process.kernels import Kernel

from softmargin._linalg import Array
from softmargin.kernels import Coefficients, PrecomputedKernel
from softmargin.likelihoods import Likelihood
from softmargin.machines.classification.pairs import Combination, Pair, fit_temperature, pairs_of, rows_of, seen_by
from softmargin.machines.sampled_rows import RawSample, Source, left_out_rows, n_inducing_for
from softmargin.policy import POLICY
from softmargin.rows import PairEncoding, TrainingRows
from softmargin.tuning import (
    LatentModel,
    LikelihoodCoordinates,
    Probability,
    Tuning,
    blas_threads,
    classifier_prior,
    fit_latent,
    fit_sparse,
    leave_rows_out,
    log_odds_slopes,
)


class LeftOut(NamedTuple):
    """Leave-one-out predictions of some training rows."""

    log_proba: Array
    """ln of the class probabilities, shape (n, n_classes)."""
    truth: np.ndarray
    """Class of each row, shape (n,)."""
    weight: Array

    def log_loss(self) -> float:
        """Average of -ln P(true class)."""
        return float(-(self.weight @ self.log_proba[np.arange(len(self.truth)), self.truth]) / self.weight.sum())

    def error(self) -> float:
        """Share of the rows that are misclassified."""
        wrong = self.log_proba.argmax(axis=1) != self.truth
        return float(self.weight @ wrong / self.weight.sum())


@dataclass(frozen=True)
class PairwiseMachine:
    """Fitted latent functions of all binary problems."""

    models: list[LatentModel]
    combination: Combination
    left_out: LeftOut | None = field(default=None, repr=False)
    """None where the posteriors have no cavities."""
    probability: Probability = "average"
    """Which class probability `log_proba` gives."""

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return self.combination.n_classes

    @property
    def pairs(self) -> list[Pair]:
        """The classes of each binary problem."""
        return self.combination.pairs

    @property
    def log_evidence(self) -> float:
        """Log evidence in nats of the support vector machines, summed over the binary problems."""
        return float(sum(model.log_evidence for model in self.models))

    def log_odds(self, X: Any) -> Array:
        """Log-odds of every binary problem, shape (n, n_pairs)."""
        return np.stack([model.log_odds(X, self.probability) for model in self.models], axis=1)

    def signs(self, X: Any) -> Array:
        """Numbers with the signs of the log-odds of two classes, shape (n,).

        Where P(+1 | f) = P(-1 | -f), the average over a Gaussian has the sign of its mean.
        """
        model = self.models[0]
        if self.probability != "map" and model.is_gaussian and _is_symmetric(model.likelihood):
            return model.latent_mean(X)
        return model.log_odds(X, self.probability)

    def log_proba(self, X: Any) -> Array:
        """ln of the class probabilities, shape (n, n_classes)."""
        return self.combination.log_proba(self.log_odds(X))

    def slopes(self, X: Any) -> Array | None:
        """Derivatives of the log-odds of two classes, shape (n, 1, d); None where there is no closed form."""
        if self.n_classes > 2:
            return None
        found = log_odds_slopes(self.models[0], X, self.probability)
        return None if found is None else found[:, None, :]

    def linear(self) -> Coefficients | None:
        """The posterior mean of every latent function as a linear one; None if a kernel is not linear."""
        parts = [model.linear() for model in self.models]
        linear = [part for part in parts if part is not None]
        if len(linear) < len(parts):
            return None
        return Coefficients(*(np.concatenate(values) for values in zip(*linear)))

    def predicting(self, probability: Probability) -> "PairwiseMachine":
        """The same machine, with another class probability as its own."""
        return replace(self, probability=probability)

    def latent(self, X: Any) -> tuple[Array, Array]:
        """Posterior mean and variance of every latent function, shape (n, n_pairs) each."""
        means, variances = zip(*(model.latent(X) for model in self.models))
        return np.stack(means, axis=1), np.stack(variances, axis=1)


@dataclass(frozen=True)
class PairwiseFit:
    """How to fit the machine: the same parts for every binary problem."""

    kernel: Kernel
    likelihood: LikelihoodCoordinates
    spread: Array
    tuning: Tuning
    default_prior: bool
    """Whether each problem gets the default hyperprior for its own classes."""
    multi_class: str = "ovo"
    n_inducing: int | None = None
    starts: list[Array] | None = None
    """Coordinates to start from, one for each binary problem; those of an earlier fit."""

    def from_rows(self, rows: TrainingRows, n_classes: int) -> PairwiseMachine:
        """Fit with the Gram matrices of merged rows whose targets are the numbers of their classes."""
        precomputed = isinstance(self.kernel, PrecomputedKernel)

        def fit(pair: Pair, start: Array | None, tuning: Tuning) -> LatentModel:
            part = rows_of(rows, pair, precomputed=precomputed)
            tuning = self.with_prior(tuning, part.y, part.weight)
            return fit_latent(part, self.kernel, self.likelihood, self.spread, tuning, start)

        machine = self._fit_all(fit, n_classes)
        return replace(machine, **_with_left_out(machine, rows, precomputed=precomputed))

    def from_source(self, source: Source, classes: np.ndarray, drawn: RawSample) -> PairwiseMachine:
        """Fit through inducing points to rows anywhere; `drawn` is a sample of them."""

        def fit(pair: Pair, start: Array | None, tuning: Tuning) -> LatentModel:
            encoding = PairEncoding(classes, pair)
            sample = drawn.encoded(encoding)
            m = n_inducing_for(max(int(len(sample.y) / sample.share), len(sample.y)), self.n_inducing)
            tuning = self.with_prior(tuning, sample.y, sample.weight)
            rows = source.encoded(encoding)
            return fit_sparse(rows, sample, self.kernel, self.likelihood, self.spread, tuning, m, start)

        machine = self._fit_all(fit, len(classes))
        return replace(machine, **_with_some_left_out(machine, drawn, classes, self.tuning.seed))

    def with_prior(self, tuning: Tuning, y: Array, weight: Array) -> Tuning:
        """The same settings with the hyperprior for the classes of a binary problem."""
        return replace(tuning, hyperprior=classifier_prior(y, weight)) if self.default_prior else tuning

    def _fit_all(self, fit: Callable[[Pair, Array | None, Tuning], LatentModel], n_classes: int) -> PairwiseMachine:
        pairs = pairs_of(n_classes, self.multi_class)
        starts = self.starts if self.starts is not None and len(self.starts) == len(pairs) else [None] * len(pairs)
        if len(pairs) == 1:
            models = [fit(pairs[0], starts[0], self.tuning)]
        else:
            here = effective_n_jobs(self.tuning.n_jobs) == 1
            tuning = self.tuning if here else self.tuning.without_report()
            jobs = (delayed(fit)(pair, start, tuning) for pair, start in zip(pairs, starts))
            with blas_threads(1):
                models = list(Parallel(n_jobs=self.tuning.n_jobs)(jobs))
        return PairwiseMachine(models, Combination(pairs, n_classes))


def leaves_whole_rows(rows: TrainingRows, *, precomputed: bool) -> bool:
    """Whether leave-one-out leaves all copies of a row out at once: copies must not predict each other.

    Where inputs carry several labels, all rows are copies in effect, new rows too, and one copy is left out.
    """
    return precomputed or rows.contested() <= POLICY.search.contested


def _is_symmetric(likelihood: Likelihood) -> bool:
    f = np.linspace(0.0, 8.0, 9)
    return bool(np.allclose(likelihood.log_odds(f), -likelihood.log_odds(-f), rtol=1e-12, atol=1e-12))


def _with_left_out(machine: PairwiseMachine, rows: TrainingRows, *, precomputed: bool) -> dict[str, Any]:
    """Leave-one-out predictions from the cavities, and the temperature that they set for several classes.

    Pairs not trained on a row use their ordinary prediction.
    """
    if precomputed and len(machine.models) > 1:
        return {}
    whole = leaves_whole_rows(rows, precomputed=precomputed)
    log_odds = np.empty((len(rows.y), len(machine.models)))
    for k, (model, pair) in enumerate(zip(machine.models, machine.pairs)):
        seen, left_out = seen_by(pair, rows.y), model.left_out_log_odds(whole=whole)
        if left_out is None:
            return {}
        log_odds[seen, k] = left_out
        if not np.all(seen):
            log_odds[~seen, k] = model.log_odds(rows.X[~seen], "average")
    return _combined(machine.combination, log_odds, rows.y.astype(int), rows.weight)


def _with_some_left_out(machine: PairwiseMachine, drawn: RawSample, classes: np.ndarray, seed: int) -> dict[str, Any]:
    """The same through inducing points, for some rows of the sample."""
    some = left_out_rows(len(drawn.y), seed)
    X, y, weight = drawn.X[some], drawn.y[some], drawn.weight[some]
    log_odds = np.empty((len(some), len(machine.models)))
    for k, (model, pair) in enumerate(zip(machine.models, machine.pairs)):
        keep, target, w = PairEncoding(classes, pair)(y, weight)
        seen = np.ones(len(y), dtype=bool) if keep is None else keep
        if np.any(seen):
            up, down = (leave_rows_out(model, X[seen], target, w, s * np.ones_like(target)).log_z for s in (1, -1))
            log_odds[seen, k] = up - down
        if not np.all(seen):
            log_odds[~seen, k] = model.log_odds(X[~seen], "average")
    return _combined(machine.combination, log_odds, np.searchsorted(classes, y), weight)


def _combined(combination: Combination, log_odds: Array, truth: np.ndarray, weight: Array) -> dict[str, Any]:
    if combination.n_classes > 2:
        inverse = fit_temperature(combination.probabilities(log_odds), truth, weight)
        combination = replace(combination, inverse_temperature=inverse)
    left_out = LeftOut(combination.log_proba(log_odds), truth, weight)
    return {"combination": combination, "left_out": left_out}
