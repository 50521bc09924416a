"""Least-squares machines on rows that are seen through a sample and sums over blocks."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import make_blobs, make_moons
from sklearn.metrics import log_loss

from softmargin import BayesianSVC


def few_at_once(set_policy, sample):
    """Let the sizes of large data begin at `sample` rows."""
    set_policy("size", sparse_above=sample, sample=sample)


def moons(n, seed):
    """Two classes, with one skewed input that says nothing."""
    X, y = make_moons(n, noise=0.35, random_state=seed)
    return np.column_stack([X, np.random.default_rng(seed).lognormal(size=n)]), y


def test_many_classes_stay_joint_above_the_size_of_a_sample(set_policy):
    X, y = make_blobs(400, centers=4, cluster_std=3.0, random_state=0)
    new, truth = X[300:], y[300:]
    expected = BayesianSVC(random_state=0).fit(X[:300], y[:300]).predict_proba(new)
    few_at_once(set_policy, 150)
    model = BayesianSVC(random_state=0).fit(X[:300].astype(np.float32), y[:300])
    assert [member.name for member in model.members_] == ["least_squares"]
    # All rows are in the regression, only the hyperparameters come from half of them.
    assert log_loss(truth, model.predict_proba(new)) == pytest.approx(log_loss(truth, expected), abs=0.03)
    assert np.allclose(model.predict_proba(new), expected, atol=0.1)


def test_two_classes_are_stacked_above_the_size_of_a_sample(set_policy):
    X, y = moons(600, 0)
    new, truth = moons(1000, 1)
    few_at_once(set_policy, 200)
    model = BayesianSVC(random_state=0).fit(X, y)
    assert [member.name for member in model.members_] == ["hinge", "least_squares", "least_squares_warped"]
    assert model.weights_.sum() == pytest.approx(1) and model.kernel_ is not None and model.C_ > 0
    alone = BayesianSVC(random_state=0, stack=False).fit(X, y)
    assert log_loss(truth, model.predict_proba(new)) < log_loss(truth, alone.predict_proba(new)) + 0.01
    # The leave-one-out of a sample: within four standard errors of the held-out log loss.
    assert model.loo_log_loss_ == pytest.approx(log_loss(truth, model.predict_proba(new)), abs=0.15)


@pytest.mark.parametrize("loss", ["hinge", "least_squares"])
def test_a_dask_collection_is_fitted_like_the_same_rows_in_memory(loss, set_policy):
    da = pytest.importorskip("dask.array")
    X, y = moons(300, 2)
    few_at_once(set_policy, 120)
    here = BayesianSVC(loss=loss, random_state=0).fit(X, y)
    for rows in (70, 300):
        there = BayesianSVC(loss=loss, random_state=0).fit(
            da.from_array(X, chunks=(rows, 3)), da.from_array(y, chunks=rows)
        )
        np.testing.assert_allclose(there.predict_proba(X[:20]), here.predict_proba(X[:20]), atol=1e-6)


def test_few_rows_of_a_dask_collection_are_fetched():
    da = pytest.importorskip("dask.array")
    X, y = moons(80, 3)
    there = BayesianSVC().fit(da.from_array(X, chunks=(30, 3)), da.from_array(y, chunks=30))
    np.testing.assert_array_equal(there.predict_proba(X), BayesianSVC().fit(X, y).predict_proba(X))
    assert len(there.support_) > 0


def test_sparse_rows_are_fitted_through_a_sample_too(set_policy):
    X, y = make_blobs(300, centers=3, random_state=0)
    X[np.abs(X) < 1.5] = 0.0
    few_at_once(set_policy, 120)
    expected = BayesianSVC(random_state=0).fit(X, y).score(X, y)
    assert BayesianSVC(random_state=0).fit(csr_array(X), y).score(X, y) == pytest.approx(expected, abs=0.03)
