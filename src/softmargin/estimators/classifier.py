"""BayesianSVC: the support vector classifier that tunes itself and gives class probabilities."""

import inspect
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if

from softmargin._checks import check_choice, check_sizes, clear_of_indefinite, part_of
from softmargin._linalg import Array
from softmargin._typing import Attributes, KernelLike, MatrixLike, PartLike, Seed, VectorLike
from softmargin.estimators._attributes import class_attributes, hinge_attributes
from softmargin.estimators._base import LatentEstimator, can_stream
from softmargin.estimators._callbacks import FitListener, FitTasks, watched, with_callbacks
from softmargin.estimators._class_prediction import ClassPredictionMixin
from softmargin.evidence import log_evidence
from softmargin.kernels import evaluate
from softmargin.least_squares import LeastSquares
from softmargin.likelihoods import LIKELIHOODS, Hinge
from softmargin.machines import (
    ClassificationFit,
    ClassificationSettings,
    Composition,
    begin_classification,
    fit_classification,
    update_classification,
)
from softmargin.policy import POLICY
from softmargin.tuning import FixedLikelihood, HyperPrior, LatentModel, LikelihoodCoordinates, LogParameters

HINGE_NAMES = ("kernel_", "C_", "likelihood_", "posterior_", "log_evidence_", "pair_relevance_")
"""Fitted attributes of the support vector machines."""


