"""What must not matter does not: order, names, units, constant columns; and what must is exact: weights are copies."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from softmargin import BayesianSVC

from .cases import three_classes, two_classes

X, Y = two_classes(n=60, d=3)
NEW = np.random.default_rng(9).standard_normal((30, 3))


@pytest.fixture(scope="module")
def fitted():
    return BayesianSVC().fit(X, Y)


@pytest.fixture(scope="module")
def expected(fitted):
    return fitted.predict_proba(NEW)


def test_order_of_the_rows(expected):
    order = np.random.default_rng(0).permutation(len(X))
    assert_allclose(BayesianSVC().fit(X[order], Y[order]).predict_proba(NEW), expected, atol=1e-12)


def test_swapping_the_classes(expected):
    assert_allclose(BayesianSVC().fit(X, 1 - Y).predict_proba(NEW), expected[:, ::-1], atol=1e-6)


def test_renaming_the_classes(expected):
    names = np.array(["zebra", "ant"])
    assert_allclose(BayesianSVC().fit(X, names[Y]).predict_proba(NEW), expected[:, ::-1], atol=1e-6)


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_unit_of_a_column(expected, scale):
    unit = np.array([1.0, scale, 1.0])
    assert_allclose(BayesianSVC().fit(X * unit, Y).predict_proba(NEW * unit), expected, atol=1e-6)


def test_units_of_all_columns(expected):
    unit = np.array([1e6, 1e-6, 37.0])
    assert_allclose(BayesianSVC().fit(X * unit, Y).predict_proba(NEW * unit), expected, atol=1e-6)


@pytest.mark.parametrize("shift", [-3.0, 1e4])
def test_origin_of_a_column(expected, shift):
    origin = np.array([0.0, shift, 0.0])
    assert_allclose(BayesianSVC().fit(X + origin, Y).predict_proba(NEW + origin), expected, atol=1e-6)


@pytest.mark.parametrize("constant", [0.0, 1.0, 0.1, -1e6])
def test_a_constant_column_changes_nothing(expected, constant):
    def widen(A):
        return np.insert(A, 1, constant, axis=1)

    model = BayesianSVC().fit(widen(X), Y)
    assert_allclose(model.predict_proba(widen(NEW)), expected, atol=1e-6)
    assert model.relevance_[1] == 0


def test_order_of_the_columns(expected):
    order = [2, 0, 1]
    assert_allclose(BayesianSVC().fit(X[:, order], Y).predict_proba(NEW[:, order]), expected, atol=1e-6)


# -- weights -----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def copies():
    return np.random.default_rng(2).integers(0, 4, len(X))


@pytest.mark.parametrize(
    "kwargs", [{}, {"search": None}, {"inference": "variational", "criterion": "evidence"}], ids=str
)
def test_weights_are_copies(copies, kwargs):
    repeated = BayesianSVC(**kwargs).fit(np.repeat(X, copies, axis=0), np.repeat(Y, copies))
    weighted = BayesianSVC(**kwargs).fit(X, Y, sample_weight=copies)
    assert_allclose(weighted.predict_proba(NEW), repeated.predict_proba(NEW), atol=1e-12)
    assert weighted.log_evidence_ == pytest.approx(repeated.log_evidence_)
    assert weighted.loo_log_loss_ == pytest.approx(repeated.loo_log_loss_)
    assert weighted.loo_error_ == pytest.approx(repeated.loo_error_)
    assert weighted.C_ == pytest.approx(repeated.C_)


def test_weights_are_copies_with_three_classes():
    X, y = three_classes(45)
    copies = np.random.default_rng(2).integers(1, 4, len(X))
    repeated = BayesianSVC(search=None).fit(np.repeat(X, copies, axis=0), np.repeat(y, copies))
    weighted = BayesianSVC(search=None).fit(X, y, sample_weight=copies)
    assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-12)
    assert weighted.loo_log_loss_ == pytest.approx(repeated.loo_log_loss_)


def test_copies_do_not_fool_leave_one_out(fitted):
    tripled = BayesianSVC().fit(np.repeat(X, 3, axis=0), np.repeat(Y, 3))
    # Left out with all its copies, a row is as hard to predict as before or harder.
    assert tripled.loo_log_loss_ > 0.5 * fitted.loo_log_loss_


def test_coefficients_of_copies_share_by_weight():
    both, y = np.vstack([X, X[:1]]), np.append(Y, Y[0])
    weight = np.ones(len(y))
    weight[0], weight[-1] = 3.0, 1.0
    model = BayesianSVC(C=0.5, search=None).fit(both, y, sample_weight=weight)
    full = np.zeros(len(y))
    full[model.support_] = model.dual_coef_[0]
    assert full[0] == pytest.approx(3 * full[-1])
    single = BayesianSVC(C=0.5, search=None).fit(X, Y, sample_weight=np.append(4.0, np.ones(len(X) - 1)))
    at = np.zeros(len(Y))
    at[single.support_] = single.dual_coef_[0]
    assert full[0] + full[-1] == pytest.approx(at[0])


@pytest.mark.parametrize("class_weight", [None, "balanced", {0: 1.0, 1: 3.0}], ids=str)
def test_weights_are_copies_in_sparse_inference(copies, class_weight):
    sparse = {"inference": "sparse", "n_inducing": 20, "search": None, "class_weight": class_weight, "random_state": 0}
    repeated = BayesianSVC(**sparse).fit(np.repeat(X, copies, axis=0), np.repeat(Y, copies))
    weighted = BayesianSVC(**sparse).fit(X, Y, sample_weight=copies)
    assert_allclose(weighted.predict_proba(NEW), repeated.predict_proba(NEW), atol=1e-9)
