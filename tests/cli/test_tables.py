"""Tables as people have them: packed, with commas, dates, ids and columns to choose."""

import gzip
import io
import json
import lzma
import zipfile

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from softmargin import cli, criteria
from softmargin.cli.arguments import CriterionName, KernelName
from softmargin.experiment import split_rows
from softmargin.kernels import KERNEL_NAMES
from softmargin.report.terminal import short_kernel
from softmargin.tables import BUNDLED, Choice, DataError, read_frame, read_table


def run(*args):
    return CliRunner().invoke(cli.app, [str(a) for a in args])


def patients(n=40):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "id": np.arange(1, n + 1),
            "name": [f"patient {i}" for i in range(n)],
            "dose": rng.normal(5, 2, n).round(3),
            "ward": rng.choice(["A", "B", "C", "D"], n),
            "seen": pd.date_range("2020-11-20", periods=n).strftime("%d.%m.%Y"),
        }
    )
    frame["well"] = np.where(frame["dose"] + (frame["ward"] == "A") > 5, "yes", "no")
    return frame


@pytest.fixture
def csv(tmp_path):
    path = tmp_path / "patients.csv"
    patients().to_csv(path, index=False)
    return path


def test_packed_files_are_unpacked(csv, tmp_path):
    content, plain = csv.read_bytes(), read_frame(str(csv))
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("patients.csv", content)
    for name, packed in (("gz", gzip.compress(content)), ("xz", lzma.compress(content)), ("zip", archive.getvalue())):
        path = tmp_path / f"p.csv.{name}"
        path.write_bytes(packed)
        pd.testing.assert_frame_equal(read_frame(str(path)), plain)
        path.write_bytes(packed[:-20])
        with pytest.raises(DataError, match=r"cannot be unpacked|regular"):
            read_frame(str(path))


def test_a_zip_archive_holds_one_table(tmp_path):
    path = tmp_path / "two.zip"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("a.csv", "x\n1\n")
        file.writestr("b.csv", "x\n1\n")
    with pytest.raises(DataError, match=r"holds 2 files \('a.csv', 'b.csv'\)"):
        read_frame(str(path))


@pytest.mark.parametrize("decimal", [None, ","])
def test_decimal_commas(tmp_path, decimal):
    path = tmp_path / "p.csv"
    path.write_text("a;b;c\n1,5;x,5;1.200,5\n-2;y;3,25\n;z;7\n")
    frame = read_frame(str(path), decimal=decimal)
    assert frame["a"].tolist()[:2] == ["1.5", "-2"] and frame["c"].tolist() == ["1200.5", "3.25", "7"]
    assert frame["b"].tolist() == ["x,5", "y", "z"]
    assert read_frame(str(path), decimal=".")["a"].tolist()[0] == "1,5"


def test_ids_are_left_out_and_dates_are_inputs(csv):
    table = read_table(str(csv), "well")
    assert table.numeric == ("dose",) and table.category == ("ward",) and table.date == ("seen",)
    assert "'id' (numbers the rows)" in table.notes[-1] and "'name' (text with 40 distinct values)" in table.notes[-1]
    # The day comes first: there are days above 12.
    assert table.X["seen"].iloc[0] == pd.Timestamp("2020-11-20")


@pytest.mark.parametrize(
    ("values", "name", "out"),
    [
        (np.arange(30), "x", True),
        (np.arange(1, 31), "x", True),
        (np.arange(30)[::-1], "x", False),
        (np.arange(30)[::-1], "customer_id", True),
        (np.arange(1871, 1901), "year", False),
        (np.arange(30) + 0.5, "x", False),
        (np.arange(30) ** 2, "rownames", True),
        (np.arange(30) ** 2, "x", False),
        (np.arange(30)[::-1] ** 2, "rownames", False),
    ],
)
def test_what_numbers_the_rows(values, name, out, tmp_path):
    path = tmp_path / "d.csv"
    pd.DataFrame({name: values, "other": np.sin(values), "y": np.cos(values)}).to_csv(path, index=False)
    assert (name not in read_table(str(path), "y", regression=True).X) == out
    asked = read_table(str(path), "y", regression=True, choice=Choice(features=(name,)))
    assert list(asked.X) == [name]