class BayesianSVC(ClassPredictionMixin, ClassifierMixin, LatentEstimator):
    """Support vector classifier that learns C, the kernel and a length scale per input, and averages its probabilities.

    The SVM is read as the most probable function under a Gaussian-process prior with the kernel as covariance
    (Sollich 2002). Its posterior gives class probabilities that never contradict the prediction, and criteria with
    exact gradients that replace cross-validation.

    Parameters
    ----------
    kernel : None, str, Kernel or callable, default=None
        None: amplitude x RBF with a length scale for each input, plus an offset; in the stack of more than 500 rows
        Matern 5/2 in place of the RBF. Or "rbf", "ou", "matern32", "matern52", "linear", "poly", "precomputed", any
        `sklearn.gaussian_process.kernels.Kernel`, learnt within its bounds, or a function (X, Y) -> kernel values, of
        which an amplitude and an offset are learnt.
    C : float or None, default=None
        Inverse noise level (penalty on slack); None learns it.
    loss : {"hinge", "squared_hinge", "link", "logistic", "probit", "least_squares", ...} or Likelihood, default="hinge"
        A name of `softmargin.likelihoods.LIKELIHOODS` that is for classes, or an object, which starts the search at its
        own C. "link" is the hinge's normalised class probability (Sollich 2002, eq. 11). "least_squares" (or a
        `LeastSquares` object) fits the joint least-squares machine alone.
    inference : {"ep", "laplace", "variational", "map", "hmc", "sparse"} or Inference, default="ep"
        How the posterior is computed. An object brings its settings: ``EP(tol=1e-8)``.
    criterion : str or Criterion, default="auto"
        What the search maximises. "auto" makes two models: one with the normalised likelihood, learnt by its evidence,
        and one with the loss itself, its relative length scales taken from the first and the rest learnt by EP's
        leave-one-out log loss; leave-one-out chooses. Or "evidence" (as `inference` estimates it), "link_evidence",
        "loo", ...
    search : {"lbfgs", "random_walk", "gradient_ascent", "sample"}, Search or None, default="lbfgs"
        None fits at the given values. An object brings its own iteration cap and tolerance. "sample" draws
        hyperparameters in proportion to the evidence and averages the predictions over them.
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
    multi_class : {"joint", "ovo", "ovr"}, default="joint"
        With more than two classes: the stack of joint least-squares machines, support vector machines one-vs-one with
        pairwise coupling, or one-vs-rest. Without a stack "joint" is "ovo".
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
        With more than two classes: `decision_function` gives the log-odds of each class against the rest, or as in
        `SVC` of the first against the second class of each pair.
    stack : bool, default=True
        Whether to mix support vector and least-squares machines with weights learnt on leave-one-out. False: the
        support vector machine alone, as also when `C`, `loss`, `inference`, `criterion`, `search`, `probability`,
        `hyperprior` or `validation_fraction` is not the default, or `multi_class` is not "joint".
    class_weight : dict, "balanced" or None, default=None
        Factor of each class's posterior odds: P'(y | x) is proportional to w_y P(y | x), a change of the classes' prior
        probabilities. The fit does not depend on it. "balanced": 1/(n_classes times the share of the class).
    categorical_features : "from_dtype", None or array-like of str, int or bool, default="from_dtype"
        Which columns are categories: those of a frame whose type is string, category or enumeration; none; or those
        with these names, numbers or true entries of a mask. A category is one input with one length scale (of an RBF:
        the overlap kernel), values that training rows did not have count as one value "other", and a gap as a value. A
        gap in a number is filled by the median and marked in an input of its own, with its own length scale. A date is
        two inputs, year and day of the year.
    n_inducing : int or None, default=None
        Number of inducing points of `inference="sparse"`; None: 512, or a third of the rows if these are fewer.
    max_iter : int, default=60
        Iterations of each search.
    tol : float, default=1e-4
        The search stops when an iteration gains less (in nats); in a stack the hinge machine's stops at 500
        times as much, which the mixture does not notice.
    warm_start : bool, default=False
        Start the search from the hyperparameters of the previous fit.
    n_jobs : int or None, default=None
        Processes of a fit (joblib), which does not depend on them: for pairs of classes, restarts, and members of the
        stack. The hinge machine starts from the length scales of the first least-squares machine; the other
        least-squares machine is fitted beside both. Searches of other processes are not reported to callbacks. A
        process takes about a second to start, and each has one BLAS thread, as a fit without processes has.
    random_state : int, RandomState or None, default=None
        Seed of restarts, samples and inducing points. The same seed gives the same model.
    verbose : int, default=0
        1: write lines about the search to the standard output, or to the logger "softmargin" if the program has set up
        logging; 2: one for every evaluation.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    members_ : list of Member
        The machines that predict: "hinge" (two classes, or without a stack), "least_squares", and
        "least_squares_additive" (ANOVA kernel) or, with many rows, "least_squares_warped".
    weights_ : ndarray of shape (n_members,)
        Their weights in the mixture of class probabilities; they sum to one.
    kernel_, C_, likelihood_, posterior_ : fitted kernel, C, likelihood and posterior
        Of the support vector machine. The likelihood is that of the posterior: by default `Link` or `Hinge`, whichever
        was kept. Lists with one entry per pair (or class) when there are more than two classes; where least-squares
        machines predict, the support vector machines are fitted when they are first asked for.
    log_evidence_ : float
        Naive log evidence in nats at the learnt values, as the inference estimates it (summed over pairs).
    relevance_ : ndarray of shape (n_features,)
        Inverse length scale of each input in units of its spread, the largest scaled to 1 (averaged over pairs, whose
        own are in `pair_relevance_`).
    importance_ : ndarray of shape (n_features,)
        Root mean square over training rows of the derivative of the log-odds (or log-probabilities) along each
        input, in units of its spread (heavy-tailed inputs that a machine maps to normal scores: of a score); sums
        to 1. Computed when it is first asked for.
    loo_log_loss_, loo_error_ : float
        Leave-one-out log loss and error of the mixture. The searches optimised the members' log losses: as an estimate
        of performance it is optimistic. Of equal rows all are left out at once, but one where equal inputs often carry
        several labels.
    search_path_ : list of dict
        Every evaluation of the search; length scales are named by the columns of a frame (``length_scale_age``).
    support_, support_vectors_, dual_coef_, n_support_, margins_ : the SVM at the learnt hyperparameters
    coef_, intercept_ : ndarrays of shape (n_functions, n_features) and (n_functions,)
        Linear kernels only: the posterior mean of the latent function (of each pair), or the logits of a joint machine.
    n_features_in_ : int
        Columns of X.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, if X had any.
    encoder_ : ColumnEncoder or None
        How the columns became inputs: ``kernel_`` and ``support_vectors_`` belong to ``encoder_.transform(X)``. None
        for sparse matrices, Dask collections and precomputed kernels.
    n_iter_ : int, or ndarray of shape (n_pairs,) with several pairs of classes
        Evaluations of the search.

    See Also
    --------
    BayesianSVR : The same for regression.
    BaggedSelection : Several searches combined.
    sklearn.svm.SVC : The machine without its posterior.

    References
    ----------
    .. [1] P. Sollich, "Bayesian methods for support vector machines: evidence and predictive class probabilities",
           Machine Learning 46, 21-52, 2002.
    .. [2] C. Gold and P. Sollich, "Model selection for support vector machine classification", Neurocomputing 55,
           221-249, 2003.

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
        kernel: KernelLike = None,
        *,
        C: float | None = None,
        loss: PartLike = "hinge",
        inference: PartLike = "ep",
        criterion: PartLike = "auto",
        search: PartLike = "lbfgs",
        probability: Literal["average", "mean", "map"] = "average",
        hyperprior: PartLike = "auto",
        n_restarts: int = 0,
        validation_fraction: float | None = None,
        multi_class: Literal["joint", "ovo", "ovr"] = "joint",
        decision_function_shape: Literal["ovo", "ovr"] = "ovr",
        stack: bool = True,
        class_weight: Any = None,
        categorical_features: VectorLike = "from_dtype",
        n_inducing: int | None = None,
        max_iter: int = 60,
        tol: float = 1e-4,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: Seed = None,
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
        self.decision_function_shape = decision_function_shape
        self.stack = stack
        self.class_weight = class_weight
        self.categorical_features = categorical_features
        self.n_inducing = n_inducing
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @with_callbacks
    def fit(self, X: MatrixLike, y: VectorLike, sample_weight: VectorLike = None) -> "BayesianSVC":
        """Learn the hyperparameters and infer the posterior.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n_samples, n_features)
            Frames of pandas and polars may have categories, gaps and dates (see `categorical_features`), arrays gaps.
            Needs no scaling: length scales and priors follow each input's spread.
        y : array-like of shape (n_samples,)
            Class labels of any kind.
        sample_weight : array-like of shape (n_samples,), optional
            A row of weight w counts as w identical rows.

        Returns
        -------
        BayesianSVC
            The fitted estimator.
        """
        self._check_parameters()
        large = self._is_large(X)
        checked = self._read(X, y, sample_weight, large=large)
        tasks = FitTasks.begin(self, X, y, sample_weight)
        settings = replace(self._settings(through_inducing_points=large), layout=checked.layout)
        columns = checked.columns()

        def attributes(fitted: ClassificationFit) -> Attributes:
            return {**columns, "_fit": fitted, "classes_": fitted.classes}

        with watched(self.verbose) as progress, clear_of_indefinite(self.kernel):
            fitted = fit_classification(checked.source, settings, FitListener(tasks, attributes, progress))
        self._assign({**columns, **class_attributes(fitted)})
        tasks.end()
        self._warn_of_bounds()
        return self

    @available_if(can_stream)
    def partial_fit(
        self, X: MatrixLike, y: VectorLike, classes: VectorLike = None, sample_weight: VectorLike = None
    ) -> "BayesianSVC":
        """Update the model by a batch of a stream (`inference="sparse"` only).

        The first batch is fitted and must have rows of every class. Later ones update the posterior at the cost of the
        batch alone. Whenever the stream has doubled since they were learnt, hyperparameters are learnt again, starting
        from the present ones (not with ``search=None``): with all rows while there are at most 20,000, which the model
        keeps; of more rows it keeps a random sample of so many for that, and its memory of all rows is carried over. A
        model that `fit` has made keeps its hyperparameters.

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
        if not hasattr(self, "_fit"):
            missing = [] if classes is None else np.setdiff1d(classes, np.unique(np.asarray(y))).tolist()
            if missing:
                raise ValueError(f"the first batch must have rows of every class; it has none of {missing}")
            self.fit(X, y, sample_weight)
            first = self._read(X, y, sample_weight, large=True, reset=False)
            self._fit = begin_classification(self._fit, first.source, self._seed())
            return self
        self._check_parameters()
        checked = self._read(X, y, sample_weight, large=True, reset=False)
        settings = replace(self._settings(through_inducing_points=True), layout=self._fit.layout)
        fitted = update_classification(self._fit, checked.source, settings)
        kept = {name: getattr(self, name) for name in ("loo_log_loss_", "loo_error_") if hasattr(self, name)}
        self._assign({**self._columns(), **class_attributes(fitted), **kept})
        return self

    # -- fitting -------------------------------------------------------------------------------------------------

    _is_classifier = True

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice("probability", self.probability, ["average", "mean", "map"])
        check_choice("multi_class", self.multi_class, ["joint", "ovo", "ovr"])
        check_choice("decision_function_shape", self.decision_function_shape, ["ovr", "ovo"])
        check_choice("stack", self.stack, [True, False])

    def _refuse_through_inducing_points(self, why: str) -> None:
        super()._refuse_through_inducing_points(why)
        if self.probability == "map":
            raise ValueError(
                "probability='map' needs the SVM itself, which sparse inference does not solve; use 'average'"
            )

    def _settings(self, *, through_inducing_points: bool) -> ClassificationSettings:
        return ClassificationSettings(
            self.kernel,
            self._likelihood(),
            self._tuning(HyperPrior()),
            isinstance(self.hyperprior, str),
            "ovr" if self.multi_class == "ovr" else "ovo",
            self.probability,
            self.n_inducing,
            through_inducing_points,
            self._composition(),
            self.loss.policy if isinstance(self.loss, LeastSquares) else POLICY.least_squares,
            self.class_weight,
            getattr(self, "_fit", None) if self.warm_start else None,
        )

    def _losses(self) -> Attributes:
        return {**super()._losses(), LeastSquares.name: LeastSquares}

    def _composition(self) -> Composition:
        """Which machines: the default ones, unless a part of the hinge machine was chosen."""
        if self._is_least_squares():
            return "least_squares"
        defaults = _defaults()
        chosen = any(getattr(self, name) != value for name, value in defaults.items())
        joint = self.multi_class == "joint"
        return "stack" if self.stack and joint and not chosen else "hinge"

    def _streams(self) -> bool:
        return not self._is_least_squares()

    def _is_least_squares(self) -> bool:
        return isinstance(part_of(self.loss, self._losses()), LeastSquares)

    def _likelihood(self) -> LikelihoodCoordinates:
        """What is to be learnt of the loss: C, unless it is given or nothing is learnt."""
        if self._is_least_squares():
            return FixedLikelihood(Hinge())
        template: Any = LIKELIHOODS[self.loss]() if isinstance(self.loss, str) else self.loss
        if self.C is not None:
            template = type(template)(float(self.C))
        check_sizes(template)
        if self.C is not None or self.search is None:
            return FixedLikelihood(template)
        names = template.param_names
        return LogParameters(template, names, tuple(template.param_bounds[name] for name in names))

    def __getattr__(self, name: str) -> Any:
        """Fit the support vector machines of a joint fit, which predicts without them, when they are asked for."""
        fitted = vars(self).get("_fit")
        if name in HINGE_NAMES and fitted is not None and fitted.machine is None and fitted.hinge is not None:
            attributes = hinge_attributes(fitted.hinge, fitted.spread, fitted.layout)
            if name in attributes:
                return attributes[name]
        # Raise what the ordinary look-up raised: it may say more.
        return object.__getattribute__(self, name)

    # -- model selection -----------------------------------------------------------------------------------------

    def log_evidence(
        self, kind: str = "naive", method: PartLike = None, random_state: Seed = None, *, per_example: bool = False
    ) -> float:
        """Estimate the log evidence at the learnt hyperparameters.

        Parameters
        ----------
        kind : {"naive", "conditional", "joint"}, default="naive"
            Of the unnormalised likelihood, or divided by its normaliser given the inputs or averaged over data sets
            (Sollich 2002, sections 4 and 5).
        method : {"laplace", "ep", "variational", "chaining", "annealing"} or Inference, optional
            Default: as the fitted inference estimates it.
        random_state : int, RandomState or None, default=None
            Seed of sampling methods; None: the estimator's.
        per_example : bool, default=False
            Whether to divide by the sum of the rows' weights in all pairs, as the papers do (Sollich 2002, eq. 25).

        Returns
        -------
        float
            In nats, summed over pairs.
        """
        models = self._hinge_models("log_evidence")
        if kind == "naive" and method is None and not per_example:
            return float(self.log_evidence_)
        self._refuse_without_gram("log_evidence")
        n_examples = sum(float(m.rows.weight.sum()) for m in models) if per_example else 1.0
        if kind == "naive" and method is None:
            return float(self.log_evidence_) / n_examples
        seed = self.random_state if random_state is None else random_state
        total = 0.0
        for m in models:
            K = evaluate(m.kernel, m.rows.X).K
            total += log_evidence(
                K, m.rows.y, loss=m.likelihood, kind=kind, method=method or "ep",
                weight=m.rows.weight, random_state=seed,
            ).value  # fmt: skip
        return total / n_examples

    @property
    def margins_(self) -> Array:
        """y f of the support vector machine at every training row, shape (n,) or (n_machines, n)."""
        margins: Array = self._support("margins_").margins
        return margins

    def _evidence_models(self) -> tuple[list[LatentModel], float, float]:
        return self._hinge_models("log_marginal_likelihood"), 0.0, 0.0

    def criterion_value(self, name: PartLike) -> float:
        """Evaluate any criterion at the learnt hyperparameters.

        Parameters
        ----------
        name : str or Criterion
            A name of `softmargin.criteria.CRITERIA` or an object.

        Returns
        -------
        float
            In the criterion's own units, summed over pairs.
        """
        return self._criterion_value(self._hinge_models("criterion_value"), name)


def _defaults() -> Attributes:
    """Parameters that choose a part of the hinge machine, at the values that leave the choice to the stack."""
    names = ("C", "loss", "inference", "criterion", "search", "probability", "hyperprior", "validation_fraction")
    signature = inspect.signature(BayesianSVC.__init__).parameters
    return {name: signature[name].default for name in names}
