"""The fitted attributes of both estimators, from the records of their fits.

`AnswersMixin` has those that are computed when they are asked for, and nothing of it in `fit`.
"""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from softmargin._linalg import Array
from softmargin._typing import Attributes, VectorLike
from softmargin.inference import Inference
from softmargin.kernels import Coefficients, Layout, evaluate
from softmargin.least_squares import LeastSquares
from softmargin.likelihoods import Likelihood
from softmargin.machines import ClassificationFit, PairwiseMachine, RegressionFit, relevance
from softmargin.rows import ColumnEncoder
from softmargin.tuning import LatentModel


def class_attributes(fitted: ClassificationFit) -> Attributes:
    """The fitted attributes of a classifier."""
    attributes: Attributes = {
        "_fit": fitted,
        "classes_": fitted.classes,
        "members_": fitted.stack.members,
        "weights_": fitted.stack.weights,
    }
    if fitted.left_out is not None:
        attributes |= {"loo_log_loss_": fitted.left_out.log_loss(), "loo_error_": fitted.left_out.error()}
    if fitted.machine is not None:
        return attributes | hinge_attributes(fitted.machine, fitted.spread, fitted.layout)
    machines = [member.machine for member in fitted.stack.members]
    path = [row for machine in machines for row in machine.path]
    attributes |= {"inference_": LeastSquares.name, "search_path_": path, "n_iter_": max(len(path), 1)}
    relevances = relevance(machines[0].kernel, fitted.spread, fitted.layout)
    return attributes if relevances is None else {**attributes, "relevance_": relevances}


def hinge_attributes(machine: PairwiseMachine, spread: Array, layout: Layout | None = None) -> Attributes:
    """The attributes of the support vector machines."""
    models, one = machine.models, len(machine.models) == 1
    likelihoods: list[Likelihood] = [m.posterior_likelihood or m.likelihood for m in models]
    margin: list[Any] = [m.likelihood for m in models]
    C = [likelihood.C for likelihood in margin]
    path = [row if one else {"pair": pair, **row} for m, pair in zip(models, machine.pairs) for row in m.path]
    attributes: Attributes = {
        "kernel_": models[0].kernel if one else [m.kernel for m in models],
        "likelihood_": likelihoods[0] if one else likelihoods,
        "C_": C[0] if one else np.array(C),
        "posterior_": models[0].posterior if one else [m.posterior for m in models],
        "inference_": models[0].posterior.method,
        "log_evidence_": machine.log_evidence,
        "search_path_": path,
        "n_iter_": max(len(path), 1) if one else np.array([max(len(m.path), 1) for m in models]),
    }
    relevances = [relevance(m.kernel, spread, layout) for m in models]
    if any(r is None for r in relevances):
        return attributes
    table = np.array(relevances)
    return {**attributes, "pair_relevance_": table, "relevance_": table.mean(axis=0)}


def target_attributes(fitted: RegressionFit) -> Attributes:
    """The fitted attributes of a regressor."""
    model, units = fitted.model, fitted.units
    likelihood: Any = model.likelihood.in_units(units.scale)
    nugget = model.nugget(model.rows.X[:1])[0]
    attributes: Attributes = {
        "_fit": fitted,
        "members_": fitted.members,
        "weights_": fitted.weights,
        "noise_": "constant" if fitted.tube_predicts else "varying",
        "y_center_": units.center,
        "y_scale_": units.scale,
        "kernel_": fitted.kernel,
        "likelihood_": likelihood,
        **{f"{name}_": getattr(likelihood, name) for name in likelihood.param_names},
        "noise_std_": float(units.scale * np.sqrt(model.likelihood.noise_variance + nugget)),
        "posterior_": model.posterior,
        "inference_": model.posterior.method,
        "log_evidence_": fitted.log_evidence,
        "search_path_": fitted.path,
        "n_iter_": max(len(model.path), 1),
        "gross_errors_": fitted.gross_errors,
    }
    optional = {
        "relevance_": relevance(model.kernel, fitted.spread, fitted.layout),
        "loo_log_density_": fitted.loo_log_density,
    }
    return attributes | {name: value for name, value in optional.items() if value is not None}


def named_path(path: list[dict[str, Any]], encoder: ColumnEncoder) -> list[dict[str, Any]]:
    """A search path whose length scales are named by the user's columns: ``length_scale_age``.

    Without names by their numbers, which differ from those of the inputs where a column is several of them.
    """
    if encoder.names is None and encoder.is_plain:
        return path
    inputs = [name if encoder.names is not None else name[1:] for name in encoder.input_names]
    if len(set(inputs)) < len(inputs):
        return path
    names = {f"length_scale_{j}": f"length_scale_{name}" for j, name in zip(encoder.layout.leaders, inputs)}
    return [{names.get(key, key): value for key, value in row.items()} for row in path]


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
