"""Model files: identical results after reload, clear errors, and no code on loading."""

import io
import json
import os
import pickle
import zipfile
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder

import softmargin
from softmargin import persistence
from softmargin.inference import INFERENCES
from softmargin.kernels import KERNEL_NAMES
from softmargin.persistence import ModelFileError


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2))
    return X, (X[:, 0] + 0.3 * rng.normal(size=30) > 0).astype(int)


@pytest.fixture(scope="module")
def model(data):
    return softmargin.BayesianSVC(max_iter=3, random_state=0).fit(*data)


@pytest.fixture
def saved(model, tmp_path):
    return softmargin.save(model, tmp_path / "model.skops")


def rewrite(path: Path, change) -> Path:
    """Write the archive again with `change(name, bytes) -> bytes` applied to every member."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(buffer, "w") as new:
        for name in old.namelist():
            new.writestr(name, change(name, old.read(name)))
    path.write_bytes(buffer.getvalue())
    return path


def test_reload_is_identical(model, saved, data):
    again = softmargin.load(saved)
    np.testing.assert_array_equal(again.predict_proba(data[0]), model.predict_proba(data[0]))
    assert again.search_path_ == model.search_path_


@pytest.mark.parametrize("inference", sorted(INFERENCES))
def test_every_inference_can_be_saved(inference, data, tmp_path):
    model = softmargin.BayesianSVC(C=1.0, search=None, inference=inference, random_state=0).fit(*data)
    again = softmargin.load(softmargin.save(model, tmp_path / "m.skops"))
    np.testing.assert_array_equal(again.predict_proba(data[0]), model.predict_proba(data[0]))


@pytest.mark.parametrize("kernel", [k for k in KERNEL_NAMES if k != "precomputed"])
def test_every_kernel_can_be_saved(kernel, data, tmp_path):
    model = softmargin.BayesianSVC(kernel, C=1.0, search=None).fit(*data)
    again = softmargin.load(softmargin.save(model, tmp_path / "m.skops"))
    np.testing.assert_array_equal(again.predict(data[0]), model.predict(data[0]))


def test_regressor_and_three_classes(data, tmp_path):
    X, _ = data
    models = [
        softmargin.BayesianSVR(max_iter=2).fit(X, X[:, 0] ** 2),
        softmargin.BayesianSVC(max_iter=2).fit(X, np.array(["a", "b", "ü"])[np.arange(30) % 3]),
    ]
    for model in models:
        again = softmargin.load(softmargin.save(model, tmp_path / "m.skops"))
        np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_pipeline_with_columns(data, tmp_path):
    X, y = data
    frame = pd.DataFrame(X.copy(), columns=["a", "b"])
    frame["c"] = np.where(X[:, 1] > 0, "up", "down")
    frame.loc[3, "a"] = np.nan
    columns = ColumnTransformer(
        [
            ("number", SimpleImputer(add_indicator=True), make_column_selector(dtype_include="number")),
            ("category", OneHotEncoder(handle_unknown="ignore"), ["c"]),
        ],
        remainder="passthrough",
    )
    model = make_pipeline(columns, softmargin.BayesianSVC(C=1.0, search=None))
    model.fit(frame, y)
    again = softmargin.load(softmargin.save(model, tmp_path / "m.skops"))
    np.testing.assert_array_equal(again.predict_proba(frame), model.predict_proba(frame))


@pytest.mark.parametrize("copy", [lambda m: pickle.loads(pickle.dumps(m)), lambda m: _through_joblib(m)])
def test_pickle_and_joblib(copy, model, data):
    np.testing.assert_array_equal(copy(model).predict_proba(data[0]), model.predict_proba(data[0]))


def _through_joblib(model):
    buffer = io.BytesIO()
    joblib.dump(model, buffer)
    buffer.seek(0)
    return joblib.load(buffer)


def test_published_types_are_enough_for_skops(saved):
    assert skops.io.load(saved, trusted=list(softmargin.TRUSTED_TYPES)).C_ > 0


def test_header_has_versions(saved):
    header = persistence.read_header(saved)
    assert header["format"] == persistence.FORMAT
    assert header["versions"]["softmargin"] == softmargin.__version__
    assert header["versions"]["scikit-learn"]


def test_newer_format_is_refused(saved):
    def change(name, content):
        if name != persistence.HEADER:
            return content
        return json.dumps({**json.loads(content), "format": persistence.FORMAT + 1}).encode()

    with pytest.raises(ModelFileError, match=r"format 2.*[Uu]pgrade"):
        softmargin.load(rewrite(saved, change))


@pytest.mark.parametrize("keep", [0, 1, 100, 0.5, 0.99])
def test_truncated_file(saved, keep):
    content = saved.read_bytes()
    saved.write_bytes(content[: int(keep * len(content)) if isinstance(keep, float) else keep])
    with pytest.raises(ModelFileError, match="damaged"):
        softmargin.load(saved)


def test_one_flipped_byte(saved):
    # In an array: repetitive text may unpack to the same bytes, a repetition being taken from elsewhere.
    with zipfile.ZipFile(saved) as archive:
        arrays = [member for member in archive.infolist() if member.filename.endswith(".npy")]
    largest = max(arrays, key=lambda member: member.compress_size)
    content = bytearray(saved.read_bytes())
    content[largest.header_offset + largest.compress_size // 2] ^= 0xFF
    saved.write_bytes(content)
    with pytest.raises(ModelFileError, match="damaged"):
        softmargin.load(saved)


def test_nonsense_in_the_description(saved):
    with pytest.raises(ModelFileError, match="does not belong there"):
        softmargin.load(rewrite(saved, lambda name, c: b'{"__loader__": "x"}' if name == "schema.json" else c))


def test_foreign_skops_and_foreign_zip(tmp_path):
    skops.io.dump({"a": 1}, tmp_path / "other.skops")
    with pytest.raises(ModelFileError, match=r"not written by softmargin\.save"):
        softmargin.load(tmp_path / "other.skops")


def test_foreign_types_are_refused_and_named(saved, data):
    """A file that smuggles in os.system (through FunctionTransformer) is refused before anything is built."""
    model = make_pipeline(FunctionTransformer(os.system), softmargin.BayesianSVC(C=1.0, search=None))
    header = zipfile.ZipFile(saved).read(persistence.HEADER)
    skops.io.dump(model, saved)
    with zipfile.ZipFile(saved, "a") as archive:
        archive.writestr(persistence.HEADER, header)
    with pytest.raises(ModelFileError, match=r"posix\.system"):
        softmargin.load(saved)


def test_a_pickle_is_not_run(tmp_path):
    class Bomb:
        def __reduce__(self):
            return (Path.touch, (tmp_path / "ran",))

    (tmp_path / "bomb.skops").write_bytes(pickle.dumps(Bomb()))
    with pytest.raises(ModelFileError):
        softmargin.load(tmp_path / "bomb.skops")
    assert not (tmp_path / "ran").exists()


def test_a_failed_save_leaves_the_old_file(saved, model, monkeypatch):
    before = saved.read_bytes()
    monkeypatch.setattr(os, "replace", lambda *a: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        softmargin.save(model, saved)
    assert saved.read_bytes() == before
    assert [p.name for p in saved.parent.iterdir()] == [saved.name]


def test_directory_and_missing_file(model, tmp_path):
    with pytest.raises(ModelFileError, match="directory"):
        softmargin.save(model, tmp_path)
    with pytest.raises(ModelFileError, match="directory"):
        softmargin.load(tmp_path)
    with pytest.raises(ModelFileError, match="no file"):
        softmargin.load(tmp_path / "missing.skops")
