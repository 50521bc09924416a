"""From a fitted estimator to an ONNX model."""

from typing import Any

from sklearn.utils.validation import check_is_fitted

from softmargin._version import __version__
from softmargin.deployment.classification import class_probabilities, labels
from softmargin.deployment.columns import DOUBLE, ML, encoded
from softmargin.deployment.graph import IR_VERSION, OPSET, Graph, Tensor
from softmargin.deployment.kernels import ExportError
from softmargin.deployment.regression import mean_and_std
from softmargin.estimators import BayesianSVC, BayesianSVR

ML_OPSET = 3
"""Of ONNX's operators for machine learning: of 2022."""


def to_onnx(model: BayesianSVC | BayesianSVR) -> Any:
    """Export a fitted estimator as an ONNX graph in double precision, the whole stack with its warps.

    Parameters
    ----------
    model : BayesianSVC or BayesianSVR
        Fitted; kernels that can be exported are RBF, Matern, rational quadratic, linear, constant, of all or some
        columns, and their sums, products and powers.

    Returns
    -------
    onnx.ModelProto
        With the input ``X`` (double, shape (n, n_features), nan for gaps) and the outputs ``label`` and
        ``probabilities``, or ``mean`` and ``std``. A model of a table with categories has an input of shape (n, 1) for
        each column instead, named as the column is: strings for categories ("" for a gap), double for numbers.
        ``onnx.save(result, path)`` writes it.

    Raises
    ------
    ExportError
        A ValueError, for what has no graph: other kernels, sampled posteriors, coupled pairs of classes, dates.

    Examples
    --------
    >>> import numpy as np, onnxruntime
    >>> from softmargin import BayesianSVC, to_onnx
    >>> X = np.random.default_rng(0).standard_normal((30, 2))
    >>> model = BayesianSVC().fit(X, X[:, 0] > 0)
    >>> session = onnxruntime.InferenceSession(to_onnx(model).SerializeToString())
    >>> label, probabilities = session.run(None, {"X": X})
    >>> bool(np.allclose(probabilities, model.predict_proba(X), atol=1e-5))
    True
    """
    helper = _helper()
    if not isinstance(model, BayesianSVC | BayesianSVR):
        raise ExportError(
            f"to_onnx exports BayesianSVC and BayesianSVR, not {type(model).__name__}; of a pipeline, export the last "
            "step and apply the others before it"
        )
    check_is_fitted(model)
    width = model.n_features_in_
    if model._is_precomputed():
        raise ExportError("a precomputed kernel has no inputs to export; fit with a kernel object")
    graph = Graph()
    X, inputs = encoded(model.encoder_, width, graph)
    outputs = _outputs(model, X)
    made = helper.make_graph(
        graph.nodes,
        type(model).__name__,
        [helper.make_tensor_value_info(name, kind, shape) for name, kind, shape in inputs],
        [helper.make_tensor_value_info(name, kind, shape) for name, kind, shape in outputs],
        graph.constants,
    )
    opset = [helper.make_opsetid("", OPSET), helper.make_opsetid(ML, ML_OPSET)]
    return helper.make_model(
        made, opset_imports=opset, ir_version=IR_VERSION, producer_name="softmargin", producer_version=__version__
    )


def _outputs(model: Any, X: Tensor) -> list[tuple[str, int, list[int | None]]]:
    """Add the predictions to the graph; name, type and shape of each."""
    graph = X.graph
    if isinstance(model, BayesianSVR):
        mean, std = mean_and_std(model._fit, X)
        graph.output(mean, "mean")
        graph.output(std, "std")
        return [("mean", DOUBLE, [None]), ("std", DOUBLE, [None])]
    probabilities = class_probabilities(model._fit, X)
    graph.output(labels(model._fit, probabilities), "label")
    graph.output(probabilities, "probabilities")
    kind = {"i": 7, "u": 7, "f": DOUBLE, "b": 9}.get(model.classes_.dtype.kind, 8)
    return [("label", kind, [None]), ("probabilities", DOUBLE, [None, len(model.classes_)])]


def _helper() -> Any:
    try:
        from onnx import helper
    except ImportError as error:
        raise ImportError("to_onnx needs onnx: pip install 'softmargin[onnx]'") from error
    return helper
