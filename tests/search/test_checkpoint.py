"""Checkpoints: only for the search that wrote them, no code in them, and the same result bit for bit after SIGKILL."""

import json
import os
import pickle
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from softmargin.criteria import Evidence, LeaveOneOut
from softmargin.inference import EP, HMC
from softmargin.likelihoods import Hinge, SquaredHinge
from softmargin.search import GradientAscent, PaperRule
from softmargin.search import checkpoint as files
from softmargin.tuning.coordinates import Coordinates, LogParameters
from softmargin.tuning.objective import Objective


def problem(n=20, inference=None, criterion=None, likelihood=Hinge, scale=0.8):
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 3, (n, 1))
    y = np.sign(np.sin(3 * X[:, 0]) + 0.5 * rng.normal(size=n))
    kernel = ConstantKernel(1.5, (0.1, 20)) * RBF(scale, (0.05, 20))
    coordinates = Coordinates(kernel, LogParameters(likelihood(1.0), ("C",), ((1e-3, 1e3),)), 1)
    return Objective(X, y, None, coordinates, criterion or Evidence(), inference or EP())


def climb(objective, path, **options):
    start = np.array([0.4, -0.2, 0.0])
    bounds = np.tile([-2.0, 2.0], (3, 1))
    return GradientAscent(**{"max_iter": 2, **options}, checkpoint=path).maximise(objective, start, bounds).point


def flipped(objective):
    return replace(objective, y=objective.y * np.where(np.arange(len(objective.y)) == 3, -1, 1))


OTHERS = {
    "labels": lambda: flipped(problem()),
    "inputs": lambda: replace(problem(), X=problem().X + 1e-12),
    "weights": lambda: replace(problem(), weight=np.full(20, 2.0)),
    "criterion": lambda: problem(criterion=LeaveOneOut()),
    "likelihood": lambda: problem(likelihood=SquaredHinge),
    "inference": lambda: problem(inference=EP(tol=1e-7)),
    "kernel": lambda: problem(scale=0.80001),
}


@pytest.mark.parametrize("what", OTHERS)
def test_the_file_of_another_problem_is_refused(what, tmp_path):
    climb(problem(), tmp_path / "run")
    with pytest.raises(ValueError, match="another search"):
        climb(OTHERS[what](), tmp_path / "run")


@pytest.mark.parametrize(
    "option", [{"max_iter": 3}, {"tol": 1e-4}, {"rule": "paper"}, {"rate": 0.1}, {"rule": PaperRule(fraction=0.1)}]
)
def test_the_file_of_other_settings_is_refused(option, tmp_path):
    climb(problem(), tmp_path / "run")
    with pytest.raises(ValueError, match="another search"):
        climb(problem(), tmp_path / "run", **option)


def test_the_same_search_goes_on(tmp_path):
    point = climb(problem(), tmp_path / "run")
    evaluations = []
    again = climb(replace(problem(), callback=evaluations.append), tmp_path / "run")
    np.testing.assert_array_equal(again, point)
    assert len(evaluations) <= 1


@pytest.mark.parametrize("keep", [0, 10, 0.5, 0.99])
def test_a_damaged_file_is_one_clear_error(keep, tmp_path):
    path = tmp_path / "run"
    climb(problem(), path)
    content = path.read_bytes()
    path.write_bytes(content[: int(keep * len(content)) if isinstance(keep, float) else keep])
    with pytest.raises(ValueError, match=r"damaged.*delete it"):
        climb(problem(), path)


def test_one_flipped_byte_is_seen(tmp_path):
    path = tmp_path / "run"
    climb(problem(), path)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"damaged.*delete it"):
        climb(problem(), path)


def test_a_pickle_is_not_run(tmp_path):
    class Bomb:
        def __reduce__(self):
            return (Path.touch, (tmp_path / "ran",))

    for name, content in (("plain", pickle.dumps(Bomb())), ("array", None)):
        path = tmp_path / name
        if content is None:
            with path.open("wb") as file:
                np.savez(file, json=np.array([Bomb()], dtype=object), allow_pickle=True)
        else:
            path.write_bytes(content)
        with pytest.raises(ValueError, match="damaged"):
            files.load(path, "")
    assert not (tmp_path / "ran").exists()


def test_only_records_of_softmargin_are_rebuilt(tmp_path):
    path = tmp_path / "run"
    for name in ("pathlib:Path", "os:system", "softmargin.search.checkpoint:save", "softmargin.nowhere:X"):
        record = {"kind": "record", "type": name, "items": {}}
        text = json.dumps({"format": 1, "fingerprint": "", "content": record})
        with path.open("wb") as file:
            np.savez(file, json=np.frombuffer(text.encode(), np.uint8))
        with pytest.raises(ValueError, match="damaged"):
            files.load(path, "")


def test_values_come_back_as_they_were(tmp_path):
    posterior = EP().infer(np.eye(3), np.array([1.0, -1.0, 1.0]), Hinge(1.0))
    value = {
        "a": [1, 2.5, None, True, "ü", float("nan"), -float("inf"), 1e-310],
        "b": (np.arange(3), np.float64(0.1), np.int64(7), np.zeros((0, 2)), np.array(1.5)),
        "c": posterior,
    }
    files.save(tmp_path / "run", "x", value)
    again = files.load(tmp_path / "run", "x")
    assert str(again["a"]) == str(value["a"])
    assert [type(item) for item in again["b"]] == [type(item) for item in value["b"]]
    for old, new in zip(value["b"], again["b"]):
        np.testing.assert_array_equal(new, old)
    assert type(again["c"]) is type(posterior)
    np.testing.assert_array_equal(again["c"].mean, posterior.mean)


def test_failed_save_leaves_the_old_file(tmp_path):
    path = tmp_path / "run"
    files.save(path, "", {"step": 1})
    with pytest.raises(TypeError, match="function"):
        files.save(path, "", {"step": lambda: None})
    assert files.load(path, "") == {"step": 1}
    assert [p.name for p in tmp_path.iterdir()] == ["run"]


def ascend(path):
    sampler = HMC(n_chains=4, n_warmup=10, n_draws=10, evidence=False, reuse_random_numbers=False, check=False)
    return climb(problem(inference=sampler), path, max_iter=8)


RESUME = """
import importlib.util, numpy as np, pathlib, sys
spec = importlib.util.spec_from_file_location('case', sys.argv[1])
case = importlib.util.module_from_spec(spec); spec.loader.exec_module(case)
print("ready", flush=True)
np.save(sys.argv[3], case.ascend(pathlib.Path(sys.argv[2])))
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
@pytest.mark.parametrize("kills", [1, pytest.param(20, marks=pytest.mark.slow)])
def test_killed_runs_resume_to_the_identical_result(kills, tmp_path):
    whole = ascend(tmp_path / "whole")
    path, result = tmp_path / "killed", tmp_path / "result.npy"
    command = [sys.executable, "-c", RESUME, __file__, str(path), str(result)]
    environment = {**os.environ, "PYTHONPATH": str(Path(files.__file__).parents[2])}
    rng = np.random.default_rng(0)
    for kill in range(kills):
        process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE)
        process.stdout.readline()
        # The first kill waits for the first of eight checkpoints, so that there is something to resume from.
        while kill == 0 and not path.exists() and process.poll() is None:
            time.sleep(0.002)
        time.sleep(rng.uniform(0, 0.05))
        process.kill()
        process.communicate()
    assert path.exists()
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
    np.testing.assert_array_equal(np.load(result), whole)
    assert {p.name for p in tmp_path.iterdir()} == {"whole", "killed", "result.npy"}
