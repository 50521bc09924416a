"""The wrappers for public benchmarks on small tables; AutoGluon's base class is stood in for where it is missing."""

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("benchmarks")
from benchmarks.wrappers import _inputs, scoringbench, tabarena


def frame(n, seed):
    rng = np.random.RandomState(seed)
    table = pd.DataFrame({"x": rng.normal(size=n), "kind": rng.choice(["a", "b", "c"], size=n), 0: rng.normal(size=n)})
    table["flag"] = rng.uniform(size=n) < 0.5
    y = np.sin(2 * table["x"]) + (table["kind"] == "b") + 0.2 * rng.normal(size=n)
    table.loc[table.index[:3], "x"] = np.nan
    return table, y.to_numpy()


def test_encoding_knows_gaps_new_categories_and_infinities():
    train, _ = frame(30, 0)
    encoder = _inputs.make_encoder().fit(_inputs.as_frame(train))
    new = train.iloc[5:8].copy()
    new["kind"], new.loc[new.index[0], "x"] = "unseen", np.inf
    coded = encoder.transform(_inputs.as_frame(new))
    assert np.all(np.isfinite(coded)) and coded.shape == (3, len(encoder.get_feature_names_out()))
    # The gap's flag is on for the row that had an infinity, and no category is.
    names = list(encoder.get_feature_names_out())
    flag = next(i for i, name in enumerate(names) if "missingindicator_x" in name)
    kinds = [i for i, name in enumerate(names) if "kind" in name]
    assert coded[:, flag].tolist() == [1.0, 0.0, 0.0] and np.all(coded[:, kinds] == 0)


def test_scoringbench_wrapper_predicts_calibrated_quantiles():
    X, y = frame(80, 0)
    new, truth = frame(200, 1)
    y = np.where(np.arange(80) == 7, np.nan, y)
    model = scoringbench.SoftmarginWrapper(n_quantiles=9, random_state=0).fit(X, y)
    found = model.quantiles(new)
    assert found.values.shape == (200, 9) and found.levels == pytest.approx(np.arange(1, 10) / 10)
    assert np.all(np.diff(found.values, axis=1) > 0)
    assert np.mean(truth[:, None] < found.values, axis=0) == pytest.approx(found.levels, abs=0.12)
    assert np.sqrt(np.mean((model.predict(new) - truth) ** 2)) < 0.5 * truth.std()
    assert model._y_train_range == (np.nanmin(y), np.nanmax(y))


class Standin:
    """The part of AutoGluon's AbstractModel that the wrapper uses."""

    problem_type = "multiclass"

    def __init__(self):
        self._params = {}
        self._set_default_params()

    def _set_default_param_value(self, name, value):
        self._params.setdefault(name, value)

    def _get_model_params(self):
        return dict(self._params)

    def _preprocess(self, X, **kwargs):
        return X

    def preprocess(self, X, **kwargs):
        return self._preprocess(X, **kwargs)

    def _get_default_auxiliary_params(self):
        return {"valid_raw_types": ["object"], "other": 1}


def test_tabarena_model_fits_and_predicts():
    made = type("Model", (tabarena.SoftmarginModel, Standin), {}) if tabarena.AbstractModel is object else None
    if made is None:
        pytest.skip("AutoGluon is installed: its own tests of models apply")
    X, y = frame(60, 0)
    labels = pd.Series(np.digitize(y, [0.0, 1.0]))
    model = made()
    model._fit(X, labels)
    p = model.model.predict_proba(model.preprocess(frame(20, 1)[0]))
    assert p.shape == (20, 3) and p.sum(axis=1) == pytest.approx(1)
    assert model.model.random_state == 0
    assert model._get_default_auxiliary_params()["valid_raw_types"] == ["int", "float", "category"]


def test_unknown_problem_type_is_refused():
    with pytest.raises(ValueError, match="use one of binary, multiclass, regression"):
        tabarena.make_model("quantile")
