"""BayesianSVC as a scikit-learn classifier: the checks, the contract of an estimator, edges and errors."""

import logging
import pickle

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.utils.estimator_checks import parametrize_with_checks

from softmargin import BayesianSVC
from softmargin.inference import EP, INFERENCES, Laplace
from softmargin.kernels import gram
from softmargin.likelihoods import Hinge
from softmargin.tuning import HyperPrior

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


@pytest.fixture(scope="module")
def binary():
    X, y = two_classes()
    return BayesianSVC(max_iter=5, stack=False).fit(X, y), X, y


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
    with pytest.warns(ConvergenceWarning, match=r"k1__k1__constant_value .* its upper bound"):
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
    plain = Laplace(regularised=False)
    unsmoothed = plain.infer(K, 2.0 * y - 1, Hinge(model.C_)).log_evidence
    assert model.log_evidence(method=plain) == pytest.approx(unsmoothed, abs=1e-8)


def test_evidence_per_example():
    X, y = two_classes(20)
    weight = np.repeat([1.0, 2.0], 10)
    model = BayesianSVC(C=1.0, search=None).fit(X, y, weight)
    assert model.log_evidence(per_example=True) == model.log_evidence_ / 30
    for settings in ({"kind": "joint"}, {"method": "laplace"}):
        each, total = (model.log_evidence(**settings, random_state=0, per_example=flag) for flag in (True, False))
        assert each == pytest.approx(total / 30)
    pairs = BayesianSVC(C=1.0, search=None, multi_class="ovo").fit(*three_classes())
    # 60 rows, each in two of the three pairs.
    assert pairs.log_evidence(per_example=True) == pytest.approx(pairs.log_evidence_ / 120)


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
        ({"loss": "log"}, "loss='log'.*'hinge', 'least_squares', 'link', 'logistic', 'probit', .*'squared_link'"),
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
        (np.where(np.arange(36).reshape(12, 3) % 3 == 1, np.nan, X_BAD), Y_BAD, None, "column 1 has no values"),
        (np.where(np.arange(36).reshape(12, 3) == 5, np.inf, X_BAD), Y_BAD, None, "infinity"),
        (X_BAD, Y_BAD[:-1], None, "inconsistent numbers of samples"),
        (X_BAD, np.linspace(0, 1, 12), None, "Unknown label type"),
        (X_BAD, Y_BAD, -np.ones(12), "sample_weight must not be negative"),
        (X_BAD, Y_BAD, np.zeros(12), "zero"),
        (X_BAD, Y_BAD, (Y_BAD == 0).astype(float), "removes every row of a class"),
    ],
    ids=["n=1", "one class", "only gaps", "inf", "lengths", "continuous", "negative", "zero", "class removed"],
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
    _, _, *others = EP.__init__.__defaults__
    monkeypatch.setattr(EP.__init__, "__defaults__", (1e-30, 2, *others))
    with pytest.warns(ConvergenceWarning, match="EP did not converge"):
        model = BayesianSVC(search=None).fit(*two_classes())
    assert model.inference_ == "variational"
