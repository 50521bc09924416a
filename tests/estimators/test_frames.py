"""Frames with categories, gaps and dates, straight into the estimators."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct
from sklearn.utils import get_tags

import softmargin
from softmargin import BayesianSVC, BayesianSVR
from softmargin.kernels import ColumnKernel, gram


def table(n=60, seed=0):
    """A category that decides with the age, which has gaps, and a column of noise."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.normal(40, 10, n).round(1),
            "town": rng.choice(["Oslo", "Rome", "Bonn"], n),
            "noise": rng.normal(size=n),
        }
    )
    score = 2.0 * (frame["town"] == "Rome") + (frame["age"] - 40) / 10 + 0.3 * rng.normal(size=n)
    frame.loc[rng.random(n) < 0.15, "age"] = np.nan
    return frame, score.to_numpy()


@pytest.fixture(scope="module")
def fitted():
    frame, score = table()
    return BayesianSVC(stack=False).fit(frame, score > 1), frame


def test_attributes_are_those_of_the_columns(fitted):
    model, frame = fitted
    assert model.n_features_in_ == 3
    assert_array_equal(model.feature_names_in_, ["age", "town", "noise"])
    assert model.relevance_.shape == model.importance_.shape == (3,)
    assert model.importance_[1] > model.importance_[2]
    assert model.encoder_.input_names == ["age", "age is missing", "town", "noise"]
    assert len(model.kernel_.k1.k2.kernel.length_scale) == 4
    assert_allclose(model.importance_.sum(), 1)
    # The kernel and the support vectors are those of the encoded rows.
    K = gram(model.kernel_, model.encoder_.transform(frame), model.support_vectors_)
    assert_allclose((K @ model.dual_coef_[0])[model.support_] * np.where(np.isin(model.support_, np.flatnonzero(
        table()[1] > 1)), 1, -1), model.margins_[model.support_], atol=1e-4)  # fmt: skip


def test_the_search_path_names_the_columns(fitted):
    model, frame = fitted
    names = {key.removeprefix("length_scale_") for key in model.search_path_[0] if key.startswith("length_scale_")}
    assert names == set(model.encoder_.input_names) == {"age", "age is missing", "town", "noise"}
    numbers = frame[["noise", "age"]].to_numpy()
    path = BayesianSVC(max_iter=2).fit(numbers, table()[1] > 1).search_path_
    assert {"length_scale_0", "length_scale_1", "length_scale_1 is missing"} <= set(path[0])


@pytest.mark.parametrize("estimator", [BayesianSVC(stack=False), BayesianSVR(stack=False)])
def test_polars_gives_what_pandas_gives(estimator):
    frame, score = table(40)
    y = score > 1 if isinstance(estimator, BayesianSVC) else score
    one, other = clone(estimator).fit(frame, y), clone(estimator).fit(pl.from_pandas(frame), y)
    assert_array_equal(one.predict(frame), other.predict(pl.from_pandas(frame)))


def test_a_category_of_two_values_is_a_number_of_two_values():
    frame, score = table(50)
    two = frame.assign(town=np.where(frame["town"] == "Rome", "a", "b"))
    number = frame.assign(town=(frame["town"] == "Rome") * 1.0)
    settings = {"stack": False, "max_iter": 8}
    one, other = BayesianSVR(**settings).fit(two, score), BayesianSVR(**settings).fit(number, score)
    assert_allclose(one.predict(two), other.predict(number), rtol=1e-4, atol=1e-4)
    assert_allclose(one.relevance_, other.relevance_, rtol=1e-3)


def test_a_category_is_one_hot_with_a_shared_length_scale():
    frame, score = table(40)
    kernel = ConstantKernel(2.0) * RBF([8.0, 1.3, 2.0])
    model = BayesianSVR(kernel, C=2, epsilon=0.1, search=None).fit(frame[["town", "noise", "age"]].fillna(40), score)
    hot = pd.get_dummies(frame[["town"]]).astype(float).join(frame[["noise", "age"]].fillna(40))
    by_hand = BayesianSVR(ConstantKernel(2.0) * RBF([8.0, 8.0, 8.0, 1.3, 2.0]), C=2, epsilon=0.1, search=None)
    expected = by_hand.fit(hot, score).predict(hot, return_std=True)
    for found, wanted in zip(model.predict(frame[["town", "noise", "age"]].fillna(40), return_std=True), expected):
        assert_allclose(found, wanted, rtol=1e-9)


