"""What users of scikit-learn's machines ask: coefficients, callable kernels, evidence at other values, pairs."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.feature_selection import RFE, SelectFromModel
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct
from sklearn.svm import SVC, SVR

from softmargin import BayesianSVC, BayesianSVR
from softmargin.kernels import CallableKernel, polynomial_degree

RNG = np.random.default_rng(0)
X = RNG.standard_normal((50, 3))
Y = (X[:, 0] - 2 * X[:, 1] + 0.5 * RNG.standard_normal(50) > 0).astype(int)
T = X @ [1.0, -2.0, 0.0] + 3.0 + 0.1 * RNG.standard_normal(50)
IRIS = load_iris(return_X_y=True)


def test_coefficients_of_two_classes_are_the_posterior_mean():
    model = BayesianSVC("linear", stack=False).fit(X, Y)
    assert model.coef_.shape == (1, 3) and model.intercept_.shape == (1,)
    f = X @ model.coef_[0] + model.intercept_
    np.testing.assert_allclose(f, model.latent_mean_and_variance(X)[0], atol=1e-10)
    assert np.array_equal(f > 0, model.predict(X) == 1)


def test_coefficients_of_a_regression_are_its_prediction():
    model = BayesianSVR("linear").fit(X, T)
    np.testing.assert_allclose(X @ model.coef_[0] + model.intercept_, model.predict(X), atol=1e-10)
    np.testing.assert_allclose(model.coef_[0], [1, -2, 0], atol=0.15)


def test_coefficients_of_a_joint_machine_are_its_logits():
    model = BayesianSVC("linear").fit(*IRIS)
    logits = IRIS[0] @ model.coef_.T + model.intercept_
    assert model.coef_.shape == (3, 4)
    np.testing.assert_allclose(
        logits - logits[:, :1],
        (lambda p: p - p[:, :1])(model.members_[0].log_proba(IRIS[0])),
        atol=1e-8,
    )
    pairs = BayesianSVC("linear", multi_class="ovo", search=None).fit(*IRIS)
    assert pairs.coef_.shape == (3, 4)
    np.testing.assert_allclose(
        IRIS[0] @ pairs.coef_.T + pairs.intercept_, pairs.latent_mean_and_variance(IRIS[0])[0], atol=1e-9
    )


def test_other_kernels_have_no_coefficients():
    for model in (
        BayesianSVC(C=1.0, search=None).fit(X, Y),
        BayesianSVR(search=None).fit(X, T),
        BayesianSVR().fit(X, T),
    ):
        with pytest.raises(AttributeError, match="coef_ is that of a linear prediction"):
            model.coef_  # noqa: B018
        assert not hasattr(model, "intercept_")
    assert not hasattr(BayesianSVC("linear"), "coef_")


@pytest.mark.parametrize("kernel", ["linear", None])
def test_selectors_of_features_work_on_their_defaults(kernel):
    model = BayesianSVC(kernel, C=1.0, search=None)
    assert RFE(model, n_features_to_select=2).fit(X, Y).support_.tolist() == [True, True, False]
    assert SelectFromModel(model, max_features=2, threshold=-np.inf).fit(X, Y).get_support().tolist() == [
        True, True, False,
    ]  # fmt: skip


def test_degrees_of_kernels():
    linear = ConstantKernel() * DotProduct() + ConstantKernel()
    assert polynomial_degree(linear) == 1
    assert polynomial_degree(linear * DotProduct() ** 2) == 3
    assert polynomial_degree(linear + RBF()) == np.inf
    assert polynomial_degree(DotProduct() ** 0.5) == np.inf


def test_support_of_a_regression_is_counted():
    model = BayesianSVR(stack=False).fit(X, T)
    assert model.n_support_.shape == SVR().fit(X, T).n_support_.shape == (1,)
    assert model.n_support_[0] == len(model.support_)


def rbf(A, B):
    return np.exp(-0.5 * ((A[:, None] - B) ** 2).sum(axis=2))


@pytest.mark.parametrize("estimator", [BayesianSVC(), BayesianSVC(stack=False), BayesianSVR()])
def test_a_function_is_a_kernel(estimator):
    target = Y if isinstance(estimator, BayesianSVC) else T
    amplitude, offset = ConstantKernel(1.0, (1e-3, 1e5)), ConstantKernel(1.0, (1e-4, 1e4))
    model = clone(estimator).set_params(kernel=rbf).fit(X, target)
    other = clone(estimator).set_params(kernel=amplitude * RBF(1.0, "fixed") + offset).fit(X, target)
    # The same model but for where the search starts and ends.
    predict = "decision_function" if isinstance(estimator, BayesianSVC) else "predict"
    found, expected = getattr(model, predict)(X), getattr(other, predict)(X)
    assert np.corrcoef(found, expected)[0, 1] > 0.995
    assert model.kernel_.n_dims == 2
    np.testing.assert_allclose(model.importance_.sum(), 1)


def test_a_kernel_function_is_checked():
    with pytest.raises(ValueError, match=r"returned shape \(50,\) for 50 and 50 rows"):
        BayesianSVC(kernel=lambda A, B: np.ones(len(A)), C=1.0, search=None).fit(X, Y)
    with pytest.raises(ValueError, match="not finite"):
        CallableKernel(lambda A, B: np.full((len(A), len(B)), np.nan))(X)
    with pytest.raises(ValueError, match="kernel=<class"):
        BayesianSVC(kernel=RBF).fit(X, Y)
    np.testing.assert_allclose(CallableKernel(rbf).diag(RNG.standard_normal((150, 2))), 1.0)


def central(function, theta, h=1e-4):
    return np.array([(function(theta + h * e) - function(theta - h * e)) / (2 * h) for e in np.eye(len(theta))])


@pytest.mark.parametrize("inference", ["ep", "laplace", "variational"])
def test_evidence_at_other_hyperparameters(inference):
    for model, target in (
        (BayesianSVC(inference=inference, C=1.0, search=None), Y),
        (BayesianSVR(inference=inference, epsilon=0.1, C=2.0, search=None, nugget=0.1), T),
    ):
        model.fit(X, target)
        learnt = model.kernel_.theta
        assert model.log_marginal_likelihood() == model.log_evidence_
        np.testing.assert_allclose(model.log_marginal_likelihood(learnt), model.log_evidence_, rtol=1e-6)
        theta = learnt + 0.1
        value, gradient = model.log_marginal_likelihood(theta, eval_gradient=True)
        changed = clone(model).set_params(kernel=model.kernel_.clone_with_theta(theta))
        if isinstance(model, BayesianSVR):
            changed.set_params(nugget=False)
        np.testing.assert_allclose(changed.fit(X, target).log_evidence_, value, rtol=1e-6)
        np.testing.assert_allclose(gradient, central(model.log_marginal_likelihood, theta), rtol=2e-3, atol=2e-3)


def test_evidence_of_several_pairs():
    model = BayesianSVC(multi_class="ovo", C=1.0, search=None).fit(*IRIS)
    theta = np.concatenate([kernel.theta for kernel in model.kernel_])
    value, gradient = model.log_marginal_likelihood(theta, eval_gradient=True)
    np.testing.assert_allclose(value, model.log_evidence_, rtol=1e-6)
    shared = model.kernel_[0].theta
    again, summed = model.log_marginal_likelihood(shared, eval_gradient=True)
    np.testing.assert_allclose((again, *summed), (value, *gradient.reshape(3, -1).sum(axis=0)), rtol=1e-6, atol=1e-6)
    with pytest.raises(ValueError, match="18 free hyperparameters"):
        model.log_marginal_likelihood(shared[:2])


@pytest.mark.parametrize("multi_class", ["joint", "ovo", "ovr"])
def test_decision_function_of_pairs(multi_class):
    model = BayesianSVC(multi_class=multi_class, decision_function_shape="ovo", class_weight={0: 2.0})
    # Without a search there is no joint machine.
    model.set_params(search="lbfgs" if multi_class == "joint" else None)
    scores = model.fit(*IRIS).decision_function(IRIS[0])
    reference = SVC(decision_function_shape="ovo").fit(*IRIS).decision_function(IRIS[0])
    assert scores.shape == reference.shape == (150, 3)
    # As in SVC, a positive number is for the first class of the pair.
    sure = np.abs(reference) > 1
    sure[:, 0] &= IRIS[1] < 2
    sure[:, 1] &= IRIS[1] != 1
    sure[:, 2] &= IRIS[1] > 0
    assert np.mean((scores > 0)[sure] == (reference > 0)[sure]) > 0.97
    wide = clone(model).set_params(decision_function_shape="ovr").fit(*IRIS)
    assert wide.decision_function(IRIS[0]).shape == (150, 3)
    assert np.array_equal(wide.predict(IRIS[0]), model.predict(IRIS[0]))
    log_p = model.predict_log_proba(IRIS[0])
    if multi_class != "ovo":
        np.testing.assert_allclose(scores[:, 1], log_p[:, 0] - log_p[:, 2], atol=1e-10)
    else:
        plain = clone(model).set_params(class_weight=None).fit(*IRIS).decision_function(IRIS[0])
        np.testing.assert_allclose(scores - plain, np.log([[2.0, 2.0, 1.0]]).repeat(150, axis=0), atol=1e-9)


def test_iterations_of_every_pair():
    pairs = BayesianSVC(multi_class="ovo", max_iter=3).fit(*IRIS)
    assert pairs.n_iter_.shape == (3,) and pairs.n_iter_.dtype.kind == "i" and pairs.n_iter_.min() > 1
    assert pairs.n_iter_.sum() == len(pairs.search_path_)
    assert isinstance(BayesianSVC(search=None).fit(X, Y).n_iter_, int)
