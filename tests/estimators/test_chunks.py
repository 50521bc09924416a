"""A fit does not depend on chunks, on where the rows are, or on workers that are lost."""

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF

from softmargin import BayesianSVC, BayesianSVR

da = pytest.importorskip("dask.array")

N = 9000
KERNEL = 4.0 * RBF([1.0, 1.5]) + 0.3
SETTINGS = {"inference": "sparse", "n_inducing": 24, "random_state": 0}


def problem():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, 2))
    f = np.sin(2 * X[:, 0]) + X[:, 1] + 0.5 * rng.standard_normal(N)
    return X, f


@pytest.fixture
def many(set_policy):
    """9,000 rows count as very many: a sample, a larger one, and blocks in single precision."""
    set_policy("size", sample=400, float32_above=1000, subset=60, refine_rows=300, ladder=0.05)


@pytest.mark.parametrize("search", [None, "lbfgs"])
def test_classes_do_not_depend_on_chunks(many, search):
    X, f = problem()
    y, new = (f > 0).astype(int), X[:50] + 0.1
    settings = {**SETTINGS, "search": search, "max_iter": 3, "C": 2.0}
    expected = BayesianSVC(KERNEL, **settings).fit(X, y).predict_proba(new)
    for chunk in (5000, 700) if search is None else (5000,):
        rows = da.from_array(X, chunks=(chunk, 2))
        found = BayesianSVC(KERNEL, **settings).fit(rows, da.from_array(y, chunks=1234)).predict_proba(new)
        np.testing.assert_allclose(found, expected, atol=1e-9)


def test_targets_do_not_depend_on_chunks(many):
    X, f = problem()
    new, settings = X[:50] + 0.1, {**SETTINGS, "search": None, "C": 2.0, "epsilon": 0.1}
    expected = np.array(BayesianSVR(KERNEL, **settings).fit(X, f).predict(new, return_std=True))
    found = BayesianSVR(KERNEL, **settings).fit(da.from_array(X, chunks=(3000, 2)), f).predict(new, return_std=True)
    np.testing.assert_allclose(np.array(found), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("x", "y"), [(1.0, 1e-300), (1e-200, 1.0)])
def test_numbers_that_are_tiny_in_every_block_are_refused(x, y):
    # One row a block: none of them can tell a tiny number from a constant.
    X = da.from_array(x * np.array([[1.0], [2.0], [4.0]]), chunks=1)
    with pytest.raises(ValueError, match="holds no number above"):
        BayesianSVR(inference="sparse").fit(X, da.from_array(y * np.array([1.0, 3.0, 2.0]), chunks=1))
