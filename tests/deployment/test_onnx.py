"""ONNX graphs give what `predict*` gives, to 1e-5 and better, in onnxruntime."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct, ExpSineSquared, Matern, RationalQuadratic
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from softmargin import BayesianSVC, BayesianSVR, to_onnx
from softmargin.deployment.graph import IR_VERSION, OPSET, Graph, Tensor
from softmargin.deployment.latent import averaged_probability
from softmargin.likelihoods import Hinge, Logistic, SquaredHinge

onnxruntime = pytest.importorskip("onnxruntime")

RNG = np.random.default_rng(0)
X = np.column_stack([RNG.standard_normal((60, 2)), np.exp(RNG.standard_normal(60))])
Y = (X[:, 0] + np.log(X[:, 2]) + 0.5 * RNG.standard_normal(60) > 0).astype(int)
T = np.exp(0.8 * X[:, 0]) + X[:, 1] + 0.1 * RNG.standard_normal(60)
NEW = np.vstack([X[:20], X[:20] * 3 - 1, np.full((1, 3), 50.0)])


def run(model, rows=NEW):
    """The outputs by name."""
    session = onnxruntime.InferenceSession(to_onnx(model).SerializeToString(), providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, {"X": rows})))


def check_classes(model):
    out = run(model)
    assert np.array_equal(out["label"].astype(model.classes_.dtype), model.predict(NEW))
    np.testing.assert_allclose(out["probabilities"], model.predict_proba(NEW), atol=1e-8)


def check_numbers(model):
    out = run(model)
    mean, std = model.predict(NEW, return_std=True)
    np.testing.assert_allclose(out["mean"], mean, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(out["std"], std, rtol=1e-7, atol=1e-8)


def test_the_default_of_two_classes():
    model = BayesianSVC().fit(X, Y)
    assert {m.name for m in model.members_} == {"hinge", "least_squares", "least_squares_additive"}
    check_classes(model)


@pytest.mark.parametrize(
    "settings",
    [
        {"stack": False},
        {"C": 50.0, "search": None},
        {"loss": "squared_hinge", "C": 2.0, "search": None},
        {"loss": "logistic", "C": 3.0, "search": None},
        {"probability": "mean", "search": None},
        {"probability": "map", "search": None},
        {"inference": "map", "search": None},
        {"inference": "laplace", "search": None},
        {"inference": "sparse", "n_inducing": 15, "search": None, "random_state": 0},
        {"class_weight": {0: 1.0, 1: 5.0}, "search": None},
    ],
    ids=str,
)
def test_two_classes(settings):
    check_classes(BayesianSVC(**settings).fit(X, Y))


@pytest.mark.parametrize(
    "labels", [np.array(["no", "yes"]), np.array([-1.0, 2.0]), np.array([False, True]), np.array(["a", "b"], object)]
)
def test_labels_of_any_kind(labels):
    check_classes(BayesianSVC(C=1.0, search=None).fit(X, labels[Y]))


KERNELS = [
    ConstantKernel(2.0) * Matern([1.0, 2.0, 3.0], nu=1.5) + DotProduct(0.5),
    Matern(2.0, nu=0.5) + ConstantKernel(0.1),
    RationalQuadratic(2.0, 0.7) * ConstantKernel(3.0) + DotProduct(1.0) ** 2 * RBF(4.0),
]


@pytest.mark.parametrize("kernel", [*KERNELS, "linear", "matern52", "poly"], ids=str)
def test_kernels(kernel):
    check_classes(BayesianSVC(kernel, C=1.0, search=None).fit(X, Y))


def test_many_classes():
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    check_classes(BayesianSVC().fit(X, y))
    check_classes(BayesianSVC(class_weight="balanced").fit(csr_matrix(X), y))


def test_the_default_of_a_regression():
    model = BayesianSVR(random_state=0).fit(X, T)
    assert {m.name for m in model.members_} == {"tube", "tube_warped_target", "gaussian", "gaussian_warped"}
    check_numbers(model)


@pytest.mark.parametrize(
    "settings",
    [
        {"stack": False},
        {"nugget": 0.3, "search": None},
        {"loss": "gaussian", "search": None},
        {"kernel": "linear", "center": None},
        {"inference": "sparse", "n_inducing": 15, "search": None, "random_state": 0},
    ],
    ids=str,
)
def test_regressions(settings):
    check_numbers(BayesianSVR(**settings).fit(X, T))


@pytest.mark.parametrize("stack", [True, False])
def test_noise_that_varies(stack):
    target = X[:, 0] + np.exp(X[:, 1]) * 0.3 * np.random.default_rng(2).standard_normal(60)
    model = BayesianSVR(noise="varying", stack=stack, random_state=0).fit(X, target)
    assert any("Varying" in type(m.predictive).__name__ for m in model.members_)
    assert np.ptp(model.predict(NEW, return_std=True)[1][:20]) > 0.1
    check_numbers(model)


def test_a_fit_of_low_rank():
    rng = np.random.default_rng(1)
    rows = rng.standard_normal((510, 3))
    model = BayesianSVC(stack=False, max_iter=1).fit(rows, np.sin(2 * rows[:, 0]) + 0.3 * rng.standard_normal(510) > 0)
    assert type(model.posterior_).__name__ == "LowRankPosterior"
    check_classes(model)


@pytest.mark.parametrize("kind", [Hinge, SquaredHinge, Logistic])
@pytest.mark.parametrize("C", [0.01, 0.5, 3.0, 40.0, 1000.0])
def test_averages_against_the_library_at_every_scale(kind, C):
    from onnx import helper

    likelihood = kind(C)
    m, s = (a.ravel() for a in np.meshgrid([-30.0, -3.0, -1.01, -0.1, 0.0, 0.7, 2.0, 9.0], [1e-3, 0.1, 1.0, 4.0, 60.0]))
    graph = Graph()
    mean, variance = (graph.constant(a[:, None]) for a in (m, s**2))
    graph.output(averaged_probability(likelihood, mean, variance), "p")
    made = helper.make_graph(graph.nodes, "p", [], [helper.make_tensor_value_info("p", 11, [None, 1])], graph.constants)
    opset = [helper.make_opsetid("", OPSET)]
    session = onnxruntime.InferenceSession(
        helper.make_model(made, opset_imports=opset, ir_version=IR_VERSION).SerializeToString()
    )
    link, one = likelihood.normalised(), np.ones_like(m)
    expected = np.exp(link.tilted_moments(one, m, s**2).log_z)
    np.testing.assert_allclose(session.run(None, {})[0][:, 0], expected, atol=1e-7)


def test_what_cannot_be_exported_is_named():
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    cases = [
        (BayesianSVC(multi_class="ovo", search=None).fit(X, y), "coupled support vector machines"),
        (BayesianSVC(ExpSineSquared(2.0, 30.0), C=1.0, search=None).fit(X, Y), "ExpSineSquared"),
        (BayesianSVC(loss="probit", search=None).fit(X, Y), "probit"),
        (BayesianSVC("precomputed", C=1.0, search=None).fit(X @ X.T, Y), "precomputed kernel"),
        (make_pipeline(StandardScaler(), BayesianSVC(C=1.0, search=None)).fit(X, Y), "of a pipeline"),
        (BayesianSVR(inference="hmc", search=None, random_state=0).fit(X, T), "hmc"),
        (BayesianSVC(kernel=lambda A, B: A @ B.T, C=1.0, search=None).fit(X, Y), "CallableKernel"),
    ]
    for model, words in cases:
        with pytest.raises(ValueError, match=words):
            to_onnx(model)


def test_tensors_are_expressions():
    graph = Graph()
    x = Tensor(graph, "X")
    (1.0 - x) / 2.0 @ np.ones((2, 1))
    assert [node.op_type for node in graph.nodes] == ["Sub", "Div", "MatMul"]
