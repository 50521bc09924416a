"""BayesianSVC: the support vector classifier that tunes itself and gives honest class probabilities."""

from typing import Any, Literal

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from softmargin.estimators._base import LatentEstimator, check_choice, check_fraction
from softmargin.estimators._binary import check_classes, weigh_classes
from softmargin.estimators._callbacks import FitTasks, with_callbacks
from softmargin.estimators._class_fit import fit_problems
from softmargin.estimators._class_fitted import set_learnt, set_leave_one_out, set_support
from softmargin.estimators._class_prediction import ClassPrediction
from softmargin.estimators._large import fit_large_classifier, is_large
from softmargin.estimators._stream import can_stream, partial_fit_classifier
from softmargin.kernels import evaluate, make_kernel
from softmargin.likelihoods import get_likelihood
from softmargin.rows import merge_rows
from softmargin.search import FixedNoise, LogParameter, NoiseCoordinates


class BayesianSVC(ClassifierMixin, ClassPrediction, LatentEstimator):
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
        What the search maximises. "auto" makes two models: one with the normalised likelihood, learnt by its evidence,
        and one with the loss itself, its relative length scales taken from the first and the rest learnt by EP's
        leave-one-out log loss; leave-one-out chooses. Or "evidence" (as `inference` estimates it), "link_evidence",
        "loo", ...
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
    tol : float, default=1e-4
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
        The likelihood is that of the posterior: by default `Link` or `Hinge`, whichever was kept. Lists with one entry
        per pair (or class) when there are more than two classes.
    log_evidence_ : float
        Naive log evidence in nats at the learnt values, as the inference estimates it (summed over pairs).
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
        tol: float = 1e-4,
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
        check_classes(classes)
        weight = weigh_classes(self.class_weight, classes, index, weight)
        tasks = FitTasks.begin(self, X, y, sample_weight)
        previous = [m.z for m in self._models] if self.warm_start and hasattr(self, "_models") else None
        self.classes_ = classes
        rows = merge_rows(X, index.astype(float), weight, precomputed=self._is_precomputed())
        spread = self._spread(rows.X, rows.weight)
        kernel = make_kernel(self.kernel, X.shape[1], None if self._is_precomputed() else spread)
        fit_problems(self, rows, kernel, spread, previous, tasks)
        set_learnt(self, spread)
        set_leave_one_out(self, rows)
        set_support(self, X, index, rows)
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

    def _noise(self) -> NoiseCoordinates:
        likelihood = get_likelihood(self.loss)
        if self.C is not None:
            return FixedNoise(likelihood(float(self.C)))
        if self.search is None:
            return FixedNoise(likelihood(1.0))
        return LogParameter(likelihood, "C", 1.0)

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
