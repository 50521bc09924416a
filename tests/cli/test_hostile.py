"""The command line against tables and places that are not what they seem."""

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from softmargin import cli
from softmargin.tables import DataError, printable, read_frame, reading

ESCAPE = "\x1b]0;owned\x07\x9b31m"


def run(*args, stdin=None):
    return CliRunner().invoke(cli.app, [str(a) for a in args], input=stdin)


def table(words=("yes", "no"), n=40) -> pd.DataFrame:
    x = np.random.default_rng(0).normal(size=n)
    return pd.DataFrame({"age": 40 + 10 * x, "size": x**2, "ill": np.where(x > 0, *words)})


def fitted(tmp_path, words=("yes", "no")):
    table(words).to_csv(tmp_path / "data.csv", index=False)
    done = run("fit", tmp_path / "data.csv", "--target", "ill", "--out", tmp_path / "m.skops", "--no-baseline")
    assert done.exit_code == 0, done.output
    return tmp_path / "m.skops", done


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return fitted(tmp_path_factory.mktemp("model"))[0]


def test_labels_are_no_formulas(tmp_path):
    model, _ = fitted(tmp_path, ("=cmd|' /C calc'!A0", "@SUM(1)"))
    lines = run("predict", model, tmp_path / "data.csv").stdout.splitlines()
    labels = {line.split(",")[0].strip('"') for line in lines[1:]}
    assert labels == {"'=cmd|' /C calc'!A0", "'@SUM(1)"}


def test_negative_numbers_stay_numbers(tmp_path):
    model, _ = fitted(tmp_path, ("-1", "+1"))
    lines = run("predict", model, tmp_path / "data.csv").stdout.splitlines()
    assert {line.split(",")[0] for line in lines[1:]} == {"-1", "+1"}


def test_control_characters_never_reach_the_terminal(tmp_path):
    model, done = fitted(tmp_path, (f"a{ESCAPE}", f"b{ESCAPE}"))
    new = table((f"a{ESCAPE}", "b")).rename(columns={"age": f"age{ESCAPE}"})
    new.to_csv(tmp_path / "renamed.csv", index=False)
    results = [
        done,
        run("predict", model, tmp_path / "data.csv"),
        run("predict", model, tmp_path / "data.csv", "--json"),
        run("predict", model, tmp_path / "renamed.csv"),
        run("info", model),
        run("info", model, "--json"),
        run("fit", tmp_path / "data.csv", "--target", f"ill{ESCAPE}"),
        run("predict", tmp_path / f"none{ESCAPE}", tmp_path / "data.csv"),
    ]
    for result in results:
        assert not {"\x1b", "\x07", "\x9b"} & set(result.output)


def test_printable_keeps_everything_else():
    assert printable("Zoë\t日本\nx") == "Zoë\t日本\nx"
    assert printable("a\x1b[2Jb\x9b") == "a\ufffd[2Jb\ufffd"


@pytest.mark.parametrize("path", ["/dev/zero", "/dev/null", "/dev/urandom"])
def test_devices_are_refused(path, model):
    if not Path(path).exists():
        pytest.skip(f"there is no {path} here")
    done = run("predict", model, path)
    assert done.exit_code == 3 and "device" in done.stderr


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_pipes_are_read_up_to_a_limit(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "MAX_BYTES", 10**5)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = subprocess.Popen([sys.executable, "-c", f"open({str(pipe)!r}, 'wb').write(bytes(10**8))"], stderr=-3)
    with pytest.raises(DataError, match="larger than"):
        read_frame(str(pipe))
    writer.wait(timeout=60)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_small_pipe_is_a_table(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = subprocess.Popen([sys.executable, "-c", f"open({str(pipe)!r}, 'w').write('a,b\\n1,2\\n')"])
    assert read_frame(str(pipe)).shape == (1, 2)
    writer.wait(timeout=60)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_said_plainly(tmp_path, model):
    table().to_csv(tmp_path / "data.csv", index=False)
    done = run("predict", model, tmp_path / "data.csv", "--out", "/dev/full")
    assert done.exit_code == 3
    assert "No space left on device for /dev/full; make room" in done.stderr


@pytest.mark.skipif(not Path("/dev/null").exists(), reason="needs /dev/null")
def test_a_model_file_never_replaces_a_device(tmp_path):
    table().to_csv(tmp_path / "data.csv", index=False)
    done = run("fit", tmp_path / "data.csv", "--target", "ill", "--out", "/dev/null")
    assert done.exit_code == 2 and "device" in done.stderr
    assert Path("/dev/null").is_char_device()


@pytest.mark.parametrize("suffix", [".csv", ".tsv"])
def test_very_many_columns_are_refused_at_once(suffix, tmp_path):
    cells = [f"c{i}" for i in range(200_000)]
    mark = "\t" if suffix == ".tsv" else ","
    path = tmp_path / f"wide{suffix}"
    path.write_text(mark.join(cells) + "\n" + mark.join("1" for _ in cells) + "\n")
    start = time.process_time()
    done = run("fit", path, "--target", "c0")
    assert done.exit_code == 3 and "200000 columns" in done.stderr
    assert time.process_time() - start < 5


def test_an_unreadable_column_is_an_error_at_predict(tmp_path, model):
    new = table()
    new["age"] = "forty"
    new.to_csv(tmp_path / "new.csv", index=False)
    done = run("predict", model, tmp_path / "new.csv")
    assert done.exit_code == 3 and "'age'" in done.stderr and "forty" in done.stderr and done.stdout == ""


def test_an_empty_column_is_missing_and_no_error(tmp_path, model):
    new = table()
    new["age"] = ""
    new.to_csv(tmp_path / "new.csv", index=False)
    assert run("predict", model, tmp_path / "new.csv").exit_code == 0