def test_unseen_values_are_further_away_than_any(fitted):
    model, frame = fitted
    new = pd.concat([frame.iloc[:1]] * 4).assign(town=["Oslo", "Rome", "Paris", None])
    variance = model.latent_mean_and_variance(new)[1]
    assert np.all(variance[2] > variance[:2])
    # A gap that training rows did not have is as new as a new value.
    assert variance[2] == variance[3]


def test_columns_in_another_order_are_refused(fitted):
    model, frame = fitted
    with pytest.raises(ValueError, match="must be in the same order"):
        model.predict(frame[["town", "age", "noise"]])
    with pytest.raises(ValueError, match="yet now missing"):
        model.predict(frame[["age", "noise"]])
    with pytest.raises(ValueError, match="contains infinity"):
        model.predict(frame.assign(age=np.inf))


@pytest.mark.parametrize("make", [BayesianSVC, BayesianSVR])
def test_gaps_in_arrays(make):
    frame, score = table(50)
    y = score > 1 if make is BayesianSVC else score
    X = frame[["age", "noise"]].to_numpy()
    model = make(stack=False, max_iter=5).fit(X, y)
    named = frame[["age", "noise"]]
    assert_array_equal(model.predict(X), make(stack=False, max_iter=5).fit(named, y).predict(named))
    assert model.relevance_.shape == (2,)
    # Without gaps in training they are filled by the median.
    plain = make(stack=False, max_iter=5).fit(frame[["noise"]].to_numpy(), y)
    median = np.median(frame["noise"])
    assert_array_equal(plain.predict([[np.nan]]), plain.predict([[median]]))
    assert get_tags(make()).input_tags.allow_nan and get_tags(make()).input_tags.categorical
    assert not get_tags(make("precomputed")).input_tags.allow_nan


def test_saved_models_keep_the_encoder(fitted, tmp_path):
    model, frame = fitted
    again = softmargin.load(softmargin.save(model, tmp_path / "model.skops"))
    assert_array_equal(again.predict_proba(frame), model.predict_proba(frame))
    assert again.encoder_ == model.encoder_


def test_kernels_of_named_columns_are_learnt_and_saved(tmp_path):
    frame, score = table(50)
    kernel = ColumnKernel("rbf", ["age", "town"]) + ColumnKernel("linear", ["noise"])
    model = BayesianSVR(kernel, stack=False, max_iter=10).fit(frame, score)
    assert model.score(frame, score) > 0.5
    assert model.kernel_.k1.columns == ["age", "town"] and isinstance(model.kernel, type(kernel))
    assert model.kernel.k1.kernel == "rbf"
    again = softmargin.load(softmargin.save(model, tmp_path / "model.skops"))
    assert_array_equal(again.predict(frame), model.predict(frame))
    with pytest.raises(ValueError, match="asks for the column 'height', but there are 'age', 'town', 'noise'"):
        BayesianSVR(ColumnKernel("rbf", ["height"])).fit(frame, score)


def test_kernels_of_numbered_columns_of_an_array():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    y = X[:, 0] + X[:, 2] > 0
    kernel = ConstantKernel() * ColumnKernel(RBF(1.0), [0]) + ColumnKernel(DotProduct(0.1), [2]) * ConstantKernel()
    model = BayesianSVC(kernel, stack=False).fit(X, y)
    assert model.score(X, y) > 0.9
    assert_array_equal(model.predict(X), model.predict(X * [1, 0, 1]))