def test_rows_are_numbered_before_those_without_a_target_go(tmp_path):
    frame = patients()
    frame.loc[[3, 7, 20], "well"] = None
    frame.to_csv(tmp_path / "gaps.csv", index=False)
    table = read_table(str(tmp_path / "gaps.csv"), "well")
    assert len(table.y) == 37 and "id" not in table.X and "'id' (numbers the rows)" in table.notes[-1]


def test_columns_can_be_chosen(csv):
    def inputs(**choice):
        return list(read_table(str(csv), "well", choice=Choice(**choice)).X)

    assert inputs(drop=("seen",)) == ["dose", "ward"]
    assert inputs(features=("ward", "dose")) == ["ward", "dose"]
    assert inputs(ids=("seen",), drop=("dose",)) == ["ward"]
    assert inputs(group="ward") == ["dose", "seen"]
    with pytest.raises(DataError, match=r"no column 'wart'.*did you mean 'ward'"):
        inputs(drop=("wart",))


def test_the_latest_rows_are_held_out(csv):
    table = read_table(str(csv), "well", choice=Choice(time="seen"))
    train, test = split_rows(table, 0.25, 0, False)
    assert len(test) == 10 and train.max() < test.min()
    with pytest.raises(DataError, match="neither a date nor a number"):
        read_table(str(csv), "well", choice=Choice(time="ward"))


def test_whole_groups_are_held_out(csv):
    table = read_table(str(csv), "well", choice=Choice(group="ward"))
    train, test = split_rows(table, 0.25, 0, False)
    wards = patients()["ward"]
    assert len(test) > 0 and not set(wards[train]) & set(wards[test])


def test_fit_and_predict_keep_the_ids(csv, tmp_path):
    model, answer = tmp_path / "m.skops", tmp_path / "p.csv"
    told = run(
        "fit", csv, "--target", "well", "--drop", "name", "--id", "id", "--out", model, "--no-baseline", "--json"
    )
    facts = json.loads(told.stdout)
    assert set(facts["learnt"]["relevance"]) == {"dose", "ward", "seen"} and facts["notes"] == []
    assert run("predict", model, csv, "--id", "name", "--out", answer).exit_code == 0
    found = pd.read_csv(answer)
    assert list(found) == ["name", "prediction", "p_no", "p_yes"]
    assert found["name"].tolist() == patients()["name"].tolist()
    refused = run("predict", model, csv, "--id", "nobody")
    assert refused.exit_code == 3 and "no column 'nobody'" in refused.stderr
    assert json.loads(run("info", model, "--json").stdout)["date"] == ["seen"]


def test_wrong_choices_are_wrong_usage(csv):
    for wrong in (
        ("--kernel", "rfb"),
        ("--criterion", "evidenz"),
        ("--decimal", ";"),
        ("--time", "seen", "--group", "w"),
    ):
        assert run("fit", csv, "--target", "well", *wrong).exit_code == 2
    assert {*CriterionName} == {"auto", *criteria.CRITERIA}
    assert {*KernelName} == {*KERNEL_NAMES} - {"precomputed"}


def test_help_names_the_bundled_sets():
    told = " ".join(run("fit", "--help").stdout.split())
    assert all(name in told for name in BUNDLED)


def test_piped_progress_is_plain_lines(csv, tmp_path):
    told = run("fit", csv, "--target", "well", "--no-baseline", "--report", tmp_path / "r.html")
    assert "Drawing the report ...\n" in told.stderr and "\x1b" not in told.stderr


def test_many_length_scales_are_cut():
    assert short_kernel("RBF(length_scale=[1, 2, 3, 4, 5, 6, 7]) + 1") == (
        "RBF(length_scale=[1, 2, 3, 4, 5, ... (7 in all)]) + 1"
    )
    assert short_kernel("RBF(length_scale=[1, 2])") == "RBF(length_scale=[1, 2])"
