"""Class weights are a change of the classes' prior probabilities: they multiply the odds and never touch the fit."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import roc_auc_score

from softmargin import BayesianSVC
from softmargin.persistence import load, save

from .cases import three_classes, two_classes

X, Y = two_classes(60)
NEW = np.random.default_rng(1).standard_normal((30, 3))
WEIGHT = {0: 0.5, 1: 3.0}
SPARSE = {"inference": "sparse", "n_inducing": 20, "random_state": 0}
WAYS = {"dense": {}, "sparse": SPARSE, "map": {"inference": "map", "probability": "map"}}


@pytest.fixture
def copies():
    return np.random.default_rng(2).integers(1, 4, len(Y)).astype(float)


def fit(rows=X, labels=Y, sample_weight=None, **settings):
    return BayesianSVC(**{"search": None, **settings}).fit(rows, labels, sample_weight=sample_weight)


@pytest.mark.parametrize("settings", WAYS.values(), ids=WAYS)
def test_the_log_odds_of_two_classes_move_by_the_ratio(settings):
    plain, weighted = fit(**settings), fit(class_weight=WEIGHT, **settings)
    assert_allclose(weighted.decision_function(NEW), plain.decision_function(NEW) + np.log(6.0), rtol=1e-12)
    odds = plain.predict_proba(NEW) * [0.5, 3.0]
    assert_allclose(weighted.predict_proba(NEW), odds / odds.sum(axis=1, keepdims=True), rtol=1e-10)
    assert_array_equal(weighted.predict(NEW), weighted.classes_[odds.argmax(axis=1)])


@pytest.mark.parametrize("settings", [{"search": "lbfgs", "max_iter": 2}, SPARSE], ids=["dense", "sparse"])
def test_the_fit_and_the_ranking_are_untouched(settings):
    plain, weighted = fit(**settings), fit(class_weight=WEIGHT, **settings)
    assert weighted.kernel_ == plain.kernel_ and weighted.C_ == plain.C_
    assert weighted.log_evidence_ == plain.log_evidence_ and weighted.search_path_ == plain.search_path_
    assert weighted.loo_log_loss_ == plain.loo_log_loss_
    for one, other in zip(weighted.latent_mean_and_variance(NEW), plain.latent_mean_and_variance(NEW)):
        assert_array_equal(one, other)
    test, truth = two_classes(200, seed=5)
    ranking = [roc_auc_score(truth, model.decision_function(test)) for model in (plain, weighted)]
    assert ranking[0] == ranking[1] > 0.6
    # More weight on class 1: more rows are called so, and none fewer.
    assert np.all(weighted.predict(test) >= plain.predict(test)) and np.any(
        weighted.predict(test) > plain.predict(test)
    )


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_probabilities_of_several_classes_are_reweighted(multi_class):
    rows, labels = three_classes()
    factors = np.array([1.0, 4.0, 0.25])
    plain = fit(rows, labels, multi_class=multi_class)
    weighted = fit(rows, labels, multi_class=multi_class, class_weight=dict(enumerate(factors)))
    odds = plain.predict_proba(rows) * factors
    assert_allclose(weighted.predict_proba(rows), odds / odds.sum(axis=1, keepdims=True), rtol=1e-10)
    p = weighted.predict_proba(rows)
    assert_allclose(weighted.decision_function(rows), np.log(p / (1 - p)), rtol=1e-6, atol=1e-9)
    assert_array_equal(weighted.predict(rows), p.argmax(axis=1))


@pytest.mark.parametrize("settings", [{}, SPARSE], ids=["dense", "sparse"])
def test_balanced_means_equal_prior_probabilities(settings, copies):
    """A class of share s gets the factor 1/(2 s): where rows say nothing the classes are equally probable."""
    plain = fit(sample_weight=copies, **settings)
    balanced = fit(sample_weight=copies, class_weight="balanced", **settings)
    counts = np.bincount(Y, weights=copies)
    shift = np.log(counts[0] / counts[1])
    assert abs(shift) > 0.05
    assert_allclose(balanced.decision_function(NEW), plain.decision_function(NEW) + shift, rtol=1e-10, atol=1e-10)
    repeated = [np.repeat(values, copies.astype(int), axis=0) for values in (X, Y)]
    assert_allclose(
        fit(*repeated, class_weight="balanced", **settings).predict_proba(NEW), balanced.predict_proba(NEW), atol=1e-9
    )


def test_labels_of_any_kind_can_be_weighted():
    names = np.array(["no", "yes"])[Y]
    plain, weighted = fit(X, names), fit(X, names, class_weight={"yes": 2.0})
    # A class that is not named keeps its odds.
    assert_allclose(weighted.decision_function(NEW), plain.decision_function(NEW) + np.log(2.0), rtol=1e-12)


def test_a_stream_keeps_its_class_weights():
    rows, labels = two_classes(120)
    plain, weighted = (BayesianSVC(**SPARSE, search=None, class_weight=w) for w in (None, WEIGHT))
    for part in (slice(0, 60), slice(60, 120)):
        plain.partial_fit(rows[part], labels[part])
        weighted.partial_fit(rows[part], labels[part])
        assert_allclose(weighted.decision_function(NEW), plain.decision_function(NEW) + np.log(6.0), rtol=1e-12)


def test_a_model_file_keeps_the_class_weights(tmp_path):
    pytest.importorskip("skops")
    model = fit(class_weight=WEIGHT)
    again = load(save(model, tmp_path / "model.skops"))
    assert_array_equal(again.predict_proba(NEW), model.predict_proba(NEW))


@pytest.mark.parametrize("bad", [0.0, -1.0, np.nan, np.inf])
@pytest.mark.parametrize("settings", [{}, SPARSE], ids=["dense", "sparse"])
def test_factors_must_be_positive_and_finite(bad, settings):
    with pytest.raises(ValueError, match="must give every class a positive finite factor; class"):
        fit(class_weight={0: bad, 1: 1.0}, **settings)


@pytest.mark.parametrize("settings", [{}, SPARSE], ids=["dense", "sparse"])
def test_a_class_without_sample_weight_is_refused(settings):
    with pytest.raises(ValueError, match="sample_weight removes every row of a class"):
        fit(sample_weight=(Y == 1).astype(float), **settings)