def test_the_stack_warps_numbers_only_and_learns_many_classes():
    frame, score = table(60)
    frame["price"] = np.exp(2 * np.random.default_rng(1).normal(size=60))
    classes = np.digitize(score, [0, 1.5])
    model = BayesianSVC().fit(frame, classes)
    assert [member.name for member in model.members_] == ["least_squares", "least_squares_additive"]
    assert list(model.members_[1].warp.tables) == [len(model.encoder_.layout.groups) - 1]
    assert model.relevance_.shape == model.importance_.shape == (4,)
    assert model.score(frame, classes) > 0.6


def test_batches_of_a_stream_use_the_first_batchs_encoder():
    frame, score = table(80)
    model = BayesianSVC(inference="sparse").fit(frame[:60], score[:60] > 1)
    encoder = model.encoder_
    model.partial_fit(frame[60:].assign(town="Paris"), score[60:] > 1)
    assert model.encoder_ == encoder
    assert model.predict_proba(frame).shape == (80, 2)


def test_a_dask_frame_is_predicted_as_the_frame_it_is():
    dd = pytest.importorskip("dask.dataframe")
    rng = np.random.default_rng(3)
    day = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, 60), unit="D")
    frame = pd.DataFrame({"age": rng.normal(40, 10, 60), "town": rng.choice(["Oslo", "Rome"], 60), "day": day})
    frame.loc[:4, "age"] = np.nan
    frame["kind"] = pd.Categorical(rng.choice(["a", "b"], 60))
    ill = (frame["age"].fillna(40) > 40) == (frame["town"] == "Rome")
    # An empty partition, and categories that were not seen in training.
    new = frame.assign(town=frame["town"].where(frame.index != 7, "Bern"))
    lazy = dd.from_pandas(new, npartitions=3)
    lazy = dd.concat([lazy, lazy[lazy["age"] > 1e9]])
    model = BayesianSVC(max_iter=2).fit(frame, ill)
    found = model.predict_proba(lazy)
    assert found.shape == (60, 2)
    np.testing.assert_array_equal(found.compute(), model.predict_proba(new))
    regression = BayesianSVR(max_iter=2).fit(frame, frame["age"].fillna(40) + ill)
    for lazy_part, part in zip(regression.predict(lazy, return_std=True), regression.predict(new, return_std=True)):
        np.testing.assert_array_equal(lazy_part.compute(), part)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(lazy.rename(columns={"town": "city"}))


@pytest.mark.parametrize("stored", ["pyarrow strings", "objects", "categories", "unknown categories"])
def test_a_dask_frame_of_words_is_predicted_by_a_model_of_a_frame_in_memory(stored):
    dask, dd = pytest.importorskip("dask"), pytest.importorskip("dask.dataframe")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"town": rng.choice(["Bern", "Oslo", "Rome"], 60), "kind": rng.choice(["a", "b"], 60)})
    said = np.where((frame["town"] == "Rome") ^ (frame["kind"] == "a"), "ill", "well")
    # Gaps where training rows had some and where they had none, a value nobody saw, and a partition of gaps alone.
    frame.loc[::9, "kind"] = None
    new = frame.assign(town=frame["town"].where(~frame.index.isin([3, 33]), "Paris"))
    new.loc[5, "town"], new.loc[40:, "kind"] = None, None
    with dask.config.set({"dataframe.convert-string": stored == "pyarrow strings"}):
        lazy = dd.from_pandas(new, npartitions=3)
        lazy = lazy if stored in ("pyarrow strings", "objects") else lazy.astype("category")
        lazy = lazy.categorize() if stored == "categories" else lazy
        model = BayesianSVC(max_iter=2).fit(frame, said)
        assert len(np.unique(model.predict(new))) == 2
        assert_array_equal(model.predict(lazy).compute(), model.predict(new))
        assert_allclose(model.predict_proba(lazy).compute(), model.predict_proba(new), rtol=1e-12)
        regression = BayesianSVR(max_iter=2).fit(frame, (said == "ill") + rng.normal(size=60))
        interval = regression.predict_interval(lazy)
        assert_allclose(interval.compute(), regression.predict_interval(new), rtol=1e-9)
        with pytest.raises(ValueError, match="no numbers"):
            model.fit(lazy, said)
