"""What both estimators share: the meaning of their parameters."""

import logging
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.gaussian_process.kernels import Kernel
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from softmargin._linalg import Array
from softmargin.criteria import CRITERIA, Problem, get_criterion
from softmargin.estimators._callbacks import CallbackSupportMixin, FitTasks
from softmargin.estimators._model import LatentModel
from softmargin.estimators._tuning import Tuning
from softmargin.inference import INFERENCES, get_inference
from softmargin.kernels import KERNEL_NAMES, PrecomputedKernel, evaluate
from softmargin.rows import TrainingRows, spread_of
from softmargin.search import SEARCHES, Evaluation, HyperPrior

logger = logging.getLogger("softmargin")

PSD_TOLERANCE = 1e-8
"""How negative an eigenvalue of a precomputed matrix may be, relative to the largest."""


def check_choice(name: str, value: Any, allowed: list[Any]) -> None:
    """Raise a ValueError that names the parameter, the value and the options."""
    if not any(value is a or (isinstance(value, str) and value == a) for a in allowed):
        raise ValueError(f"{name}={value!r} is not allowed; choose one of {', '.join(map(repr, allowed))}")


def check_number(
    name: str, value: Any, *, low: float, strict: bool, integer: bool = False, optional: bool = False
) -> None:
    """Raise a ValueError unless value is a finite number above `low` (or None, if optional)."""
    if value is None and optional:
        return
    kind = Integral if integer else Real
    ok = isinstance(value, kind) and not isinstance(value, bool) and np.isfinite(float(value))
    if not ok or value < low or (strict and value == low):
        what = "an integer" if integer else "a finite number"
        hint = ", or None to learn it from the data" if optional else ""
        raise ValueError(f"{name}={value!r} must be {what} {'>' if strict else '>='} {low:g}{hint}")


def check_fraction(name: str, value: Any) -> None:
    """Raise a ValueError unless value is None or a number strictly between 0 and 1."""
    if value is not None and not (isinstance(value, Real) and not isinstance(value, bool) and 0 < float(value) < 1):
        raise ValueError(f"{name}={value!r} must be a number between 0 and 1, or None")


