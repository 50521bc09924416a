"""Predictions of BayesianSVC: their agreement with each other and with integrals, labels and containers."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import quad
from scipy.sparse import csr_array, csr_matrix
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct

from softmargin import BayesianSVC
from softmargin.kernels import gram

from .cases import three_classes, two_classes

FIXED = ConstantKernel(3.0) * RBF(1.5) + ConstantKernel(0.3)


@pytest.fixture(scope="module")
def binary():
    X, y = two_classes()
    return BayesianSVC(max_iter=5, stack=False).fit(X, y), X, y


@pytest.fixture(scope="module")
def multi():
    X, y = three_classes()
    return BayesianSVC(search=None).fit(X, y), X, y


@pytest.mark.parametrize("probability", ["average", "mean", "map"])
@pytest.mark.parametrize("problem", ["binary", "multi", "rest"])
def test_predictions_agree(probability, problem):
    X, y = two_classes() if problem == "binary" else three_classes()
    how = "ovr" if problem == "rest" else "ovo"
    model = BayesianSVC(search=None, probability=probability, multi_class=how).fit(X, y)
    new = np.random.default_rng(1).uniform(-4, 4, (200, X.shape[1]))
    p, log_p, scores = model.predict_proba(new), model.predict_log_proba(new), model.decision_function(new)
    assert_allclose(p.sum(axis=1), 1, rtol=1e-12)
    assert_allclose(np.exp(log_p), p, rtol=1e-12)
    assert_array_equal(model.predict(new), model.classes_[p.argmax(axis=1)])
    one = p[:, 1] if problem == "binary" else p
    assert_allclose(scores, np.log(one / (1 - one)), rtol=1e-6, atol=1e-9)


def test_averaged_probability_is_the_integral(binary):
    # Sollich 2002, eq. 33, with kinks of the class probability at +-1.
    model, _, _ = binary
    new = np.random.default_rng(1).uniform(-4, 4, (30, 3))
    mean, variance = model.latent_mean_and_variance(new)
    link = model.likelihood_.normalised()
    for p, m, s in zip(model.predict_proba(new)[:, 1], mean, np.sqrt(variance)):

        def integrand(f, m=m, s=s):
            return link.prob(1.0, np.array([f]))[0] * np.exp(-0.5 * ((f - m) / s) ** 2) / (s * np.sqrt(2 * np.pi))

        points = [k for k in (-1.0, 1.0) if abs(k - m) < 9 * s]
        exact = quad(integrand, m - 9 * s, m + 9 * s, points=points, epsabs=1e-11, limit=400)[0]
        assert p == pytest.approx(exact, abs=1e-6)


@pytest.mark.parametrize("C", [0.1, 2.0, 30.0])
@pytest.mark.parametrize("amplitude", [0.01, 1.0, 1e3])
def test_averaged_probability_is_the_integral_everywhere(C, amplitude):
    X, y = two_classes(n=20)
    model = BayesianSVC(ConstantKernel(amplitude) * RBF(1.0) + ConstantKernel(0.1), C=C, search=None).fit(X, y)
    new = np.random.default_rng(1).uniform(-3, 3, (10, 3))
    mean, variance = model.latent_mean_and_variance(new)
    # A dense trapezoid, a million points over nine standard deviations.
    u = np.linspace(-9, 9, 1_000_001)
    density = np.exp(-0.5 * u**2) / np.sqrt(2 * np.pi)
    link = model.likelihood_.normalised()
    for p, m, s in zip(model.predict_proba(new)[:, 1], mean, np.sqrt(variance)):
        assert p == pytest.approx(np.trapezoid(link.prob(1.0, m + s * u) * density, u), abs=1e-6)


def test_mean_and_map_probabilities_are_the_link_at_a_point(binary):
    model, X, y = binary
    link, new = model.likelihood_.normalised(), X[:5] + 0.1
    at_mean = clone(model).set_params(probability="mean").fit(X, y)
    assert_allclose(at_mean.predict_proba(new)[:, 1], link.prob(1.0, model.latent_mean_and_variance(new)[0]), rtol=1e-9)
    at_map = clone(model).set_params(probability="map").fit(X, y)
    f = gram(model.kernel_, new, model.support_vectors_) @ model.dual_coef_[0]
    assert_allclose(at_map.predict_proba(new)[:, 1], link.prob(1.0, f), rtol=1e-9)


def test_prediction_in_blocks(binary, monkeypatch):
    model, _, _ = binary
    new = np.random.default_rng(1).uniform(-3, 3, (50, 3))
    whole = model.predict_proba(new)
    monkeypatch.setattr("softmargin.kernels.evaluation.blocks.CACHE_BYTES", 1)
    assert_allclose(model.predict_proba(new), whole, rtol=1e-12)
    assert_allclose(np.vstack([model.predict_proba(new[[i]]) for i in range(50)]), whole, rtol=1e-9)


def test_latent_samples_have_the_latent_moments(binary):
    model, _, _ = binary
    new = np.random.default_rng(1).uniform(-3, 3, (4, 3))
    mean, variance = model.latent_mean_and_variance(new)
    draws = model.sample_latent(new, 20_000, random_state=0)
    assert draws.shape == (4, 20_000)
    # Four standard errors of a mean and of a variance over 20,000 draws.
    assert_allclose(draws.mean(axis=1), mean, atol=4 * np.sqrt(variance.max() / 20_000))
    assert_allclose(draws.var(axis=1), variance, rtol=4 * np.sqrt(2 / 20_000))
    assert_array_equal(draws, model.sample_latent(new, 20_000, random_state=0))


def test_latent_shapes_with_three_classes(multi):
    model, X, _ = multi
    mean, variance = model.latent_mean_and_variance(X[:7])
    assert mean.shape == variance.shape == (7, 3)
    assert model.sample_latent(X[:7], 5).shape == (3, 7, 5)


def test_support_vectors_are_the_svm(binary):
    model, X, y = binary
    K = gram(model.kernel_, X)
    f = K[:, model.support_] @ model.dual_coef_[0]
    assert_allclose(np.where(y == 1, f, -f), model.margins_, atol=1e-6)
    assert np.all(np.abs(model.dual_coef_) <= model.C_ * (1 + 1e-9))
    assert model.n_support_.sum() == len(model.support_)
    assert_array_equal(model.support_vectors_, X[model.support_])
    # A row outside the margin supports nothing.
    assert not set(np.flatnonzero(model.margins_ > 1 + 1e-3)) & set(model.support_)


# -- labels and containers -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "names",
    [
        np.array(["no", "yes"]),
        np.array([False, True]),
        np.array([-1.0, 1.0]),
        np.array(["b", "a"], dtype=object),
        [7, 3],
    ],
    ids=["str", "bool", "float", "object", "int"],
)
def test_labels_of_any_kind(names):
    X, y = two_classes()
    plain = BayesianSVC(search=None).fit(X, y)
    named = BayesianSVC(search=None).fit(X, np.asarray(names)[y])
    assert_array_equal(named.predict(X), np.asarray(names)[plain.predict(X)])
    assert_array_equal(named.classes_, np.sort(names))
    column = list(named.classes_).index(names[1])
    assert_allclose(named.predict_proba(X)[:, column], plain.predict_proba(X)[:, 1], rtol=1e-9)


def test_feature_names_of_pandas_and_polars():
    X, y = two_classes()
    names = ["age", "height", "weight"]
    for frame in (pd.DataFrame(X, columns=names), pl.DataFrame(X, schema=names)):
        model = BayesianSVC(search=None).fit(frame, y)
        assert_array_equal(model.feature_names_in_, names)
        assert_allclose(model.predict_proba(frame), BayesianSVC(search=None).fit(X, y).predict_proba(X))
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(pd.DataFrame(X, columns=names[::-1]))


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
@pytest.mark.parametrize("container", [csr_matrix, csr_array])
def test_sparse_equals_dense(kernel, container):
    X, y = two_classes(d=6)
    X = np.where(np.abs(X) > 0.8, X, 0.0)
    sparse = container(X)
    # A stored zero is a zero.
    sparse.data[0] = 0.0
    X = sparse.toarray()
    # The stack warps the columns of dense rows only.
    fitted = BayesianSVC(kernel, max_iter=5, stack=False).fit(X, y)
    again = BayesianSVC(kernel, max_iter=5, stack=False).fit(sparse, y)
    assert_allclose(again.predict_proba(container(X[:9])), fitted.predict_proba(X[:9]), atol=1e-6)
    assert again.C_ == pytest.approx(fitted.C_, rel=1e-5)


@pytest.mark.parametrize("probability", ["mean", "map"])
def test_precomputed_equals_the_kernel(probability):
    X, y = two_classes()
    new = X[:7] + 0.2
    by_object = BayesianSVC(FIXED, search=None, probability=probability).fit(X, y)
    by_matrix = BayesianSVC("precomputed", search=None, probability=probability).fit(gram(FIXED, X), y)
    assert_allclose(by_matrix.predict_proba(gram(FIXED, new, X)), by_object.predict_proba(new), rtol=1e-6)
    assert_allclose(by_matrix.log_evidence_, by_object.log_evidence_)
    assert by_matrix.loo_log_loss_ == pytest.approx(by_object.loo_log_loss_)


def test_precomputed_learns_C_and_needs_no_diagonal_for_means():
    X, y = two_classes()
    model = BayesianSVC("precomputed", probability="mean").fit(gram(FIXED, X), y)
    assert model.C_ != 1 and model.search_path_
    averaged = BayesianSVC("precomputed", search=None).fit(gram(FIXED, X), y)
    with pytest.raises(ValueError, match=r"k\(x, x\).*probability='mean'"):
        averaged.predict_proba(gram(FIXED, X[:3], X))


def test_precomputed_with_three_classes():
    X, y = three_classes()
    kernel = ConstantKernel(3.0) * RBF(1.0) + ConstantKernel(0.3)
    model = BayesianSVC("precomputed", search=None, probability="mean").fit(gram(kernel, X), y)
    assert model.score(gram(kernel, X), y) > 0.7


def test_precomputed_row_of_zeros_carries_no_information():
    # A linear kernel at the origin: f = 0 there, whatever is learnt.
    X, y = two_classes()
    X[3] = 0
    model = BayesianSVC("precomputed", search=None, probability="mean").fit(X @ X.T, y)
    assert model.predict_proba(X[[3]] @ X.T)[0, 1] == pytest.approx(0.5)
    assert BayesianSVC(DotProduct(0.0, "fixed"), search=None).fit(X, y).predict_proba(X[[3]])[0, 1] == pytest.approx(
        0.5
    )
