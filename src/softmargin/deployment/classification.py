"""A fitted classification as nodes of a graph: class probabilities of the whole stack, and labels."""

import numpy as np

from softmargin.deployment.graph import Tensor, concat
from softmargin.deployment.kernels import ExportError, gram
from softmargin.deployment.latent import up_probability, warped
from softmargin.least_squares import LeastSquaresMachine
from softmargin.machines import ClassificationFit, Member, PairwiseMachine


def class_probabilities(fitted: ClassificationFit, X: Tensor) -> Tensor:
    """Probabilities of all classes, shape (n, n_classes)."""
    d = len(fitted.spread)
    parts = [float(w) * _member(m, X, d) for w, m in zip(fitted.stack.weights, fitted.stack.members)]
    mixed = parts[0]
    for part in parts[1:]:
        mixed = mixed + part
    if fitted.log_class_weight is None:
        return mixed
    # P'(y | x) proportional to w_y P(y | x).
    weighted = mixed * np.exp(fitted.log_class_weight)[None, :]
    return weighted / weighted.sum()


def _member(member: Member, X: Tensor, n_features: int) -> Tensor:
    inner, machine = warped(member.warp, X, n_features), member.machine
    if isinstance(machine, LeastSquaresMachine):
        return (gram(machine.kernel, inner, machine.basis) @ machine.alpha + machine.softmax_offset[None, :]).softmax()
    assert isinstance(machine, PairwiseMachine)
    if machine.n_classes > 2:
        raise ExportError(
            "coupled support vector machines of more than two classes have no ONNX graph; fit with "
            "multi_class='joint', the default"
        )
    up = up_probability(machine.models[0], inner, machine.probability)
    return concat([1.0 - up, up])


def labels(fitted: ClassificationFit, probabilities: Tensor) -> Tensor:
    """The most probable class of every row, shape (n,)."""
    index = probabilities.graph.call("ArgMax", probabilities, axis=1, keepdims=0)
    classes = fitted.classes
    if classes.dtype.kind in "iu":
        classes = classes.astype(np.int64)
    elif classes.dtype.kind == "f":
        classes = classes.astype(np.float64)
    return probabilities.graph.call("Gather", probabilities.graph.constant(classes), index)
