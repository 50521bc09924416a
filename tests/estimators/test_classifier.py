"""BayesianSVC as a scikit-learn classifier: the checks, agreement of its predictions, inputs and errors."""

import logging
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from joblib import parallel_config
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import quad
from scipy.sparse import csr_array, csr_matrix
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct
from sklearn.utils.estimator_checks import parametrize_with_checks

from softmargin import BayesianSVC
from softmargin.inference import EP, INFERENCES
from softmargin.kernels import gram
from softmargin.likelihoods import Hinge
from softmargin.search import HyperPrior

from .cases import three_classes, two_classes

QUICK = sorted(set(INFERENCES) - {"hmc"})
"""Sampling is too slow for every check; it has its own tests."""
FIXED = ConstantKernel(3.0) * RBF(1.5) + ConstantKernel(0.3)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(
    [
        *(BayesianSVC(search=None, inference=name) for name in [*QUICK, "sparse"]),
        BayesianSVC(search=None, loss="squared_hinge", probability="mean"),
        BayesianSVC(max_iter=1, criterion="loo"),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks([BayesianSVC(), BayesianSVC(multi_class="ovr", max_iter=3)])
def test_scikit_learn_checks_of_the_whole_search(estimator, check):
    check(estimator)


# -- predictions ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def binary():
    X, y = two_classes()
    return BayesianSVC(max_iter=5).fit(X, y), X, y


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
    monkeypatch.setattr("softmargin.kernels._blocks.CACHE_BYTES", 1)
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
    fitted = BayesianSVC(kernel, max_iter=5).fit(X, y)
    again = BayesianSVC(kernel, max_iter=5).fit(sparse, y)
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


# -- the estimator contract --------------------------------------------------------------------------------------------


def test_clone_parameters_and_pickle(binary):
    model, X, _ = binary
    assert clone(model).get_params() == model.get_params()
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_parameters_are_kept_as_given():
    prior = HyperPrior(C=None)
    model = BayesianSVC(FIXED, hyperprior=prior, max_iter=2)
    model.fit(*two_classes())
    assert model.kernel is FIXED and model.hyperprior is prior
    assert FIXED == ConstantKernel(3.0) * RBF(1.5) + ConstantKernel(0.3)


def test_kernel_bounds_hold_and_fixed_stays_fixed():
    X, y = two_classes()
    kernel = ConstantKernel(2.0, (1.9, 2.1)) * RBF(1.5, "fixed") + ConstantKernel(0.3, (0.2, 0.4))
    model = BayesianSVC(kernel, C=0.7).fit(X, y)
    amplitude, offset = np.exp(model.kernel_.theta)
    assert 1.9 <= amplitude <= 2.1 + 1e-9 and 0.2 <= offset <= 0.4 + 1e-9
    assert model.kernel_.k1.k2.length_scale == 1.5 and model.C_ == 0.7


def test_warm_start_goes_on_from_the_last_fit():
    X, y = two_classes()
    cold = BayesianSVC(max_iter=30).fit(X, y)
    warm = BayesianSVC(max_iter=30, warm_start=True, criterion="loo").fit(X, y)
    first = len(warm.search_path_)
    assert len(warm.fit(X, y).search_path_) < first
    # Another number of inputs: nothing to start from, and no error.
    warm.fit(X[:, :2], y)
    assert cold.n_iter_ == len(cold.search_path_)


def test_the_same_seed_gives_the_same_bits():
    X, y = two_classes()
    models = [BayesianSVC(n_restarts=1, max_iter=3, random_state=3).fit(X, y) for _ in range(2)]
    assert_array_equal(models[0].predict_proba(X), models[1].predict_proba(X))


def test_restarts_in_parallel_are_the_same():
    X, y = two_classes(n=20)
    with parallel_config(backend="threading"):
        models = [BayesianSVC(n_restarts=2, max_iter=2, random_state=3, n_jobs=j).fit(X, y) for j in (1, 2)]
    assert_allclose(models[0].predict_proba(X), models[1].predict_proba(X), rtol=1e-9)
    assert {row["start"] for row in models[0].search_path_} == {0, 1, 2}


def test_a_refit_forgets_what_it_cannot_give():
    X, y = two_classes()
    model = BayesianSVC(search=None).fit(X, y)
    assert model.loo_log_loss_ > 0 and model.relevance_.shape == (3,)
    model.set_params(inference="map", kernel="linear").fit(X, y)
    assert not hasattr(model, "loo_log_loss_") and not hasattr(model, "relevance_")


def test_search_path_is_a_table_of_every_evaluation():
    X, y = two_classes()
    model = BayesianSVC(max_iter=3).fit(X, y)
    table = pd.DataFrame(model.search_path_)
    assert {"stage", "objective", "criterion", "C", "amplitude", "offset", "length_scale_0"} <= set(table.columns)
    assert list(dict.fromkeys(table["stage"])) == ["link_evidence", "loo"]
    assert np.isfinite(table[["objective", "criterion"]].to_numpy()).all()


def test_verbose_logs(caplog):
    with caplog.at_level(logging.INFO, logger="softmargin"):
        BayesianSVC(max_iter=1, verbose=1).fit(*two_classes())
    assert any("objective" in record.message for record in caplog.records)


def test_criteria_and_evidence_at_the_learnt_values(binary):
    model, X, y = binary
    assert model.criterion_value("evidence") == pytest.approx(model.log_evidence_, abs=1e-5)
    assert model.log_evidence() == model.log_evidence_
    assert model.log_evidence(method="variational") < model.log_evidence(method="ep")
    # criterion "loo" sums ln p; the attribute averages -ln p.
    assert -model.criterion_value("loo") / len(y) == pytest.approx(model.loo_log_loss_, abs=1e-6)
    K = gram(model.kernel_, X)
    naive = EP().infer(K, 2.0 * y - 1, Hinge(model.C_)).log_evidence
    assert naive == pytest.approx(model.log_evidence_, abs=1e-5)


# -- edges and errors -------------------------------------------------------------------------------------------------


def test_two_rows_are_enough():
    model = BayesianSVC().fit([[0.0], [1.0]], ["a", "b"])
    assert_array_equal(model.predict([[-0.5], [1.5]]), ["a", "b"])


@pytest.mark.parametrize("kwargs", [{}, {"search": None}], ids=["tuned", "fixed"])
def test_opposite_labels_at_one_place_and_constant_inputs(kwargs):
    X = np.repeat([[0.0, 5.0], [1.0, 5.0]], 4, axis=0)
    y = np.array([0, 0, 0, 1, 1, 1, 1, 0])
    p = BayesianSVC(**kwargs).fit(X, y).predict_proba(X)[:, 1]
    assert np.all(np.isfinite(p)) and p[0] < p[-1]


def test_only_constant_inputs_give_the_base_rate_back():
    y = np.array([0] * 9 + [1] * 3)
    p = BayesianSVC().fit(np.ones((12, 2)), y).predict_proba(np.ones((1, 2)))[0, 1]
    assert 0.1 < p < 0.45


X_BAD, Y_BAD = two_classes(n=12)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"kernel": "gauss"}, "kernel='gauss'.*'rbf'.*'linear'.*'precomputed'"),
        ({"C": 0.0}, r"C=0.0 must be a finite number > 0"),
        ({"C": -1}, r"C=-1 must be"),
        ({"C": np.inf}, r"C=inf must be"),
        ({"loss": "log"}, "loss='log'.*'hinge', 'squared_hinge'"),
        ({"inference": "vb"}, "inference='vb'.*'ep'.*'variational'"),
        ({"criterion": "cv"}, "criterion='cv'.*'auto'.*'loo'"),
        ({"search": "grid"}, "search='grid'.*None.*'lbfgs'"),
        ({"probability": "platt"}, "probability='platt'.*'average', 'mean', 'map'"),
        ({"hyperprior": "weak"}, "hyperprior='weak'.*'auto', None"),
        ({"multi_class": "crammer"}, "multi_class='crammer'.*'ovo', 'ovr'"),
        ({"max_iter": 0}, "max_iter=0 must be an integer >= 1"),
        ({"tol": 0.0}, "tol=0.0 must be"),
        ({"n_restarts": -1}, "n_restarts=-1 must be"),
        ({"validation_fraction": 1.0}, "validation_fraction=1.0 must be a number between 0 and 1"),
        ({"criterion": "gacv"}, "criterion='gacv'.*search='random_walk'"),
    ],
)
def test_parameter_errors_name_the_value_and_the_choices(parameters, message):
    with pytest.raises(ValueError, match=message):
        BayesianSVC(**parameters).fit(X_BAD, Y_BAD)


