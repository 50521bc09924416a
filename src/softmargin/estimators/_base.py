"""What both estimators share: the meaning of their parameters, the steps of a fit, and what they refuse."""

import logging
from inspect import Parameter, signature
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.gaussian_process.kernels import Kernel
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from softmargin._checks import check_choice, check_fraction, check_gram, check_number, check_part, part_of
from softmargin._typing import Attributes, MatrixLike, PartLike, VectorLike
from softmargin.criteria import CRITERIA, Criterion, Problem
from softmargin.estimators._attributes import AnswersMixin, named_path
from softmargin.estimators._callbacks import CallbackSupportMixin
from softmargin.inference import EP, INFERENCES, REPRODUCTIONS, Inference, Sparse
from softmargin.kernels import KERNEL_NAMES, PrecomputedKernel, check_kernel, evaluate
from softmargin.likelihoods import LIKELIHOODS, Likelihood
from softmargin.policy import POLICY
from softmargin.rows import CheckedRows, Columns, check_new, check_rows, is_dask
from softmargin.search import SEARCHES, Search
from softmargin.tuning import HyperPrior, LatentModel, Tuning
from softmargin.tuning.bounds import warn_of_bounds

logger = logging.getLogger("softmargin")

COLUMN_NAMES = ("n_features_in_", "feature_names_in_", "encoder_")
"""Fitted attributes that describe the columns."""


