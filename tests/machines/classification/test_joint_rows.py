"""Least-squares machines see rows in memory, however many there are."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from softmargin import BayesianSVC


def test_many_classes_stay_joint_above_the_size_of_a_sample(set_policy):
    X, y = make_blobs(240, centers=4, random_state=0)
    expected = BayesianSVC(random_state=0).fit(X, y).predict_proba(X[:5])
    set_policy("size", sparse_above=100)
    model = BayesianSVC(random_state=0).fit(X.astype(np.float32), y)
    assert [member.name for member in model.members_] == ["least_squares"]
    np.testing.assert_allclose(model.predict_proba(X[:5]), expected, atol=1e-4)


def test_least_squares_is_not_replaced_above_the_size_of_a_sample(set_policy):
    X, y = make_blobs(240, centers=2, random_state=0)
    set_policy("size", sparse_above=100)
    assert BayesianSVC(loss="least_squares").fit(X, y).members_[0].name == "least_squares"


def test_least_squares_refuses_a_dask_collection():
    da = pytest.importorskip("dask.array")
    X, y = make_blobs(60, centers=2, random_state=0)
    with pytest.raises(ValueError, match=r"needs rows in memory .* use loss='hinge'"):
        BayesianSVC(loss="least_squares").fit(da.from_array(X, chunks=(20, 2)), da.from_array(y, chunks=20))
