"""What a fitted estimator says when it is asked: which inputs matter, its coefficients, its evidence elsewhere.

Nothing here is computed in `fit`.
"""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from softmargin._linalg import Array
from softmargin._typing import VectorLike
from softmargin.inference import Inference
from softmargin.kernels import Coefficients, evaluate
from softmargin.tuning import LatentModel


class AnswersMixin:
    """Attributes and methods of both estimators that are computed when they are asked for."""

    _fit: Any
    _inference: Any
    _refuse_without_gram: Any
    _evidence_models: Any
    """The models, what separates theta of `kernel_` from theirs, and what to add to their log evidence."""
    log_evidence_: float

    @property
    def importance_(self) -> Array:
        """How much the prediction changes along each input, shape (n_features,); sums to 1."""
        check_is_fitted(self)
        found: Array | None = self._fit.importance
        if found is None:
            raise AttributeError("importance_ is that of inputs; a precomputed kernel has kernel values only")
        return np.array(found)

    @property
    def feature_importances_(self) -> Array:
        """`importance_`, by the name that scikit-learn's selectors of features look for."""
        return self.importance_

    @property
    def coef_(self) -> Array:
        """Coefficients of a linear kernel, shape (n_functions, n_features)."""
        return self._coefficients("coef_").coef

    @property
    def intercept_(self) -> Array:
        """Intercepts of a linear kernel, shape (n_functions,)."""
        return self._coefficients("intercept_").intercept

    @property
    def support_(self) -> np.ndarray:
        """Numbers of the training rows that are support vectors, shape (n_support,)."""
        indices: np.ndarray = self._support("support_").indices
        return indices

    @property
    def support_vectors_(self) -> Any:
        """Their inputs, shape (n_support, n_features)."""
        return self._support("support_vectors_").vectors

    @property
    def dual_coef_(self) -> Array:
        """Their coefficients, shape (n_machines, n_support)."""
        dual_coef: Array = self._support("dual_coef_").dual_coef
        return dual_coef

    @property
    def n_support_(self) -> np.ndarray:
        """How many they are: of each class, or of a regression, shape (n_classes,) or (1,)."""
        support = self._support("n_support_")
        return np.asarray(getattr(support, "n_support", [len(support.indices)]), dtype=np.int32)

    def _support(self, name: str) -> Any:
        """The support vectors, from the support vector machine that is solved when it is first asked for."""
        check_is_fitted(self)
        found = self._fit.support_record
        if found is None:
            raise AttributeError(
                f"{name} is that of the support vector machine itself, which is not solved through inducing points; "
                "fit fewer rows"
            )
        return found

    def _coefficients(self, name: str) -> Coefficients:
        check_is_fitted(self)
        found: Coefficients | None = self._fit.linear()
        if found is None:
            raise AttributeError(
                f"{name} is that of a linear prediction: kernel='linear', or a sum of DotProduct and ConstantKernel "
                "with factors; other kernels have importance_"
            )
        return found

    def log_marginal_likelihood(
        self, theta: VectorLike = None, eval_gradient: bool = False
    ) -> float | tuple[float, Array]:
        """Compute the log evidence at other hyperparameters of the kernel, C held as learnt.

        Parameters
        ----------
        theta : array-like of shape (n_theta,), optional
            Logarithms of the hyperparameters in the order of ``kernel_.theta``; default: as learnt. With several pairs
            of classes those of all pairs one after another, or of one for all of them.
        eval_gradient : bool, default=False
            Also return the derivatives with respect to theta.

        Returns
        -------
        log_likelihood : float
            In nats, as the inference estimates it; a density in the units of y in regression. Summed over pairs.
        gradient : ndarray of shape (n_theta,)
            If `eval_gradient`.
        """
        check_is_fitted(self)
        if theta is None and not eval_gradient:
            return float(self.log_evidence_)
        self._refuse_without_gram("log_marginal_likelihood")
        models, shift, constant = self._evidence_models()
        thetas = [model.kernel.theta for model in models]
        shared = theta is not None and len(models) > 1 and np.shape(theta) == thetas[0].shape
        if theta is not None:
            thetas = _split(np.asarray(theta, dtype=np.float64) - shift, thetas, shared=shared)
        inference = self._inference()
        parts = [_evidence(model, z, inference) for model, z in zip(models, thetas)]
        value = float(sum(part for part, _ in parts)) + constant
        if not eval_gradient:
            return value
        gradients = [gradient for _, gradient in parts]
        return value, np.sum(gradients, axis=0) if shared else np.concatenate(gradients)


def _split(theta: Array, like: list[Array], *, shared: bool) -> list[Array]:
    """The hyperparameters of every model: its part of theta, or all of it."""
    if shared:
        return [theta] * len(like)
    sizes = [len(part) for part in like]
    if theta.shape != (sum(sizes),):
        raise ValueError(
            f"theta has shape {theta.shape}; the fitted kernel has {sum(sizes)} free hyperparameters, see kernel_.theta"
        )
    return np.split(theta, np.cumsum(sizes)[:-1])


def _evidence(model: LatentModel, theta: Array, inference: Inference) -> tuple[float, Array]:
    """Log evidence at theta and its gradient, shape (n_theta,)."""
    kernel = evaluate(model.kernel.clone_with_theta(theta), model.rows.X)
    posterior = inference.infer(kernel.K, model.rows.y, model.likelihood, model.rows.weight)
    assert posterior.d_gram is not None
    return float(posterior.log_evidence), kernel.contract(posterior.d_gram)