class LatentEstimator(AnswersMixin, CallbackSupportMixin, BaseEstimator):
    """Parameters, validation and fitted names common to BayesianSVC and BayesianSVR.

    A fit is a transaction: parameters and rows are checked, a record is computed, and `_assign` replaces all fitted
    attributes at once. Whatever ends a fit earlier leaves the estimator as it was.
    """

    _is_classifier: bool

    def _check_parameters(self) -> None:
        if isinstance(self.kernel, Kernel):
            check_kernel(self.kernel)
        elif isinstance(self.kernel, type) or not (self.kernel is None or callable(self.kernel)):
            check_choice("kernel", self.kernel, [None, *KERNEL_NAMES])
        check_number("C", self.C, low=0, strict=True, optional=True)
        self._check_loss()
        check_part("inference", self.inference, self._inferences(), ("without_gradients",))
        check_part("criterion", self.criterion, self._criteria(), ("likelihood", "inference_for"), "auto")
        check_number("n_inducing", self.n_inducing, low=1, strict=False, integer=True, optional=True)
        check_part("search", self.search, SEARCHES, ("maximise",), None)
        criterion, search = self._criterion(), self._search()
        if search is not None and search.needs_gradient and criterion is not None and not criterion.smooth:
            raise ValueError(
                f"search={self.search!r} needs a gradient, which criterion={self.criterion!r} does not have; "
                "use search='random_walk' with it"
            )
        check_number("n_restarts", self.n_restarts, low=0, strict=False, integer=True)
        check_number("max_iter", self.max_iter, low=1, strict=False, integer=True)
        check_number("tol", self.tol, low=0, strict=True)
        check_fraction("validation_fraction", self.validation_fraction)
        if not (self.hyperprior is None or isinstance(self.hyperprior, HyperPrior)):
            check_choice("hyperprior", self.hyperprior, ["auto", None])

    def _check_loss(self) -> None:
        known = self._losses()
        if type(self.loss) in known.values():
            return
        check_part("loss", self.loss, known, ("normalised",))
        if not isinstance(self.loss, str) and not self._has_machine(self.loss):
            raise ValueError(
                f"loss={self.loss!r} is no loss of a support vector machine for "
                f"{'classes' if self._is_classifier else 'numbers'}; choose one of "
                f"{', '.join(map(repr, sorted(known)))}, or an object of such a class"
            )

    def __setstate__(self, state: Attributes) -> None:
        """Restore an estimator; parameters that the version which wrote it did not have get their defaults."""
        parameters = signature(type(self).__init__).parameters.values()
        defaults = {p.name: p.default for p in parameters if p.default is not Parameter.empty}
        super().__setstate__({**defaults, **state})

    # -- parts ---------------------------------------------------------------------------------------------------

    def _losses(self) -> Attributes:
        return {name: loss for name, loss in LIKELIHOODS.items() if self._has_machine(loss())}

    def _has_machine(self, loss: PartLike) -> bool:
        """Whether a likelihood is for this kind of target, and its most probable function can be found."""
        one = np.ones(1)
        has_mode = loss.is_smooth or loss.dual(one) is not None or loss.kink(one) is not None
        return has_mode and loss.is_classifier == self._is_classifier

    def _inferences(self) -> Attributes:
        known = INFERENCES | {Sparse.name: Sparse}
        return known if self._is_classifier else known | REPRODUCTIONS

    def _criteria(self) -> Attributes:
        return CRITERIA

    def _inference(self) -> Inference:
        inference: Inference = part_of(self.inference, self._inferences())
        return inference

    def _streams(self) -> bool:
        """Whether the loss has a machine with inducing points."""
        return True

    def _criterion(self) -> Criterion | None:
        """The criterion; None: the default policy."""
        if isinstance(self.criterion, str) and self.criterion == "auto":
            return None
        criterion: Criterion = part_of(self.criterion, CRITERIA)
        return criterion

    def _search(self) -> Search | None:
        """The search; by name it has the estimator's iteration cap and tolerance."""
        search: Search | None = part_of(self.search, SEARCHES, max_iter=self.max_iter, tol=self.tol)
        return search

    def _is_precomputed(self) -> bool:
        return isinstance(self.kernel, PrecomputedKernel) or (
            isinstance(self.kernel, str) and self.kernel == "precomputed"
        )

    def _tuning(self, hyperprior: HyperPrior) -> Tuning:
        """Collect the settings of the searches; `hyperprior` is the default one."""
        return Tuning(
            self._inference(),
            self._criterion(),
            self._search(),
            hyperprior if self.hyperprior == "auto" else self.hyperprior,
            self.n_restarts,
            self.n_jobs,
            self._seed(),
            self.validation_fraction,
        )

    def _seed(self) -> int:
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    # -- rows ----------------------------------------------------------------------------------------------------

    def _read(
        self, X: MatrixLike, y: VectorLike, sample_weight: VectorLike, *, large: bool, reset: bool = True
    ) -> CheckedRows:
        """Validate the training rows."""
        numeric = not self._is_classifier
        checked = check_rows(
            self._known_columns(),
            X,
            y,
            sample_weight,
            numeric_target=numeric,
            keep_float32=large,
            reset=reset,
            categorical_features=self.categorical_features,
            allow_gaps=not self._is_precomputed(),
        )
        if self._is_precomputed():
            if large:
                raise ValueError(
                    "inference='sparse' needs inputs, not a precomputed kernel matrix; "
                    "use another inference or a kernel object"
                )
            check_gram(checked.source.X)
        return checked

    def _known_columns(self) -> Columns:
        """The columns of the last fit, for scikit-learn's checks."""
        return Columns.of(type(self).__name__, self.__sklearn_tags__(), self._columns())

    def _is_large(self, X: MatrixLike) -> bool:
        """Whether a fit goes through inducing points; refuses what that cannot honour."""
        inference = self._inference()
        if is_dask(X):
            self._refuse_through_inducing_points("a fit of a Dask collection")
            return True
        n = X.shape[0] if hasattr(X, "shape") and len(X.shape) else len(X) if hasattr(X, "__len__") else 0
        default = isinstance(self.inference, str) and isinstance(inference, EP)
        automatic = default and n > POLICY.size.sparse_above and not self._is_precomputed()
        if inference.needs_gram and not automatic:
            return False
        why = "inference='sparse'" if not inference.needs_gram else f"a fit of {n} rows"
        self._refuse_through_inducing_points(why)
        if automatic:
            logger.info("%d rows are more than %d: inducing points stand for them", n, POLICY.size.sparse_above)
        return True

    def _refuse_through_inducing_points(self, why: str) -> None:
        """Raise for settings that a fit through inducing points cannot honour."""
        criterion, search = self._criterion(), self._search()
        if criterion is not None and not criterion.through_inducing_points:
            raise ValueError(
                f"{why} goes through inducing points, for which criterion={self.criterion!r} is not defined; use "
                "criterion='auto', 'evidence', 'link_evidence' or 'loo', or fit fewer rows with another inference"
            )
        if search is not None and (not search.needs_gradient or search.averages_noise or search.gives_samples):
            raise ValueError(
                f"{why} goes through inducing points, which are searched by gradients; search={self.search!r} cannot "
                "be used. Use search='lbfgs' or None, or fit fewer rows with another inference"
            )
        if self.validation_fraction is not None:
            raise ValueError(
                f"{why} goes through inducing points, which have no held-out rows; use validation_fraction=None, "
                "or fit fewer rows with another inference"
            )

    def _validate_new(self, X: MatrixLike) -> Any:
        check_is_fitted(self)
        return check_new(self._known_columns(), X, getattr(self, "encoder_", None))

    # -- the end of a fit ----------------------------------------------------------------------------------------

    def _assign(self, fitted: Attributes) -> None:
        """Replace all fitted attributes in one step: an interrupt leaves the old ones or the new ones, whole."""
        kept = {name: value for name, value in vars(self).items() if not _is_fitted_name(name)}
        if fitted.get("encoder_") is not None and "search_path_" in fitted:
            fitted["search_path_"] = named_path(fitted["search_path_"], fitted["encoder_"])
        self.__dict__ = {**kept, **fitted}

    def _warn_of_bounds(self) -> None:
        """Warn if a hyperparameter of a kernel object was learnt to lie on its bound."""
        learnt = vars(self).get("kernel_")
        if isinstance(self.kernel, Kernel) and self.search is not None and learnt is not None:
            warn_of_bounds(self.kernel, learnt if isinstance(learnt, list) else [learnt])

    def _columns(self) -> Attributes:
        """The fitted attributes that name the columns."""
        return {name: value for name, value in vars(self).items() if name in COLUMN_NAMES}

    # -- model selection -----------------------------------------------------------------------------------------

    def _refuse_without_gram(self, what: str) -> None:
        """Raise unless the Gram matrix of the training rows is at hand."""
        if self.inference_ == Sparse.name:
            raise ValueError(
                f"{what} needs the Gram matrix of all training rows, which inference='sparse' never forms; "
                "`log_evidence_` has the bound, and a fit on fewer rows with another inference has the rest"
            )

    def _criterion_value(self, models: list[LatentModel], name: str | Criterion) -> float:
        """A criterion at the learnt hyperparameters, summed over the models."""
        check_part("name", name, self._criteria(), ("likelihood", "inference_for"))
        self._refuse_without_gram("criterion_value")
        criterion: Criterion = part_of(name, CRITERIA)
        inference = criterion.inference_for(self._inference())
        total = 0.0
        for m in models:
            K = evaluate(m.kernel, m.rows.X).K
            # A score of the predictions is one of the posterior's own likelihood.
            own: Likelihood | None = m.posterior_likelihood if criterion.is_predictive else None
            likelihood = criterion.likelihood(own or m.likelihood)
            posterior = inference.infer(K, m.rows.y, likelihood, m.rows.weight)
            total += criterion(posterior, Problem(K, m.rows.y, likelihood, m.rows.weight)).value
        return total

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.categorical = True
        tags.input_tags.allow_nan = not self._is_precomputed()
        tags.input_tags.pairwise = self._is_precomputed()
        return tags


def can_stream(self: Any) -> bool:
    """Whether an estimator has `partial_fit`; the error says what it needs."""
    if self._inference().needs_gram:
        raise AttributeError(f"partial_fit needs inference='sparse', got inference={self.inference!r}")
    if not self._streams():
        raise AttributeError(f"partial_fit needs a machine with inducing points, which loss={self.loss!r} has not")
    return True


def _is_fitted_name(name: str) -> bool:
    return name == "_fit" or (name.endswith("_") and not name.startswith("_"))
