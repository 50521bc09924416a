"""BayesianSVC: the support vector classifier that tunes itself and gives honest class probabilities."""

from itertools import combinations
from typing import Any, Literal

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from scipy.special import expit, log_expit
from sklearn.base import ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from softmargin._linalg import Array
from softmargin.criteria import Problem, leave_one_out
from softmargin.distributed import blockwise
from softmargin.estimators._base import LatentEstimator, check_choice, check_fraction, relevance
from softmargin.estimators._callbacks import FitTasks, with_callbacks
from softmargin.estimators._large import fit_large_classifier, is_large
from softmargin.estimators._model import LatentModel
from softmargin.estimators._multiclass import couple, fit_temperature, pairwise_table, temper
from softmargin.estimators._rows import Rows, class_weights, merge_rows
from softmargin.estimators._stream import can_stream, partial_fit_classifier
from softmargin.estimators._tuning import classifier_prior, fit_latent
from softmargin.kernels import evaluate, make_kernel
from softmargin.likelihoods import get_likelihood
from softmargin.search import FixedNoise, LogParameter, NoiseCoordinates


class BayesianSVC(ClassifierMixin, LatentEstimator):
    """Support vector classifier that learns C, the kernel and a length scale per input, and averages its probabilities.

    The SVM is read as the most probable function under a Gaussian-process prior with the kernel as covariance
    (Sollich 2002). Its posterior gives class probabilities that never contradict the prediction, and criteria with
    exact gradients that replace cross-validation.

    Parameters
    ----------
    kernel : None, str or Kernel, default=None
        None: amplitude x RBF with a length scale for each input, plus an offset. Or "rbf" (the same), "ou", "matern32",
        "matern52", "linear", "poly", "precomputed", or any `sklearn.gaussian_process.kernels.Kernel`, learnt within its
        bounds.
    C : float or None, default=None
        Inverse noise level (penalty on slack); None learns it.
    loss : {"hinge", "squared_hinge"}, default="hinge"
    inference : {"ep", "laplace", "variational", "map", ...}, default="ep"
        How the posterior is computed.
    criterion : str, default="auto"
        What the search maximises. "auto": the link evidence for the relative length scales, then EP's leave-one-out log
        loss for the common scale, the amplitude, the offset and C. Or "evidence" (as `inference` estimates it),
        "link_evidence", "loo", ...
    search : {"lbfgs", ...} or None, default="lbfgs"
        None fits at the given values.
    probability : {"average", "mean", "map"}, default="average"
        Class probability averaged over the posterior, at the posterior mean, or at the SVM itself (Sollich 2002,
        eqs. 33, 36, 37).
    hyperprior : "auto", HyperPrior or None, default="auto"
        Weak priors on the logarithms of the hyperparameters, relative to each input's spread; None: the pure criterion.
    n_restarts : int, default=0
        Additional random starts.
    validation_fraction : float or None, default=None
        Hold this fraction of the rows (of each class) out of the search and end it where their log loss is lowest; the
        posterior is then inferred from all rows. A remedy for a criterion that overfits, such as the evidence without
        a hyperprior.
    multi_class : {"ovo", "ovr"}, default="ovo"
        One-vs-one with pairwise coupling, or one-vs-rest.
    class_weight : dict, "balanced" or None, default=None
    n_inducing : int or None, default=None
        Number of inducing points of `inference="sparse"`; None: 512, or a third of the rows if these are fewer.
    max_iter : int, default=60
        Iterations of each search.
    tol : float, default=1e-3
        The search stops when an iteration gains less (in nats).
    warm_start : bool, default=False
        Start the search from the hyperparameters of the previous fit.
    n_jobs : int or None, default=None
        Pairs of classes and restarts in parallel (joblib).
    random_state : int, RandomState or None, default=None
    verbose : int, default=0
        1: log every evaluation through `logging` (logger "softmargin").

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    kernel_, C_, likelihood_, posterior_ : fitted kernel, C, likelihood and posterior
        Lists with one entry per pair (or class) when there are more than two classes.
    log_evidence_ : float
        Log evidence in nats as the inference estimates it (summed over pairs).
    relevance_ : ndarray of shape (n_features,)
        Inverse length scale of each input in units of its spread, the largest scaled to 1 (averaged over pairs, whose
        own are in `pair_relevance_`).
    loo_log_loss_, loo_error_ : float
        Leave-one-out log loss and error from EP's cavities. The search optimised the former: as an estimate of
        performance it is optimistic.
    search_path_ : list of dict
        Every evaluation of the search.
    support_, support_vectors_, dual_coef_, n_support_, margins_ : the SVM at the learnt hyperparameters
    n_iter_ : int
        Evaluations of the search.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from softmargin import BayesianSVC
    >>> X, y = load_iris(return_X_y=True)
    >>> model = BayesianSVC().fit(X[50:], y[50:])
    >>> model.predict_proba(X[50:52]).shape
    (2, 2)
    """

    def __init__(
        self,
        kernel: Any = None,
        *,
        C: float | None = None,
        loss: str = "hinge",
        inference: str = "ep",
        criterion: str = "auto",
        search: str | None = "lbfgs",
        probability: Literal["average", "mean", "map"] = "average",
        hyperprior: Any = "auto",
        n_restarts: int = 0,
        validation_fraction: float | None = None,
        multi_class: Literal["ovo", "ovr"] = "ovo",
        class_weight: Any = None,
        n_inducing: int | None = None,
        max_iter: int = 60,
        tol: float = 1e-3,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.kernel = kernel
        self.C = C
        self.loss = loss
        self.inference = inference
        self.criterion = criterion
        self.search = search
        self.probability = probability
        self.hyperprior = hyperprior
        self.n_restarts = n_restarts
        self.validation_fraction = validation_fraction
        self.multi_class = multi_class
        self.class_weight = class_weight
        self.n_inducing = n_inducing
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "BayesianSVC":
        """Learn the hyperparameters and infer the posterior.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Needs no scaling: length scales and priors follow each input's spread.
        y : array-like of shape (n_samples,)
            Class labels of any kind.
        sample_weight : array-like of shape (n_samples,), optional
            A row of weight w counts as w identical rows.

        Returns
        -------
        self
        """
        check_choice("loss", self.loss, ["hinge", "squared_hinge"])
        check_choice("probability", self.probability, ["average", "mean", "map"])
        check_choice("multi_class", self.multi_class, ["ovo", "ovr"])
        check_fraction("validation_fraction", self.validation_fraction)
        if is_large(self, X):
            return fit_large_classifier(self, X, y, sample_weight)
        X, y, weight = self._validate_training(X, y, sample_weight)
        check_classification_targets(y)
        classes, index = np.unique(y, return_inverse=True)
        if len(classes) < 2:
            raise ValueError(
                f"BayesianSVC needs at least 2 classes in y, got 1 class: {classes[0]!r}. "
                "Check that y has the labels and not one constant"
            )
        weight = self._weigh_classes(classes, index, weight)
        tasks = FitTasks.begin(self, X, y, sample_weight)
        previous = [m.z for m in self._models] if self.warm_start and hasattr(self, "_models") else None
        self.classes_ = classes
        rows = merge_rows(X, index.astype(float), weight, precomputed=self._is_precomputed())
        spread = self._spread(rows.X, rows.weight)
        kernel = make_kernel(self.kernel, X.shape[1], None if self._is_precomputed() else spread)
        self._fit_problems(rows, kernel, spread, previous, tasks)
        self._set_fitted(X, index, rows, spread)
        tasks.end()
        return self

    @available_if(can_stream)
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> "BayesianSVC":
        """Update the model by a batch of a stream (`inference="sparse"` only).

        The first batch is fitted: it must be large enough to learn the hyperparameters and have rows of every class.
        Later ones update the posterior at those hyperparameters, at the cost of the batch alone.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        classes : array-like, optional
            The classes to expect; checked against the first batch.
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        self
        """
        return partial_fit_classifier(self, X, y, classes, sample_weight)

    # -- fitting -------------------------------------------------------------------------------------------------

    def _weigh_classes(self, classes: np.ndarray, index: np.ndarray, weight: Array | None) -> Array | None:
        """Multiply the weights by those of the classes; every class must keep a row."""
        if self.class_weight is not None:
            each = class_weights(self.class_weight, classes, index, weight)
            weight = each[index] if weight is None else weight * each[index]
        if weight is not None and len(np.unique(index[weight > 0])) < len(classes):
            raise ValueError(
                "sample_weight or class_weight removes every row of a class: give each class a row with positive weight"
            )
        return weight

    def _noise(self) -> NoiseCoordinates:
        likelihood = get_likelihood(self.loss)
        if self.C is not None:
            return FixedNoise(likelihood(float(self.C)))
        if self.search is None:
            return FixedNoise(likelihood(1.0))
        return LogParameter(likelihood, "C", 1.0)

    def _problems(self, rows: Rows) -> list[tuple[Rows, tuple[int, int]]]:
        """The binary problems: one, one per pair (a, b), or one per class (written as the pair (-1, class))."""
        k = len(self.classes_)
        if k == 2 or self.multi_class == "ovo":
            pairs = list(combinations(range(k), 2))
            masks = [(rows.y == a) | (rows.y == b) for a, b in pairs]
        else:
            pairs = [(-1, b) for b in range(k)]
            masks = [np.ones(len(rows.y), dtype=bool)] * k
        return [
            (rows.subset(mask, np.where(rows.y[mask] == b, 1.0, -1.0), precomputed=self._is_precomputed()), (a, b))
            for mask, (a, b) in zip(masks, pairs)
        ]

    def _fit_problems(
        self, rows: Rows, kernel: Any, spread: Array, previous: list[Array] | None, tasks: FitTasks
    ) -> None:
        problems = self._problems(rows)
        self._pairs = [pair for _, pair in problems]
        starts = previous if previous is not None and len(previous) == len(problems) else [None] * len(problems)
        noise = self._noise()
        one = len(problems) == 1
        # Callbacks live in this process.
        here = tasks if one or effective_n_jobs(self.n_jobs) == 1 else None

        def fit(part: Rows, start: Array | None) -> LatentModel:
            prior = classifier_prior(part.y, part.weight)
            return fit_latent(
                part, kernel, noise, spread, self._tuning(prior, here, _as_fitted if one else None), start
            )

        if one:
            self._models = [fit(problems[0][0], starts[0])]
        else:
            with threadpool_limits(1):
                self._models = list(
                    Parallel(n_jobs=self.n_jobs)(delayed(fit)(part, z) for (part, _), z in zip(problems, starts))
                )
        self._beta = 1.0
        self._loo_probability: Array | None = None
        if len(self.classes_) > 2:
            self._fit_temperature(rows)

    def _fit_temperature(self, rows: Rows) -> None:
        """One temperature on the multi-class leave-one-out probabilities; pairs that never saw a row predict it."""
        if self._is_precomputed() or any(m.posterior.site_precision is None for m in self._models):
            return
        log_odds = np.empty((len(rows.y), len(self._models)))
        for k, (model, (a, b)) in enumerate(zip(self._models, self._pairs)):
            seen = (rows.y == a) | (rows.y == b) | (a < 0)
            log_odds[seen, k] = _loo_log_odds(model)
            if not np.all(seen):
                log_odds[~seen, k] = model.log_odds(rows.X[~seen], "average")
        p = self._combine(log_odds)
        self._loo_probability = p
        self._beta = fit_temperature(p, rows.y.astype(int), rows.weight)

    def _set_fitted(self, X: Any, index: np.ndarray, rows: Rows, spread: Array) -> None:
        self._set_learnt(spread)
        self._set_leave_one_out(rows)
        self._set_support(X, index, rows)

    def _set_learnt(self, spread: Array) -> None:
        for optional in ("relevance_", "pair_relevance_", "loo_log_loss_", "loo_error_"):
            # Not every kernel and inference gives them: forget those of an earlier fit.
            self.__dict__.pop(optional, None)
        models = self._models
        one = len(models) == 1
        self.kernel_ = models[0].kernel if one else [m.kernel for m in models]
        self.likelihood_ = models[0].likelihood if one else [m.likelihood for m in models]
        C = [m.likelihood.C for m in models]
        self.C_ = C[0] if one else np.array(C)
        self.posterior_ = models[0].posterior if one else [m.posterior for m in models]
        self.inference_ = models[0].posterior.method
        self.log_evidence_ = float(sum(m.posterior.log_evidence for m in models))
        self.search_path_ = [
            {"pair": pair, **row} if not one else row for m, pair in zip(models, self._pairs) for row in m.path
        ]
        self.n_iter_ = max(len(self.search_path_), 1)
        relevances = [relevance(m, spread) for m in models]
        if all(r is not None for r in relevances):
            self.pair_relevance_ = np.array(relevances)
            self.relevance_ = self.pair_relevance_.mean(axis=0)

    def _set_leave_one_out(self, rows: Rows) -> None:
        if any(m.posterior.variance is None or m.posterior.site_precision is None for m in self._models):
            return
        if len(self._models) == 1:
            margin = self._models[0].rows.y * _loo_log_odds(self._models[0])
            log_p, right = log_expit(margin), margin > 0
        elif self._loo_probability is not None:
            table = temper(self._loo_probability, self._beta)
            truth = rows.y.astype(int)
            log_p, right = table[np.arange(len(truth)), truth], table.argmax(axis=1) == truth
        else:
            return
        w = np.ones(len(log_p)) if rows.weight is None else rows.weight
        self.loo_log_loss_ = float(-(w @ log_p) / w.sum())
        self.loo_error_ = float(w @ ~right / w.sum())

    def _set_support(self, X: Any, index: np.ndarray, rows: Rows) -> None:
        """Express the SVMs in the original rows: copies share their merged row's coefficient by weight."""
        n = len(index)
        coefficients = self._coefficients(self._models, rows, n)
        margins = np.full((len(self._models), n), np.nan)
        for k, model in enumerate(self._models):
            group = model.rows.group[:n]
            inside = group >= 0
            margins[k, inside] = model.rows.y[group[inside]] * model.svm.mean[group[inside]]
        self.support_ = np.flatnonzero(np.any(coefficients != 0, axis=0))
        self.support_vectors_ = X[self.support_] if not self._is_precomputed() else np.empty((0, 0))
        self.dual_coef_ = coefficients[:, self.support_]
        self.n_support_ = np.bincount(index[self.support_], minlength=len(self.classes_)).astype(np.int32)
        self.margins_ = margins[0] if len(margins) == 1 else margins

    # -- prediction ----------------------------------------------------------------------------------------------

    def _combine(self, log_odds: Array) -> Array:
        """Class probabilities, before tempering, from the log-odds of every binary problem; shape (n, n_classes)."""
        if self._pairs[0][0] < 0:
            p = np.clip(expit(log_odds), 1e-15, None)
            return p / p.sum(axis=1, keepdims=True)
        return couple(pairwise_table(log_odds, self._pairs, len(self.classes_)))

    def _log_proba(self, X: Any) -> Array:
        log_odds = np.stack([m.log_odds(X, self.probability) for m in self._models], axis=1)
        return temper(self._combine(log_odds), self._beta)

    @blockwise
    def decision_function(self, X: Any) -> Array:
        """Log-odds of `predict_proba`, so that prediction, ranking and probability agree.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
        """
        X = self._validate_new(X)
        if len(self.classes_) == 2:
            return self._models[0].log_odds(X, self.probability)
        log_p = self._log_proba(X)
        # ln p - ln(1 - p); 1 - p from the other classes would cancel only where p is 1 to rounding.
        return log_p - np.log(np.maximum(-np.expm1(log_p), 1e-300))

    @blockwise
    def predict(self, X: Any) -> np.ndarray:
        """Predict the most probable class.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        scores = self.decision_function(X)
        index = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[index]

    @blockwise
    def predict_log_proba(self, X: Any) -> Array:
        """Log of the class probabilities, shape (n_samples, n_classes)."""
        check_is_fitted(self)
        if len(self.classes_) == 2:
            odds = self.decision_function(X)
            return np.stack([log_expit(-odds), log_expit(odds)], axis=1)
        return self._log_proba(self._validate_new(X))

    @blockwise
    def predict_proba(self, X: Any) -> Array:
        """Class probabilities, shape (n_samples, n_classes), columns in the order of `classes_`."""
        return np.exp(self.predict_log_proba(X))

    def latent_mean_and_variance(self, X: Any) -> tuple[Array, Array]:
        """Posterior mean and variance of the latent function theta(x).

        Returns
        -------
        mean, variance : ndarrays of shape (n_samples,), or (n_samples, n_pairs) with more than two classes
        """
        X = self._validate_new(X)
        means, variances = zip(*(m.latent(X) for m in self._models))
        if len(self._models) == 1:
            return means[0], variances[0]
        return np.stack(means, axis=1), np.stack(variances, axis=1)

    def sample_latent(self, X: Any, n_samples: int = 1, random_state: Any = None) -> Array:
        """Draw latent functions from the posterior at the rows of X.

        Returns
        -------
        ndarray of shape (n_rows, n_samples), or (n_pairs, n_rows, n_samples) with more than two classes
        """
        X = self._validate_new(X)
        rng = check_random_state(self.random_state if random_state is None else random_state)
        draws = [m.sample(X, n_samples, rng) for m in self._models]
        return draws[0] if len(draws) == 1 else np.stack(draws)

    # -- model selection -----------------------------------------------------------------------------------------

    def log_evidence(self, kind: str = "naive", method: str | None = None, random_state: Any = None) -> float:
        """Log evidence in nats at the learnt hyperparameters, summed over pairs.

        Parameters
        ----------
        kind : {"naive", "conditional", "joint"}, default="naive"
        method : {"laplace", "ep", "variational", "chaining", "annealing"}, optional
            Default: as the fitted inference estimates it.
        """
        from softmargin.evidence import log_evidence

        check_is_fitted(self)
        if kind == "naive" and method is None:
            return self.log_evidence_
        self._refuse_sparse("log_evidence")
        total = 0.0
        for m in self._models:
            K = evaluate(m.kernel, m.rows.X).K
            seed = self.random_state if random_state is None else random_state
            total += log_evidence(
                K, m.rows.y, m.likelihood.C, loss=self.loss, kind=kind, method=method or "ep",
                weight=m.rows.weight, random_state=seed,
            ).value  # fmt: skip
        return total

    def criterion_value(self, name: str) -> float:
        """Any registered criterion at the learnt hyperparameters, in its own units (summed over pairs)."""
        check_is_fitted(self)
        return self._criterion_value(self._models, name)


def _as_fitted(model: LatentModel) -> dict[str, Any]:
    """The attributes with which a two-class estimator predicts from a model."""
    return {"_models": [model], "_pairs": [(0, 1)], "_beta": 1.0}


def _loo_log_odds(model: LatentModel) -> Array:
    """Leave-one-out log-odds of the training rows (of the +1 class), shape (n,)."""
    rows = model.rows
    up = leave_one_out(model.posterior, Problem(np.empty((0, 0)), np.ones_like(rows.y), model.likelihood)).log_z
    down = leave_one_out(model.posterior, Problem(np.empty((0, 0)), -np.ones_like(rows.y), model.likelihood)).log_z
    return up - down
