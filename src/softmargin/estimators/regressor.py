"""BayesianSVR: support vector regression that tunes itself and gives error bars."""

import inspect
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.metaestimators import available_if

from softmargin._checks import check_choice, check_number, check_part, clear_of_indefinite, part_of
from softmargin._linalg import Array
from softmargin._typing import Attributes, KernelLike, MatrixLike, PartLike, Seed, VectorLike
from softmargin.estimators._attributes import target_attributes
from softmargin.estimators._base import LatentEstimator, can_stream
from softmargin.estimators._callbacks import FitListener, FitTasks, watched, with_callbacks
from softmargin.estimators._target_prediction import TargetPredictionMixin
from softmargin.inference import INFERENCES, REPRODUCTIONS, Inference
from softmargin.kernels import evaluate
from softmargin.machines import RegressionFit, RegressionSettings, begin_regression, fit_regression, update_regression
from softmargin.tuning import HyperPrior, LatentModel


class BayesianSVR(TargetPredictionMixin, RegressorMixin, LatentEstimator):
    """Support vector regression that learns C, epsilon, the kernel and a length scale per input, with error bars.

    The epsilon-insensitive loss is read as the noise density ``C/(2(epsilon C + 1)) exp(-C max(|y - f| - epsilon,
    0))`` and the kernel as the covariance of a Gaussian-process prior (Gao, Gunn & Harris). The evidence of this
    model learns the hyperparameters, and its posterior plus the noise gives standard deviations, intervals, quantiles
    and densities. The noise can be anything from Laplace (epsilon = 0) over nearly Gaussian to uniform, and has tails
    that bound an outlier's influence; its scale varies with x where the data say so (`noise`). By default this tube
    machine is one of a stack.

    Parameters
    ----------
    kernel : None, str, Kernel or callable, default=None
        None: amplitude x RBF with a length scale for each input, plus an offset. Or "rbf" (the same), "ou", "matern32",
        "matern52", "linear", "poly", "precomputed" (predicts means only), or any kernel of
        `sklearn.gaussian_process.kernels` in the units of y^2, learnt within its bounds. A WhiteKernel in it is
        Gaussian noise, as `nugget` is. Of a function (X, Y) -> kernel values an amplitude and an offset are learnt.
    C, epsilon : float or None, default=None
        Inverse scale of the noise's tails (1/units of y) and half-width of its flat top (units of y); None learns it.
    loss : {"epsilon_insensitive", "student_t", "gaussian", ...} or Likelihood, default="epsilon_insensitive"
        The noise density: a name of `softmargin.likelihoods.LIKELIHOODS` that is for regression, or an object in the
        units of y, which starts the search at its own parameters.
    inference : {"ep", "laplace", "variational", "map", "hmc", "mean_field", "sparse"} or Inference, default="ep"
        How the posterior is computed. An object brings its settings: ``EP(tol=1e-8)``.
    criterion : {"auto", "evidence", "loo"} or Criterion, default="auto"
        What the search maximises. "auto": the evidence, as `inference` estimates it.
    search : {"lbfgs", "random_walk", "gradient_ascent", "sample"}, Search or None, default="lbfgs"
        None fits at the given values. An object brings its own iteration cap and tolerance. "sample" draws
        hyperparameters in proportion to the evidence and averages the predictions over them.
    center : {"median", None}, default="median"
        Prior mean of the function: the median of y, or zero.
    hyperprior : "auto", HyperPrior or None, default="auto"
        Weak priors on the logarithms of the hyperparameters, relative to the spread of the inputs and of y; None: flat.
    nugget : bool or float, default=False
        True: learn an additional Gaussian noise; a number: its standard deviation in the units of y.
    gross_errors : {"auto", "keep"}, default="auto"
        "auto": a few targets (at most 5 %) beyond 20 robust standard deviations are left out, with a warning, if the
        evidence takes them for gross errors rather than for the function and its noise. "keep": never.
    stack : bool, default=True
        Whether to mix the predictive density of the tube machine with those of the same machine of a warped target
        (if y is skewed) and of Gaussian processes with Gaussian noise (on warped inputs too, if a column has heavy
        tails), with weights learnt on leave-one-out. Means, intervals, densities and samples are those of the mixture.
        Of more than 20,000 rows the others see a random sample of so many. False: the tube machine alone, as also when
        `kernel`, `C`, `epsilon`, `loss`, `inference`, `criterion`, `search`, `center`, `hyperprior`, `nugget` or
        `validation_fraction` was chosen.
    noise : {"auto", "constant", "varying"}, default="auto"
        Whether the scale of the noise is the same at every x, or a second smooth function, learnt from leave-one-out
        residuals: each row then has its own epsilon and C, and the members "tube_varying" and "gaussian_varying" take
        the place of all others. "auto" keeps it only if the leave-one-out log density of all rows gains clearly (by
        6 nats); as the stack, it looks for it only where no part was chosen. "varying" works with any part whose
        posterior has leave-one-out variances (EP, variational), not with kernel values and not with
        `inference="sparse"`, where "auto" is "constant".
    n_restarts : int, default=0
        Additional random starts.
    validation_fraction : float or None, default=None
        Hold this fraction of the rows out of the search and end it where their log density is highest; the posterior is
        then inferred from all rows. A remedy for a criterion that overfits.
    categorical_features : "from_dtype", None or array-like of str, int or bool, default="from_dtype"
        Which columns are categories: those of a frame whose type is string, category or enumeration; none; or those
        with these names, numbers or true entries of a mask. A category is one input with one length scale (of an RBF:
        the overlap kernel), values that training rows did not have count as one value "other", and a gap as a value. A
        gap in a number is filled by the median and marked in an input of its own, with its own length scale. A date is
        two inputs, year and day of the year.
    n_inducing : int or None, default=None
        Number of inducing points of `inference="sparse"`; None chooses.
    max_iter : int, default=60
        Iterations of each search.
    tol : float, default=1e-4
        The search stops when an iteration gains less (in nats).
    warm_start : bool, default=False
        Start the search from the hyperparameters of the previous fit.
    n_jobs : int or None, default=None
        Processes of a fit (joblib), which does not depend on them: for restarts, for the two readings of suspected
        gross errors, and for members of the stack. All members start from the tube machine; then the one of the warped
        target is fitted beside the Gaussian processes, of which the second starts from the first. Searches of other
        processes are not reported to callbacks. A process takes about a second to start, and each has one BLAS thread,
        as a fit without processes has.
    random_state : int, RandomState or None, default=None
        Seed of restarts, samples and inducing points. The same seed gives the same model.
    verbose : int, default=0
        1: write lines about the search to the standard output, or to the logger "softmargin" if the program has set up
        logging; 2: one for every evaluation.

    Attributes
    ----------
    members_ : list of DensityMember
        The machines that predict: "tube", "tube_warped_target", "gaussian", "gaussian_warped" (inputs); or
        "tube_varying", "gaussian_varying" where the noise varies with x.
    weights_ : ndarray of shape (n_members,)
        Their weights in the mixture of densities; they sum to one.
    noise_ : {"constant", "varying"}
        What the machines that predict say of the scale of the noise. Where it varies, `predict_noise_std` gives it, and
        the attributes below describe the machine with constant noise that the members started from.
    kernel_, C_, epsilon_, likelihood_ : the learnt kernel, C, epsilon and noise density, in the units of y
    noise_std_ : float
        Standard deviation of the noise (nugget included), in the units of y: one part of the error bar. The other part,
        the function's, is `latent_mean_and_variance`.
    y_center_, y_scale_ : float
        Median and robust spread of y. The prior mean of the function is `y_center_`.
    posterior_ : Posterior
        Of the scaled function ``(f - y_center_)/y_scale_`` at the training rows.
    log_evidence_ : float
        Log evidence in nats, a density in the units of y.
    loo_log_density_ : float
        Leave-one-out log density per row of the mixture, in the units of y.
    importance_ : ndarray of shape (n_features,)
        Root mean square over training rows of the derivative of the predicted mean along each
        input, in units of its spread (heavy-tailed inputs that a machine maps to normal scores: of a score); sums
        to 1. Computed when it is first asked for.
    relevance_ : ndarray of shape (n_features,)
        Inverse length scale of each input in units of its spread, the largest scaled to 1.
    search_path_ : list of dict
        Every evaluation of the search, in the units of y; length scales are named by the columns of a frame.
    coef_, intercept_ : ndarrays of shape (1, n_features) and (1,)
        Linear kernels only: the predicted mean is ``X @ coef_[0] + intercept_``.
    support_, support_vectors_, dual_coef_, n_support_ : the support vector machine at the learnt hyperparameters
        Its own prediction is ``y_center_ + kernel_(X, support_vectors_) @ dual_coef_[0]``.
    gross_errors_ : ndarray
        Training rows that were left out (see `gross_errors`; not listed for Dask collections). They count in none of
        the other attributes.
    n_features_in_ : int
        Columns of X.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, if X had any.
    encoder_ : ColumnEncoder or None
        How the columns became inputs: ``kernel_`` and ``support_vectors_`` belong to ``encoder_.transform(X)``. None
        for sparse matrices, Dask collections and precomputed kernels.
    n_iter_ : int
        Evaluations of the search.

    See Also
    --------
    BayesianSVC : The same for classes.
    sklearn.svm.SVR : The machine without its posterior.
    sklearn.gaussian_process.GaussianProcessRegressor : Exact inference for Gaussian noise.

    References
    ----------
    .. [1] J. B. Gao, S. R. Gunn and C. J. Harris, "Mean field method for the support vector machine regression",
           Neurocomputing 50, 2003.

    Examples
    --------
    >>> from softmargin import BayesianSVR
    >>> from softmargin.datasets import make_sinc
    >>> X, y = make_sinc(40, random_state=0)
    >>> model = BayesianSVR().fit(X, y)
    >>> mean, std = model.predict([[0.0], [30.0]], return_std=True)
    >>> bool(std[0] < std[1])
    True
    >>> model.predict_interval([[0.0]], confidence_level=0.9).shape
    (1, 2)
    """

    def __init__(
        self,
        kernel: KernelLike = None,
        *,
        C: float | None = None,
        epsilon: float | None = None,
        loss: PartLike = "epsilon_insensitive",
        inference: PartLike = "ep",
        criterion: PartLike = "auto",
        search: PartLike = "lbfgs",
        center: Literal["median"] | None = "median",
        hyperprior: PartLike = "auto",
        nugget: bool | float = False,
        gross_errors: Literal["auto", "keep"] = "auto",
        stack: bool = True,
        noise: Literal["auto", "constant", "varying"] = "auto",
        n_restarts: int = 0,
        validation_fraction: float | None = None,
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
        self.epsilon = epsilon
        self.loss = loss
        self.center = center
        self.inference = inference
        self.criterion = criterion
        self.search = search
        self.hyperprior = hyperprior
        self.nugget = nugget
        self.gross_errors = gross_errors
        self.stack = stack
        self.noise = noise
        self.n_restarts = n_restarts
        self.validation_fraction = validation_fraction
        self.categorical_features = categorical_features
        self.n_inducing = n_inducing
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @with_callbacks
    def fit(self, X: MatrixLike, y: VectorLike, sample_weight: VectorLike = None) -> "BayesianSVR":
        """Learn the hyperparameters and infer the posterior.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n_samples, n_features)
            Frames of pandas and polars may have categories, gaps and dates (see `categorical_features`), arrays gaps.
            Needs no scaling: length scales and priors follow each input's spread.
        y : array-like of shape (n_samples,)
            Needs no scaling either.
        sample_weight : array-like of shape (n_samples,), optional
            A row of weight w counts as w identical rows.

        Returns
        -------
        BayesianSVR
            The fitted estimator.
        """
        self._check_parameters()
        large = self._is_large(X)
        checked = self._read(X, y, sample_weight, large=large)
        tasks = FitTasks.begin(self, X, y, sample_weight)
        settings = replace(self._settings(through_inducing_points=large), layout=checked.layout)
        columns = checked.columns()

        def attributes(fitted: RegressionFit) -> Attributes:
            units = fitted.units
            return {**columns, "_fit": fitted, "y_center_": units.center, "y_scale_": units.scale}

        with watched(self.verbose) as progress, clear_of_indefinite(self.kernel):
            fitted = fit_regression(checked.source, settings, FitListener(tasks, attributes, progress))
        self._assign({**columns, **target_attributes(fitted)})
        tasks.end()
        self._warn_of_bounds()
        return self

    @available_if(can_stream)
    def partial_fit(self, X: MatrixLike, y: VectorLike, sample_weight: VectorLike = None) -> "BayesianSVR":
        """Update the model by a batch of a stream (`inference="sparse"` only).

        The first batch is fitted. Later ones update the posterior at the cost of the batch alone. Whenever the stream
        has doubled since they were learnt, hyperparameters are learnt again, starting from the present ones (not with
        ``search=None``): with all rows while there are at most 20,000, which the model keeps; of more rows it keeps a
        random sample of so many for that, and its memory of all rows is carried over. A model that `fit` has made keeps
        its hyperparameters.

        Returns
        -------
        self
        """
        if not hasattr(self, "_fit"):
            self.fit(X, y, sample_weight)
            first = self._read(X, y, sample_weight, large=True, reset=False)
            self._fit = begin_regression(self._fit, first.source, self._seed())
            return self
        self._check_parameters()
        checked = self._read(X, y, sample_weight, large=True, reset=False)
        settings = replace(self._settings(through_inducing_points=True), layout=self._fit.layout)
        fitted = update_regression(self._fit, checked.source, settings)
        self._assign({**self._columns(), **target_attributes(fitted)})
        return self

    # -- fitting -------------------------------------------------------------------------------------------------

    _is_classifier = False

    def _criteria(self) -> Attributes:
        return {name: part for name, part in super()._criteria().items() if part.for_regression}

    def _check_parameters(self) -> None:
        super()._check_parameters()
        criterion = self._criterion()
        if criterion is not None and not criterion.for_regression:
            raise ValueError(
                f"criterion={self.criterion!r} is defined for classes only; choose one of 'auto', "
                f"{', '.join(map(repr, sorted(self._criteria())))}, or an object of such a class"
            )
        check_number("epsilon", self.epsilon, low=0, strict=False, optional=True)
        check_choice("gross_errors", self.gross_errors, ["auto", "keep"])
        check_choice("stack", self.stack, [True, False])
        check_choice("noise", self.noise, ["auto", "constant", "varying"])
        check_choice("center", self.center, ["median", None])
        if not isinstance(self.nugget, bool | np.bool_):
            check_number("nugget", self.nugget, low=0, strict=True)
        if self.nugget is not False and self._is_precomputed():
            raise ValueError(
                f"nugget={self.nugget!r} cannot be combined with a precomputed kernel; add its variance to the "
                "diagonal of the training matrix instead"
            )
        if self.noise == "varying" and self._is_precomputed():
            raise ValueError(
                "noise='varying' is a function of the inputs, which a precomputed kernel does not show; use "
                "noise='constant', or give a kernel object and the inputs"
            )

    def _refuse_through_inducing_points(self, why: str) -> None:
        super()._refuse_through_inducing_points(why)
        if self.noise == "varying" and not self._is_stacked():
            raise ValueError(
                f"{why} goes through inducing points, where the noise of a single machine is the same at every x; use "
                "noise='auto' or 'constant', or the stack: stack=True and the default of every other part"
            )

    def _settings(self, *, through_inducing_points: bool) -> RegressionSettings:
        return RegressionSettings(
            self.kernel,
            self.loss,
            self.C,
            self.epsilon,
            self._tuning(HyperPrior.for_regression()),
            self.nugget,
            # At given hyperparameters no target is judged.
            self.search is not None and self.gross_errors == "auto",
            self.n_inducing,
            through_inducing_points,
            self.center is not None,
            self._fit.model.z if self.warm_start and hasattr(self, "_fit") else None,
            self._is_stacked(),
            self.noise,
        )

    def _is_stacked(self) -> bool:
        """Whether other machines join the tube machine: by default, unless a part of it was chosen."""
        return bool(self.stack) and all(_is_same(getattr(self, name), value) for name, value in _defaults().items())

    def _validate_new(self, X: MatrixLike) -> Any:
        X = super()._validate_new(X)
        return X / self.y_scale_**2 if self._is_precomputed() else X

    # -- model selection -----------------------------------------------------------------------------------------

    def log_evidence(self, method: PartLike = None, *, per_example: bool = False) -> float:
        """Estimate the log evidence at the learnt hyperparameters.

        Parameters
        ----------
        method : str or Inference, optional
            The inference that estimates it ("ep", "laplace", "variational", "hmc", ...). Default: the fitted one.
        per_example : bool, default=False
            Whether to divide by the number of rows (the sum of their weights) that the model was fitted to.

        Returns
        -------
        float
            In nats, a density in the units of y.
        """
        fitted = self._fitted()
        if method is None and not per_example:
            return float(self.log_evidence_)
        self._refuse_without_gram("log_evidence")
        n_examples = fitted.total if per_example else 1.0
        if method is None:
            return float(self.log_evidence_) / n_examples
        known = INFERENCES | REPRODUCTIONS
        check_part("method", method, known, ("infer",))
        inference: Inference = part_of(method, known)
        model = fitted.model
        K = evaluate(model.kernel, model.rows.X).K
        posterior = inference.infer(K, model.rows.y, model.likelihood, model.rows.weight)
        return (float(posterior.log_evidence) - fitted.log_units) / n_examples

    def _evidence_models(self) -> tuple[list[LatentModel], Array, float]:
        fitted = self._fitted()
        return [fitted.model], fitted.shift[: fitted.given.n_dims], -fitted.log_units

    def criterion_value(self, name: PartLike) -> float:
        """Evaluate a criterion at the learnt hyperparameters.

        Parameters
        ----------
        name : {"evidence", "loo"} or Criterion
            The criterion, by name or as an object.

        Returns
        -------
        float
            In nats, in the units of y.
        """
        fitted = self._fitted()
        return self._criterion_value([fitted.model], name) - fitted.log_units


def _defaults() -> Attributes:
    """Parameters that choose a part of the tube machine, at the values that leave the choice to the stack."""
    names = ("kernel", "C", "epsilon", "loss", "inference", "criterion", "search", "center", "hyperprior", "nugget")
    signature = inspect.signature(BayesianSVR.__init__).parameters
    return {name: signature[name].default for name in (*names, "validation_fraction")}


def _is_same(value: Any, default: Any) -> bool:
    """Whether a parameter has its default value; parts need not be comparable."""
    return value is default or (type(value) is type(default) and bool(value == default))
