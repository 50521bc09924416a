"""Hostile files are refused quickly and in little memory; good files of this format stay readable."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import softmargin
from softmargin import persistence
from softmargin.persistence import ModelFileError

from .hostile import hostile

GOLDEN = Path(__file__).parent / "golden"


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2))
    model = softmargin.BayesianSVC(C=1.0, search=None).fit(X, X[:, 0] > 0)
    return softmargin.save(model, tmp_path_factory.mktemp("good") / "good.skops")


LOAD_ALL = """
import sys, time
from pathlib import Path
import softmargin
from softmargin.persistence import ModelFileError

def peak():  # of getrusage's figure a child inherits that of its parent, which hides what is below it
    return int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0])

softmargin.load(sys.argv[1])
before = peak()
for path in sorted(Path(sys.argv[2]).iterdir()):
    start = time.process_time()
    try:
        softmargin.load(path)
        word = "LOADED"
    except ModelFileError as error:
        word = "refused" if "\\n" not in str(error) and len(str(error)) < 1000 else "LONG"
    except BaseException as error:
        word = type(error).__name__
    more = (peak() - before) / 1024
    print(f"{word}|{time.process_time() - start:.3f}|{more:.1f}|{path.name}")
"""


def test_hostile_files_are_refused_in_bounded_time_and_memory(good, tmp_path):
    if sys.platform != "linux":
        pytest.skip("reads /proc")
    files = list(hostile(good))
    assert len(files) >= 50
    for number, (name, data) in enumerate(files):
        (tmp_path / f"{number:02d} {name}").write_bytes(data)
    command = [sys.executable, "-W", "ignore", "-c", LOAD_ALL, str(good), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    rows = [line.split("|") for line in done.stdout.splitlines()]
    assert len(rows) == len(files), done.stderr[-2000:]
    bad = [row for row in rows if row[0] != "refused" or float(row[1]) > 1 or float(row[2]) > 100]
    assert not bad


def test_the_generator_starts_from_a_good_file(good):
    assert softmargin.load(good).predict(np.array([[2.0, 0.0]])) == [True]


def test_well_packed_models_load_again(tmp_path):
    # Ten megabytes of zeros, which would pack to a file that looks like a bomb.
    X = np.zeros((400, 3000))
    X[:, 0] = np.arange(400)
    model = softmargin.BayesianSVC("linear", C=1.0, search=None).fit(X, np.arange(400) > 199)
    again = softmargin.load(softmargin.save(model, tmp_path / "m.skops"))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.skops")), ids=lambda path: path.stem)
def test_golden_files_stay_readable(path):
    stored = np.load(path.with_suffix(".npz"))
    model = softmargin.load(path)
    predict = model.predict_proba if hasattr(model, "predict_proba") else model.predict
    np.testing.assert_allclose(predict(stored["X"]), stored["answer"], rtol=1e-10, atol=1e-12)


def test_there_are_golden_files_of_every_format():
    formats = {persistence.read_header(path)["format"] for path in GOLDEN.glob("*.skops")}
    assert formats == set(range(1, persistence.FORMAT + 1))


@pytest.mark.parametrize(
    "estimator", [softmargin.BayesianSVC(), softmargin.BayesianSVR(), "text", softmargin.BayesianSVC]
)
def test_what_is_not_fitted_is_not_saved(estimator, tmp_path):
    with pytest.raises(ModelFileError, match="fitted"):
        softmargin.save(estimator, tmp_path / "m.skops")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("path", ["/dev/zero", "/dev/null"])
def test_devices_are_refused(path):
    if not Path(path).exists():
        pytest.skip(f"there is no {path} here")
    with pytest.raises(ModelFileError, match="device"):
        softmargin.load(path)
