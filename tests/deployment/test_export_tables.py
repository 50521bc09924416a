"""Models of tables: their graphs encode categories and gaps as `encoder_` does."""

import numpy as np
import pandas as pd
import pytest

from softmargin import BayesianSVC, BayesianSVR, to_onnx
from softmargin.kernels import ColumnKernel

onnxruntime = pytest.importorskip("onnxruntime")
RNG = np.random.default_rng(0)


def table(n=60):
    frame = pd.DataFrame(
        {"age": RNG.normal(40, 10, n), "town": RNG.choice(["Oslo", "Rome", "Bonn"], n), "code": RNG.choice([1, 7], n)}
    )
    score = (frame["age"] - 40) / 10 + 2.0 * (frame["town"] == "Rome") + 0.3 * RNG.normal(size=n)
    frame.loc[RNG.random(n) < 0.2, "age"] = np.nan
    frame.loc[RNG.random(n) < 0.1, "town"] = None
    return frame, score.to_numpy()


FRAME, SCORE = table()
NEW = pd.concat([FRAME[:20], pd.DataFrame({"age": [np.nan, 55.0], "town": ["Paris", None], "code": [3, 7]})])


def run(model, frame):
    """The outputs by name; a frame is given column by column."""
    session = onnxruntime.InferenceSession(to_onnx(model).SerializeToString(), providers=["CPUExecutionProvider"])
    wanted = {entry.name: entry.type for entry in session.get_inputs()}
    if set(wanted) == {"X"}:
        given = {"X": np.asarray(frame, dtype=float)}
    else:
        text = {name: "string" in kind for name, kind in wanted.items()}
        given = {
            name: np.array([["" if v is None else v] for v in frame[name]], dtype=object)
            if text[name]
            else frame[[name]].to_numpy(dtype=float)
            for name in wanted
        }
    return dict(zip([entry.name for entry in session.get_outputs()], session.run(None, given)))


@pytest.mark.parametrize("y", [SCORE > 0.5, np.digitize(SCORE, [0.0, 1.5])], ids=["two", "three"])
def test_classes_of_a_table(y):
    model = BayesianSVC(max_iter=10, categorical_features=["town", "code"]).fit(FRAME, y)
    out = run(model, NEW)
    np.testing.assert_allclose(out["probabilities"], model.predict_proba(NEW), atol=1e-8)
    assert np.array_equal(out["label"], model.predict(NEW))


def test_numbers_of_a_table():
    frame, new = FRAME[["age", "town"]], NEW[["age", "town"]]
    model = BayesianSVR(max_iter=10).fit(frame, SCORE)
    mean, std = model.predict(new, return_std=True)
    out = run(model, new)
    np.testing.assert_allclose(out["mean"], mean, rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(out["std"], std, rtol=1e-7, atol=1e-8)


def test_a_gap_that_training_did_not_have_is_an_other_value():
    frame = FRAME[["town"]].fillna("Rome")
    model = BayesianSVC(ColumnKernel("rbf", ["town"]), C=1.0, search=None).fit(frame, SCORE > 0.5)
    new = pd.DataFrame({"town": ["Rome", None, "Paris"]})
    out = run(model, new)["probabilities"]
    np.testing.assert_allclose(out, model.predict_proba(new), atol=1e-8)
    np.testing.assert_allclose(out[1], out[2])


@pytest.mark.parametrize("gaps", [True, False])
def test_arrays_with_gaps(gaps):
    X = FRAME[["age", "code"]].to_numpy()
    X = X if gaps else np.nan_to_num(X, nan=40.0)
    model = BayesianSVC(C=1.0, search=None).fit(X, SCORE > 0.5)
    new = np.array([[np.nan, 1.0], [50.0, np.nan], [30.0, 7.0]])
    np.testing.assert_allclose(run(model, new)["probabilities"], model.predict_proba(new), atol=1e-8)


def test_dates_are_refused_and_numbers_can_be_categories():
    dated = pd.DataFrame({"when": pd.date_range("2020-01-01", periods=12), "town": ["a", "b"] * 6})
    mixed = pd.DataFrame({"x": np.arange(12.0), "what": [1, 2.5] * 6}, dtype=object)
    model = BayesianSVC(C=1.0, search=None).fit(dated, np.arange(12) > 5)
    with pytest.raises(ValueError, match=r"'when' holds dates.*year and day"):
        to_onnx(model)
    model = BayesianSVC(C=1.0, search=None, categorical_features=["what"]).fit(mixed, np.arange(12) > 5)
    assert run(model, mixed.astype(float))["probabilities"].shape == (12, 2)
