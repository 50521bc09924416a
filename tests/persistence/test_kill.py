"""A save that is killed at any moment leaves the old file or the new one, and nothing that stays."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import softmargin

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")

SAVE_FOR_EVER = """
import sys, softmargin
model = softmargin.load(sys.argv[1])
print("ready", flush=True)
while True:
    softmargin.save(model, sys.argv[1])
"""


@pytest.fixture(scope="module")
def model():
    X = np.random.default_rng(0).normal(size=(40, 2))
    return softmargin.BayesianSVC(C=1.0, search=None).fit(X, X[:, 0] > 0)


@pytest.mark.parametrize("kills", [1, pytest.param(30, marks=pytest.mark.slow)])
def test_killed_saves(kills, model, tmp_path):
    path = softmargin.save(model, tmp_path / "m.skops")
    X = np.random.default_rng(1).normal(size=(5, 2))
    expected = model.predict_proba(X)
    rng = np.random.default_rng(2)
    for _ in range(kills):
        process = subprocess.Popen([sys.executable, "-c", SAVE_FOR_EVER, str(path)], stdout=subprocess.PIPE)
        assert process.stdout.readline() == b"ready\n"
        time.sleep(rng.uniform(0, 0.2))
        process.kill()
        process.communicate()
        np.testing.assert_array_equal(softmargin.load(path).predict_proba(X), expected)
    softmargin.save(model, path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["m.skops"]


def test_leftovers_of_dead_processes_are_removed_and_no_others(model, tmp_path):
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    (tmp_path / f".m.skops.{dead.pid}.abc.part").touch()
    (tmp_path / f".m.skops.{os.getppid()}.abc.part").touch()
    (tmp_path / ".other.skops.1.part").touch()
    softmargin.save(model, tmp_path / "m.skops")
    names = {entry.name for entry in tmp_path.iterdir()}
    assert names == {"m.skops", f".m.skops.{os.getppid()}.abc.part", ".other.skops.1.part"}


def test_a_link_stays_a_link(model, tmp_path):
    (tmp_path / "real").mkdir()
    target = tmp_path / "real" / "m.skops"
    target.write_bytes(b"old")
    link = tmp_path / "link.skops"
    link.symlink_to(target)
    softmargin.save(model, link)
    assert link.is_symlink() and target.read_bytes() != b"old"
    assert softmargin.load(link).C == 1.0
