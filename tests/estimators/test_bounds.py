"""A learnt hyperparameter of a user's kernel that ends on its bound is said aloud; searches end on any data."""

import time
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from softmargin import BayesianSVC, BayesianSVR

from .cases import two_classes

X, Y = two_classes(30, d=2)
T = np.sin(X[:, 0]) + 0.1 * X[:, 1]
BOTH = [(BayesianSVC, Y), (BayesianSVR, 7 * T)]


@pytest.mark.parametrize(("estimator", "y"), BOTH)
def test_a_bound_that_decides_is_named_with_the_remedy(estimator, y):
    with pytest.warns(ConvergenceWarning, match=r"length_scale .* its lower bound: .* Widen length_scale_bounds"):
        estimator(RBF(100.0, (50.0, 200.0))).fit(X, y)


@pytest.mark.parametrize(("estimator", "y"), BOTH)
@pytest.mark.parametrize("kernel", [None, ConstantKernel(1.0, "fixed") * RBF(1.0, "fixed"), RBF(1.0)], ids=str)
def test_no_warning_where_no_bound_decides(estimator, y, kernel):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        estimator(kernel).fit(X, y)


def test_no_warning_without_a_search():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        BayesianSVC(RBF(100.0, (50.0, 200.0)), C=1.0, search=None).fit(X, Y)


def normal(n):
    return np.random.default_rng(0).standard_normal((n, 2))


GRID = np.tile(np.random.default_rng(0).integers(0, 3, (59, 3)).astype(float), (2, 1))
"""59 rows twice, whose copies have other labels."""


@pytest.mark.parametrize(
    ("rows", "classes", "weight", "settings"),
    [
        (normal(118), 8, 1e6, {}),
        (GRID, 8, 1e6, {}),
        (normal(30), 3, 1e6, {"multi_class": "ovo"}),
        (normal(5), 2, 1.0, {"criterion": "joint_evidence"}),
        (normal(5), 2, 1e6, {"criterion": "joint_evidence"}),
        (normal(30), 2, 1.0, {"inference": "sparse", "C": 5e-7}),
        (normal(30), 2, 1e6, {"inference": "sparse", "C": 5e-7, "loss": "squared_hinge"}),
    ],
    ids=lambda value: "x".join(map(str, value.shape)) if isinstance(value, np.ndarray) else str(value),
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_searches_end_soon_on_few_rows(rows, classes, weight, settings):
    """Version 0.1 took 68, 46 and 28 CPU seconds for the second, the fifth and the last, and failed at the first."""
    y = np.arange(len(rows)) % classes
    model = BayesianSVC(random_state=0, **settings)
    model.fit(rows, y)  # compile
    start = time.process_time()
    model.fit(rows, y, sample_weight=np.full(len(rows), weight))
    assert time.process_time() - start < 15
