"""Dask collections are checked like local rows: the same kind of error, which names the block and the column."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from softmargin import BayesianSVC, BayesianSVR

da = pytest.importorskip("dask.array")
dask = pytest.importorskip("dask")
dd = pytest.importorskip("dask.dataframe")
pd = pytest.importorskip("pandas")

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
T = np.sin(X[:, 0]) + 0.1 * RNG.normal(size=40)
Y = (T > 0).astype(float)
ONES = np.ones(40)
SETTINGS = {"inference": "sparse", "search": None, "n_inducing": 10, "random_state": 0}


@pytest.fixture(autouse=True)
def in_process():
    with dask.config.set(scheduler="synchronous"):
        yield


def lazy(values, rows=10):
    """Four blocks of ten rows."""
    return da.from_array(values, chunks=(rows, *values.shape[1:]))


def spoilt(values, place, value):
    changed = np.array(values, dtype=float)
    changed[place] = value
    return changed


def refused(estimator, rows, target, weight=None):
    """The error of a fit; the estimator stays unfitted."""
    model = estimator(**SETTINGS)
    with pytest.raises(ValueError) as caught:
        model.fit(rows, target, sample_weight=weight)
    assert not [name for name in vars(model) if name.endswith("_")]
    return str(caught.value)


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize(("estimator", "target"), [(BayesianSVC, Y), (BayesianSVR, T)], ids=["svc", "svr"])
def test_missing_targets(estimator, target, value):
    message = refused(estimator, lazy(X), lazy(spoilt(target, 25, value)))
    assert message == "block 2 of the Dask collection (of 4): Input y contains NaN or infinity (row 5 of the block)"
    with pytest.raises(ValueError, match="Input y contains"):
        estimator(**SETTINGS).fit(X, spoilt(target, 25, value))


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA], ids=str)
def test_missing_labels_among_names(missing):
    names = np.array(["a", "b"], dtype=object)[Y.astype(int)]
    names[12] = missing
    assert "block 1 of the Dask collection (of 4): Input y contains NaN" in refused(BayesianSVC, lazy(X), lazy(names))


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_missing_inputs_beyond_the_sample(set_policy, value):
    """The sample would not have seen them."""
    set_policy("size", sample=15)
    message = refused(BayesianSVC, lazy(spoilt(X, (25, 1), value)), lazy(Y))
    assert "block 2 of the Dask collection (of 4): Input X contains NaN or infinity (column 1)" in message
    frame = pd.DataFrame(spoilt(X, (39, slice(1, 3)), value), columns=["age", "height", "width"])
    message = refused(BayesianSVR, dd.from_pandas(frame, npartitions=4), lazy(T))
    assert "block 3 of the Dask collection (of 4): Input X contains NaN or infinity (columns height, width)" in message


def test_weights():
    def message(weight):
        return refused(BayesianSVC, lazy(X), lazy(Y), weight)

    assert "block 2 of the Dask collection (of 4): Input sample_weight contains NaN" in message(
        lazy(spoilt(ONES, 25, np.nan))
    )
    assert "block 0 of the Dask collection (of 4): sample_weight must not be negative; row 5 of the block has -1" in (
        message(spoilt(ONES, 5, -1.0))
    )
    assert message(lazy(0 * ONES)) == message(0 * ONES) and "sample_weight is zero for every row" in message(0 * ONES)
    assert "sample_weight holds <U1 values that are no numbers" in message(np.full(40, "a"))
    assert "X has 40 rows, but a target or weight of shape (39,)" in message(ONES[1:])


def test_columns_of_text():
    frame = pd.DataFrame({"a": T, "colour": ["red"] * 40})
    message = refused(BayesianSVC, dd.from_pandas(frame, npartitions=4), Y)
    assert "a Dask collection must hold numbers, but the columns 'colour' are no numbers" in message
    assert "values that are no numbers (columns 0, 1)" in refused(BayesianSVC, lazy(np.full((40, 2), "a")), lazy(Y))
    assert "Complex data not supported" in refused(BayesianSVC, lazy(X + 1j), lazy(Y))
    assert "a regression needs numbers" in refused(BayesianSVR, lazy(X), lazy(np.full(40, "a")))


def test_numbers_of_any_type_are_numbers():
    """A frame of whole numbers, and one whose columns have the type object."""
    whole = np.round(2 * X)
    local = BayesianSVC(**SETTINGS).fit(whole, Y).predict_proba(whole)
    for kind in (np.int64, object):
        assert_allclose(BayesianSVC(**SETTINGS).fit(lazy(whole.astype(kind)), lazy(Y)).predict_proba(whole), local)


def test_shapes():
    for rows in (lazy(X[:, 0]), dd.from_pandas(pd.Series(T), npartitions=2)):
        assert "Expected 2D array, got 1D array instead" in refused(BayesianSVC, rows, lazy(Y))
    assert "Found array with 0 sample(s)" in refused(BayesianSVC, lazy(X[:0]), lazy(Y[:0]))
    assert "Found array with 0 feature(s)" in refused(BayesianSVC, da.zeros((40, 0), chunks=(10, 1)), lazy(Y))
    assert "X has 40 rows, but a target or weight of shape (40, 3)" in refused(BayesianSVR, lazy(X), X)
    assert "y=None was given" in refused(BayesianSVR, lazy(X), None)


def test_labels_that_are_no_classes():
    assert "Unknown label type: continuous" in refused(BayesianSVC, lazy(X), lazy(T))
    assert "at least 2 classes" in refused(BayesianSVC, lazy(X), lazy(ONES))
    mixed = np.array(["a", 1.0] * 20, dtype=object)
    assert "labels of several kinds" in refused(BayesianSVC, lazy(X), lazy(mixed))
    many = np.arange(40) // 2
    model = BayesianSVC(**SETTINGS | {"multi_class": "ovr", "n_inducing": 3}).fit(lazy(X), lazy(many))
    assert len(model.classes_) == 20


def test_an_empty_block_is_no_fault():
    rows = da.concatenate([lazy(X[:20]), lazy(X[:0]), lazy(X[20:])])
    target = da.concatenate([lazy(Y[:20]), lazy(Y[:0]), lazy(Y[20:])])
    model = BayesianSVC(**SETTINGS).fit(rows, target, sample_weight=lazy(ONES))
    assert_allclose(model.predict_proba(X), BayesianSVC(**SETTINGS).fit(X, Y).predict_proba(X), atol=1e-9)


def test_standard_deviations_are_lazy_too():
    model = BayesianSVR(**SETTINGS).fit(lazy(X), lazy(T))
    for given in ({"return_std": True}, {}):
        found = model.predict(lazy(X), *([] if given else [True]), **given)
        assert isinstance(found, tuple) and all(isinstance(array, da.Array) for array in found)
        for one, other in zip(found, model.predict(X, return_std=True)):
            assert one.shape == (40,) and one.chunks == ((10,) * 4,)
            assert_allclose(one.compute(), other, rtol=1e-10)
    assert model.predict_interval(lazy(X)).compute().shape == (40, 2)


def test_a_joint_covariance_of_a_dask_collection_is_refused():
    model = BayesianSVR(**SETTINGS).fit(lazy(X), lazy(T))
    for call in (lambda: model.predict(lazy(X), return_cov=True), lambda: model.predict(lazy(X), False, True)):
        with pytest.raises(ValueError, match="return_cov=True needs all rows at once"):
            call()
    assert model.predict(X[:5], return_cov=True)[1].shape == (5, 5)
