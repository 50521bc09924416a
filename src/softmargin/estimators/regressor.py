"""BayesianSVR: support vector regression that tunes itself and gives honest error bars."""

from typing import Any, Literal

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from softmargin._linalg import Array
from softmargin.criteria import Problem, leave_one_out
from softmargin.estimators._base import LatentEstimator, check_choice, check_fraction, check_number, relevance
from softmargin.estimators._callbacks import FitTasks, with_callbacks
from softmargin.estimators._large import fit_large_regressor, is_large
from softmargin.estimators._predictions import TargetPredictions
from softmargin.estimators._regression import TargetFit, as_fitted, fit_target, warn_of_imitated_noise
from softmargin.estimators._stream import can_stream, partial_fit_regressor
from softmargin.estimators._units import path_in_units, target_noise
from softmargin.inference import INFERENCES, REPRODUCTIONS, get_inference
from softmargin.kernels import evaluate
from softmargin.likelihoods import EpsilonInsensitive
from softmargin.rows import merge_rows
from softmargin.search import Coordinates


class BayesianSVR(RegressorMixin, TargetPredictions, LatentEstimator):
    """Support vector regression that learns C, epsilon, the kernel and a length scale per input, with error bars.

    The epsilon-insensitive loss is read as the noise density ``C/(2(epsilon C + 1)) exp(-C max(|y - f| - epsilon,
    0))`` and the kernel as the covariance of a Gaussian-process prior (Gao, Gunn & Harris). The evidence of this
    model learns the hyperparameters, and its posterior plus the noise gives standard deviations, intervals, quantiles
    and densities. The noise can be anything from Laplace (epsilon = 0) over nearly Gaussian to uniform, is the same
    at every x, and has tails that forgive outliers.

    Parameters
    ----------
    kernel : None, str or Kernel, default=None
        None: amplitude x RBF with a length scale for each input, plus an offset. Or "rbf" (the same), "ou", "matern32",
        "matern52", "linear", "poly", "precomputed" (predicts means only), or any kernel of
        `sklearn.gaussian_process.kernels` in the units of y^2, learnt within its bounds. A WhiteKernel in it is
        Gaussian noise, as `nugget` is.
    C, epsilon : float or None, default=None
        Inverse scale of the noise's tails (1/units of y) and half-width of its flat top (units of y); None learns it.
    inference : {"ep", "laplace", "variational", "map", "mean_field", ...}, default="ep"
        How the posterior is computed.
    criterion : {"auto", "evidence", "loo"}, default="auto"
        What the search maximises. "auto": the evidence, as `inference` estimates it.
    search : {"lbfgs", ...} or None, default="lbfgs"
        None fits at the given values.
    hyperprior : "auto", HyperPrior or None, default="auto"
        Weak priors on the logarithms of the hyperparameters, relative to the spread of the inputs and of y; None: flat.
    nugget : bool or float, default=False
        True: learn an additional Gaussian noise; a number: its standard deviation in the units of y.
    gross_errors : {"auto", "keep"}, default="auto"
        "auto": a few targets (at most 5 %) beyond 20 robust standard deviations are left out, with a warning, if the
        evidence takes them for gross errors rather than for the function and its noise. "keep": never.
    n_restarts : int, default=0
        Additional random starts.
    validation_fraction : float or None, default=None
        Hold this fraction of the rows out of the search and end it where their log density is highest; the posterior is
        then inferred from all rows. A remedy for a criterion that overfits.
    n_inducing : int or None, default=None
        Number of inducing points of `inference="sparse"`; None chooses.
    max_iter : int, default=60
        Iterations of each search.
    tol : float, default=1e-4
        The search stops when an iteration gains less (in nats).
    warm_start : bool, default=False
        Start the search from the hyperparameters of the previous fit.
    n_jobs : int or None, default=None
        Restarts in parallel (joblib).
    random_state : int, RandomState or None, default=None
    verbose : int, default=0
        1: log every evaluation through `logging` (logger "softmargin").

    Attributes
    ----------
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
        Leave-one-out log density per row, in the units of y.
    relevance_ : ndarray of shape (n_features,)
        Inverse length scale of each input in units of its spread, the largest scaled to 1.
    search_path_ : list of dict
        Every evaluation of the search, in the units of y.
    support_, support_vectors_, dual_coef_ : the support vector machine at the learnt hyperparameters
        Its own prediction is ``y_center_ + kernel_(X, support_vectors_) @ dual_coef_[0]``.
    gross_errors_ : ndarray
        Training rows that were left out (see `gross_errors`; not listed for Dask collections). They count in none of
        the other attributes.
    n_iter_ : int
        Evaluations of the search.

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
        kernel: Any = None,
        *,
        C: float | None = None,
        epsilon: float | None = None,
        inference: str = "ep",
        criterion: str = "auto",
        search: str | None = "lbfgs",
        hyperprior: Any = "auto",
        nugget: bool | float = False,
        gross_errors: Literal["auto", "keep"] = "auto",
        n_restarts: int = 0,
        validation_fraction: float | None = None,
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
        self.epsilon = epsilon
        self.inference = inference
        self.criterion = criterion
        self.search = search
        self.hyperprior = hyperprior
        self.nugget = nugget
        self.gross_errors = gross_errors
        self.n_restarts = n_restarts
        self.validation_fraction = validation_fraction
        self.n_inducing = n_inducing
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "BayesianSVR":
        """Learn the hyperparameters and infer the posterior.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Needs no scaling: length scales and priors follow each input's spread.
        y : array-like of shape (n_samples,)
            Needs no scaling either.
        sample_weight : array-like of shape (n_samples,), optional
            A row of weight w counts as w identical rows.

        Returns
        -------
        self
        """
        if is_large(self, X):
            return fit_large_regressor(self, X, y, sample_weight)
        X, y, weight = self._validate_training(X, y, sample_weight, y_numeric=True)
        tasks = FitTasks.begin(self, X, y, sample_weight)
        rows = merge_rows(X, y.astype(np.float64), weight, precomputed=self._is_precomputed())
        fitted = fit_target(self, rows, tasks)
        self._set_learnt(fitted, float(fitted.weight.sum()))
        self._set_fitted(X, rows.group)
        if self.search is not None:
            warn_of_imitated_noise(fitted)
        tasks.end()
        return self

    @available_if(can_stream)
    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> "BayesianSVR":
        """Update the model by a batch of a stream (`inference="sparse"` only).

        The first batch is fitted and must be large enough to learn the hyperparameters; later ones update the posterior
        at those hyperparameters, at the cost of the batch alone.

        Returns
        -------
        self
        """
        return partial_fit_regressor(self, X, y, sample_weight)

    # -- fitting -------------------------------------------------------------------------------------------------

    def _inferences(self) -> list[str]:
        return sorted([*INFERENCES, *REPRODUCTIONS, "sparse"])

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number("epsilon", self.epsilon, low=0, strict=False, optional=True)
        check_choice("criterion", self.criterion, ["auto", "evidence", "loo"])
        check_choice("gross_errors", self.gross_errors, ["auto", "keep"])
        check_fraction("validation_fraction", self.validation_fraction)
        if not isinstance(self.nugget, bool | np.bool_):
            check_number("nugget", self.nugget, low=0, strict=True)
        if self.nugget is not False and self._is_precomputed():
            raise ValueError(
                f"nugget={self.nugget!r} cannot be combined with a precomputed kernel; add its variance to the "
                "diagonal of the training matrix instead"
            )

    def _previous(self, n_z: int) -> Array | None:
        """Where the last fit ended, relative to the spread of its target, if this one may start there."""
        if not self.warm_start or not hasattr(self, "_model") or len(self._model.z) != n_z:
            return None
        return self._model.z

    def _set_learnt(self, fitted: TargetFit, total: float) -> None:
        """Set what follows from the model alone; `total` is the weight of all rows."""
        model, units, shift, spread = fitted.model, fitted.units, fitted.shift, fitted.spread
        for optional in ("relevance_", "loo_log_density_"):
            # Not every kernel and inference gives them: forget those of an earlier fit.
            self.__dict__.pop(optional, None)
        scale = units.scale
        self.__dict__.update(as_fitted(model, units))
        self.kernel_ = fitted.given.clone_with_theta((model.z + shift)[: fitted.given.n_dims])
        self.likelihood_ = EpsilonInsensitive(self._density.C / scale, self._density.epsilon * scale)
        self.C_, self.epsilon_ = self.likelihood_.C, self.likelihood_.epsilon
        self.noise_std_ = float(scale * np.sqrt(self._density.noise_variance + model.nugget(model.rows.X[:1])[0]))
        self.posterior_ = model.posterior
        self.inference_ = model.posterior.method
        # The density of y is that of the scaled target over the scale, once for every row.
        self._log_units = float(total * np.log(scale))
        self.log_evidence_ = float(model.posterior.log_evidence) - self._log_units
        noise = target_noise(self.C, self.epsilon, units, learn=self.search is not None)
        names = Coordinates(model.kernel, noise, len(spread)).names
        self.search_path_ = path_in_units(model.path, names, shift, total, scale)
        self.n_iter_ = max(len(model.path), 1)
        relevances = relevance(model, spread)
        if relevances is not None:
            self.relevance_ = relevances

    def _set_fitted(self, X: Any, group: np.ndarray) -> None:
        """Set what refers to the training rows; `group` is the merged row of each before any was left out."""
        model, rows = self._model, self._model.rows
        weight = np.ones_like(rows.y) if rows.weight is None else rows.weight
        self.gross_errors_ = np.flatnonzero((group >= 0) & (rows.group < 0))
        if model.posterior.variance is not None and model.posterior.site_precision is not None:
            log_z = leave_one_out(model.posterior, Problem(np.empty((0, 0)), rows.y, model.likelihood)).log_z
            self.loo_log_density_ = float(weight @ log_z / weight.sum() - np.log(self.y_scale_))
        coefficients = self._coefficients([model], rows, X.shape[0]) / self.y_scale_
        self.support_ = np.flatnonzero(np.any(coefficients != 0, axis=0))
        self.support_vectors_ = X[self.support_] if not self._is_precomputed() else np.empty((0, 0))
        self.dual_coef_ = coefficients[:, self.support_]

    def _validate_new(self, X: Any) -> Any:
        X = super()._validate_new(X)
        return X / self.y_scale_**2 if self._is_precomputed() else X

    # -- model selection -----------------------------------------------------------------------------------------

    def log_evidence(self, method: str | None = None) -> float:
        """Log evidence in nats at the learnt hyperparameters, a density in the units of y.

        Parameters
        ----------
        method : str, optional
            The inference that estimates it ("ep", "laplace", "variational", "hmc", ...). Default: the fitted one.
        """
        check_is_fitted(self)
        if method is None:
            return self.log_evidence_
        self._refuse_sparse("log_evidence")
        check_choice("method", method, sorted(INFERENCES | REPRODUCTIONS))
        model = self._model
        K = evaluate(model.kernel, model.rows.X).K
        posterior = get_inference(method)().infer(K, model.rows.y, model.likelihood, model.rows.weight)
        return float(posterior.log_evidence) - self._log_units

    def criterion_value(self, name: str) -> float:
        """Return a criterion ("evidence", "loo") at the learnt hyperparameters, in nats, in the units of y."""
        check_is_fitted(self)
        check_choice("name", name, ["evidence", "loo"])
        return self._criterion_value([self._model], name) - self._log_units
