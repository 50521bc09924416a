"""The fitted attributes of both estimators, from the records of their fits."""

from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from softmargin._linalg import Array
from softmargin._typing import Attributes
from softmargin.kernels import Layout, roles
from softmargin.least_squares import LeastSquares
from softmargin.likelihoods import Likelihood
from softmargin.machines import ClassificationFit, PairwiseMachine, RegressionFit


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
        "log_evidence_": float(sum(m.log_evidence for m in models)),
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


def relevance(kernel: Kernel, spread: Array, layout: Layout | None = None) -> Array | None:
    """Inverse length scale of each input in units of its spread, the largest scaled to 1; None if there are none.

    A column of a table that is several inputs has that of the most relevant one.
    """
    result = np.zeros(len(spread))
    found = False
    for role, theta in zip(roles(kernel, len(spread)), kernel.theta):
        if role.kind == "length_scale":
            inputs = slice(None) if role.input is None else role.input
            result[inputs] = np.maximum(result[inputs], spread[inputs] / np.exp(theta))
            found = True
    if not found:
        return None
    if layout is not None:
        result = layout.by_table(result)
    top = result.max(initial=0.0)
    return result / top if top > 0 else result