class LatentEstimator(CallbackSupportMixin, BaseEstimator):
    """Parameters, validation and fitted names common to BayesianSVC and BayesianSVR."""

    def _check_parameters(self) -> None:
        if not (self.kernel is None or isinstance(self.kernel, Kernel)):
            check_choice("kernel", self.kernel, [None, *KERNEL_NAMES])
        check_number("C", self.C, low=0, strict=True, optional=True)
        check_choice("inference", self.inference, self._inferences())
        check_choice("criterion", self.criterion, ["auto", *sorted(CRITERIA)])
        check_number("n_inducing", self.n_inducing, low=1, strict=False, integer=True, optional=True)
        check_choice("search", self.search, [None, *sorted(SEARCHES)])
        smooth = self.criterion == "auto" or getattr(CRITERIA[self.criterion], "smooth", False)
        if not smooth and getattr(SEARCHES.get(self.search), "needs_gradient", False):
            raise ValueError(
                f"search={self.search!r} needs a gradient, which criterion={self.criterion!r} does not have; "
                "use search='random_walk' with it"
            )
        check_number("n_restarts", self.n_restarts, low=0, strict=False, integer=True)
        check_number("max_iter", self.max_iter, low=1, strict=False, integer=True)
        check_number("tol", self.tol, low=0, strict=True)
        if not (self.hyperprior is None or isinstance(self.hyperprior, HyperPrior)):
            check_choice("hyperprior", self.hyperprior, ["auto", None])

    def _inferences(self) -> list[str]:
        return sorted([*INFERENCES, "sparse"])

    def _is_precomputed(self) -> bool:
        return isinstance(self.kernel, PrecomputedKernel) or (
            isinstance(self.kernel, str) and self.kernel == "precomputed"
        )

    def _validate_training(self, X: Any, y: Any, sample_weight: Any, **kwargs: Any) -> tuple[Any, Any, Array | None]:
        self._check_parameters()
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64, ensure_min_samples=1, **kwargs)
        if self._is_precomputed():
            check_gram(X)
        if sample_weight is None:
            return X, y, None
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64)
        if np.any(weight < 0):
            raise ValueError(f"sample_weight must not be negative; the smallest given is {weight.min():g}")
        if not np.any(weight > 0):
            raise ValueError("sample_weight is zero for every row; give at least one row a positive weight")
        return X, y, weight

    def _validate_new(self, X: Any) -> Any:
        check_is_fitted(self)
        return validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)

    def _spread(self, X: Any, weight: Array | None) -> Array:
        if self._is_precomputed():
            return np.empty(0)
        return spread_of(X, weight)

    def _tuning(
        self,
        hyperprior: HyperPrior,
        tasks: FitTasks | None = None,
        attributes: Callable[[LatentModel], dict[str, Any]] | None = None,
    ) -> Tuning:
        """Collect the settings; `attributes` makes fitted attributes for the callbacks of `tasks` from a model."""
        chosen = hyperprior if self.hyperprior == "auto" else self.hyperprior
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        # Sparse inference learns on a subset first, by EP.
        inference = get_inference("ep" if self.inference == "sparse" else self.inference)()
        return Tuning(
            inference,
            self.criterion,
            self.search,
            chosen,
            self.n_restarts,
            self.max_iter,
            self.tol,
            self.n_jobs,
            seed,
            getattr(self, "validation_fraction", None),
            self._told(tasks, attributes),
        )

    def _told(
        self, tasks: FitTasks | None, attributes: Callable[[LatentModel], dict[str, Any]] | None
    ) -> Callable[[Evaluation, Callable[[], LatentModel]], None]:
        verbose = self.verbose

        def told(evaluation: Evaluation, model: Callable[[], LatentModel]) -> None:
            if verbose:
                logger.info("objective %.4f, criterion %.4f", evaluation.value, evaluation.criterion)
            if tasks is not None:
                tasks.evaluated(None if attributes is None else lambda: attributes(model()))

        return told

    def _coefficients(self, models: list[LatentModel], rows: TrainingRows, n: int) -> Array:
        """The SVMs' coefficients of the n original rows, shape (n_models, n): copies share by weight."""
        coefficients = np.zeros((len(models), n))
        for k, model in enumerate(models):
            group = model.rows.group[:n]
            inside = group >= 0
            coefficients[k, inside] = model.svm.beta[group[inside]] * rows.share[inside]
        return coefficients

    def _refuse_sparse(self, what: str) -> None:
        """Raise unless the Gram matrix of the training rows is at hand."""
        if self.inference_ == "sparse":
            raise ValueError(
                f"{what} needs the Gram matrix of all training rows, which inference='sparse' never forms; "
                "`log_evidence_` has the bound, and a fit on fewer rows with another inference has the rest"
            )

    def _criterion_value(self, models: list[LatentModel], name: str) -> float:
        """A registered criterion at the learnt hyperparameters, summed over the models."""
        self._refuse_sparse("criterion_value")
        criterion = get_criterion(name)()
        total = 0.0
        for m in models:
            K = evaluate(m.kernel, m.rows.X).K
            # Leave-one-out is a score of the predictions, which come from the posterior's own likelihood.
            own = m.posterior_likelihood if criterion.is_predictive else None
            likelihood = criterion.likelihood(own or m.likelihood)
            inference = criterion.inference_for(get_inference(self.inference)())
            posterior = inference.infer(K, m.rows.y, likelihood, m.rows.weight)
            total += criterion(posterior, Problem(K, m.rows.y, likelihood, m.rows.weight)).value
        return total

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self._is_precomputed()
        return tags


def check_gram(K: Any) -> None:
    """Raise a clear error unless a precomputed matrix is square, symmetric and positive semi-definite."""
    if issparse(K):
        raise ValueError("a precomputed kernel matrix must be dense; call .toarray() first")
    if K.shape[0] != K.shape[1]:
        raise ValueError(f"a precomputed kernel matrix must be square, got shape {K.shape}")
    if not np.allclose(K, K.T, rtol=1e-8, atol=1e-10 * np.abs(K).max(initial=0)):
        raise ValueError("the precomputed kernel matrix is not symmetric; use (K + K.T) / 2 if that is what you mean")
    eigenvalues = np.linalg.eigvalsh(K)
    if eigenvalues[0] < -PSD_TOLERANCE * max(eigenvalues[-1], 0.0) or eigenvalues[-1] <= 0:
        raise ValueError(
            f"the precomputed kernel matrix is not positive semi-definite: its most negative eigenvalue is "
            f"{eigenvalues[0]:.3g}. Add at least {-eigenvalues[0]:.3g} to its diagonal, or clip its negative "
            "eigenvalues to zero"
        )


def relevance(model: LatentModel, spread: Array) -> Array | None:
    """Inverse length scale of each input in units of its spread, the largest scaled to 1; None if there are none."""
    from softmargin.kernels import roles

    result = np.zeros(len(spread))
    found = False
    for role, theta in zip(roles(model.kernel, len(spread)), model.kernel.theta):
        if role.kind == "length_scale":
            inputs = slice(None) if role.input is None else role.input
            result[inputs] = np.maximum(result[inputs], spread[inputs] / np.exp(theta))
            found = True
    if not found:
        return None
    top = result.max(initial=0.0)
    return result / top if top > 0 else result
