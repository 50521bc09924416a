"""Early stopping on held-out rows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from softmargin import BayesianSVC, BayesianSVR
from softmargin.datasets import make_sinc
from softmargin.kernels import gram
from softmargin.policy import POLICY
from softmargin.rows import merge_rows
from softmargin.tuning import hold_out

from ..estimators.cases import log_loss, three_classes, two_classes

X, Y = two_classes(n=60)


def flat(**kwargs):
    """The criterion that overfits: the evidence without a hyperprior."""
    return BayesianSVC(criterion="evidence", hyperprior=None, random_state=0, **kwargs)


def test_hold_out_is_stratified():
    y = np.repeat([-1.0, 1.0], [40, 20])
    rows = merge_rows(np.arange(60.0)[:, None], y, None)
    held = hold_out(rows, 0.25, seed=0, stratify=True, precomputed=False)
    assert np.sum(held.y > 0) == 5 and np.sum(held.y < 0) == 10
    assert len(held.train.y) == 45
    both = np.concatenate([held.X, held.train.X])
    assert_array_equal(np.sort(both[:, 0]), np.arange(60))


def test_every_class_keeps_a_row():
    rows = merge_rows(np.arange(6.0)[:, None], np.array([-1.0, 1, 1, 1, 1, 1]), None)
    held = hold_out(rows, 0.9, seed=0, stratify=True, precomputed=False)
    assert set(held.train.y) == {-1, 1}
    with pytest.raises(ValueError, match=r"validation_fraction=0.5 leaves no row"):
        hold_out(merge_rows(np.eye(2), np.array([-1.0, 1]), None), 0.5, seed=0, stratify=True, precomputed=False)


def test_the_search_ends_at_the_lowest_held_out_log_loss():
    model = flat(validation_fraction=0.3).fit(X, Y)
    losses = [row["validation_log_loss"] for row in model.search_path_]
    best = model.search_path_[int(np.argmin(losses))]
    assert model.C_ == pytest.approx(best["C"])
    assert np.exp(model.kernel_.theta[0]) == pytest.approx(best["amplitude"])
    assert len(losses) <= np.argmin(losses) + POLICY.search.patience + 1


def test_the_posterior_uses_all_rows():
    model = flat(validation_fraction=0.3).fit(X, Y)
    fixed = BayesianSVC(model.kernel_, C=model.C_, search=None).fit(X, Y)
    assert_allclose(model.predict_proba(X), fixed.predict_proba(X), atol=1e-6)
    assert len(model.posterior_.beta) == len(Y)


def test_held_out_log_loss_is_that_of_the_fit_without_the_rows():
    model = BayesianSVC(criterion="evidence", max_iter=1, validation_fraction=0.3, random_state=0).fit(X, Y)
    first = model.search_path_[0]
    rows = merge_rows(X, 2.0 * Y - 1, None)
    seed = int(np.random.RandomState(0).randint(2**31 - 1))
    held = hold_out(rows, 0.3, seed, stratify=True, precomputed=False)
    fresh = BayesianSVC(search=None)
    fresh.kernel = BayesianSVC(search=None).fit(X, Y).kernel_
    p = fresh.fit(held.train.X, held.train.y).predict_proba(held.X)
    assert first["validation_log_loss"] == pytest.approx(log_loss(p, (held.y > 0).astype(int)), abs=1e-5)


def test_precomputed_can_be_validated():
    kernel = ConstantKernel(3.0) * RBF(1.5) + ConstantKernel(0.3)
    by_matrix = BayesianSVC(
        "precomputed", criterion="evidence", validation_fraction=0.3, probability="mean", random_state=0
    )
    model = by_matrix.fit(gram(kernel, X), Y)
    assert np.isfinite([row["validation_log_loss"] for row in model.search_path_]).all()


def test_three_classes_and_restarts_can_be_validated():
    model = BayesianSVC(validation_fraction=0.3, max_iter=2, random_state=0).fit(*three_classes())
    assert all("validation_log_loss" in row for row in model.search_path_)
    model = flat(validation_fraction=0.3, n_restarts=1, max_iter=4).fit(X, Y)
    best = min(model.search_path_, key=lambda row: row["validation_log_loss"])
    assert model.C_ == pytest.approx(best["C"])


def test_the_same_seed_holds_the_same_rows_out():
    one, other = (
        flat(validation_fraction=0.3, max_iter=3).fit(X[o], Y[o]) for o in (slice(None), slice(None, None, -1))
    )
    assert one.C_ == other.C_


def test_regression_can_be_validated():
    X, y = make_sinc(60, random_state=0)
    model = BayesianSVR(hyperprior=None, validation_fraction=0.3, random_state=0).fit(X, 100 * y)
    losses = [row["validation_log_loss"] for row in model.search_path_]
    best = model.search_path_[int(np.argmin(losses))]
    assert model.noise_std_ == pytest.approx(best["sigma"])
    assert len(model.posterior_.mean) == 60 and len(losses) <= np.argmin(losses) + POLICY.search.patience + 1
    # Everything is in the units of y: the first evaluation is a fit of the other rows at its hyperparameters.
    rows = merge_rows(X, 100 * y, None)
    seed = int(np.random.RandomState(0).randint(2**31 - 1))
    held = hold_out(rows, 0.3, seed, stratify=False, precomputed=False)
    ended = BayesianSVR(model.kernel_, C=model.C_, epsilon=model.epsilon_, search=None)
    # Its own centre is that of fewer rows.
    ended.fit(held.train.X, held.train.y)
    assert -np.mean(ended.log_predictive_density(held.X, held.y)) == pytest.approx(min(losses), abs=0.01)
    assert best["criterion"] == pytest.approx(ended.log_evidence_, abs=0.3)
    with pytest.raises(ValueError, match="validation_fraction=2 must be a number between 0 and 1"):
        BayesianSVR(validation_fraction=2).fit(X, y)