@pytest.mark.parametrize(
    ("X", "y", "weight", "message"),
    [
        (X_BAD[:1], Y_BAD[:1], None, "at least 2 classes.*got 1"),
        (X_BAD, np.zeros(12), None, "at least 2 classes"),
        (np.where(np.arange(36).reshape(12, 3) == 5, np.nan, X_BAD), Y_BAD, None, "NaN"),
        (np.where(np.arange(36).reshape(12, 3) == 5, np.inf, X_BAD), Y_BAD, None, "infinity"),
        (X_BAD, Y_BAD[:-1], None, "inconsistent numbers of samples"),
        (X_BAD, np.linspace(0, 1, 12), None, "Unknown label type"),
        (X_BAD, Y_BAD, -np.ones(12), "sample_weight must not be negative"),
        (X_BAD, Y_BAD, np.zeros(12), "zero"),
        (X_BAD, Y_BAD, (Y_BAD == 0).astype(float), "removes every row of a class"),
    ],
    ids=["n=1", "one class", "nan", "inf", "lengths", "continuous", "negative", "zero", "class removed"],
)
def test_data_errors(X, y, weight, message):
    with pytest.raises(ValueError, match=message):
        BayesianSVC(search=None).fit(X, y, sample_weight=weight)


@pytest.mark.parametrize(
    ("K", "message"),
    [
        (np.ones((12, 3)), "square"),
        (np.triu(np.ones((12, 12))), "symmetric"),
        (np.eye(12) - 2 * np.outer(np.ones(12), np.ones(12)) / 12 * 1.5, "eigenvalue is -2"),
        (csr_matrix(np.eye(12)), "dense"),
    ],
    ids=["shape", "asymmetric", "indefinite", "sparse"],
)
def test_precomputed_errors(K, message):
    with pytest.raises(ValueError, match=message):
        BayesianSVC("precomputed", search=None).fit(K, Y_BAD)


def test_prediction_errors(binary):
    model, X, _ = binary
    with pytest.raises(ValueError, match="features"):
        model.predict(X[:, :2])
    with pytest.raises(NotFittedError):
        BayesianSVC().predict_proba(X)
    precomputed = BayesianSVC("precomputed", search=None, probability="mean").fit(np.eye(12), Y_BAD)
    with pytest.raises(ValueError, match="features"):
        precomputed.predict(np.eye(5))


def test_an_inference_that_does_not_converge_is_not_silent(monkeypatch):
    monkeypatch.setattr(EP.__init__, "__defaults__", (1e-30, 2))
    with pytest.warns(ConvergenceWarning, match="EP did not converge"):
        model = BayesianSVC(search=None).fit(*two_classes())
    assert model.inference_ == "variational"
