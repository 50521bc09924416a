"""Several classes: one model of pairs or of one against the rest, and its leave-one-out."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_iris

from softmargin import BayesianSVC

from .cases import log_loss, three_classes


def test_leave_one_out_is_close_to_refitting():
    X, y = three_classes(36)
    model = BayesianSVC(search=None).fit(X, y)
    left_out = []
    for i in range(len(y)):
        keep = np.arange(len(y)) != i
        rest = BayesianSVC(model.kernel_[0], search=None).fit(X[keep], y[keep])
        machine = replace(rest._fit.machine, combination=model._fit.machine.combination)
        rest._fit = replace(rest._fit, machine=machine)
        left_out.append(-rest.predict_log_proba(X[[i]])[0, y[i]])
    assert model.loo_log_loss_ == pytest.approx(np.mean(left_out), rel=0.05)


def test_a_row_counts_once_in_leave_one_out_though_pairs_overlap():
    X, y = three_classes(36)
    model = BayesianSVC(search=None).fit(X, y)
    left_out = model._fit.machine.left_out
    assert left_out.log_proba.shape == (36, 3) and left_out.weight.sum() == 36
    assert_allclose(np.bincount(left_out.truth), np.bincount(y))
    expected = -left_out.log_proba[np.arange(36), left_out.truth].mean()
    assert model.loo_log_loss_ == pytest.approx(expected)


@pytest.mark.parametrize("how", ["ovo", "ovr"])
def test_iris(how):
    X, y = load_iris(return_X_y=True)
    train = np.arange(len(y)) % 2 == 0
    model = BayesianSVC(multi_class=how, max_iter=15).fit(X[train], y[train])
    p = model.predict_proba(X[~train])
    assert np.mean(model.predict(X[~train]) == y[~train]) > 0.92
    assert log_loss(p, y[~train]) < 0.2
    assert model.relevance_.shape == (4,) and model.pair_relevance_.shape == (3, 4)
    assert len(model.kernel_) == len(model.posterior_) == len(model.C_) == 3
    assert {row["pair"] for row in model.search_path_} == set(model._fit.machine.pairs)


def test_names_of_the_classes_do_not_matter():
    X, y = three_classes()
    order = np.array([2, 0, 1])
    one = BayesianSVC(search=None).fit(X, y).predict_proba(X)
    other = BayesianSVC(search=None).fit(X, order[y]).predict_proba(X)
    assert_allclose(other[:, order], one, atol=1e-6)


def test_order_of_the_rows_does_not_matter():
    X, y = three_classes()
    order = np.random.default_rng(0).permutation(len(y))
    one, other = (BayesianSVC(search=None).fit(X[o], y[o]) for o in (np.arange(len(y)), order))
    assert_allclose(other.predict_proba(X), one.predict_proba(X), atol=1e-9)


def test_a_class_of_one_row():
    X, y = three_classes(31)
    y = np.where(np.arange(31) == 30, 3, y)
    model = BayesianSVC(max_iter=2).fit(X, y)
    assert np.all(np.isfinite(model.predict_proba(X))) and model.predict_proba(X).shape == (31, 4)
