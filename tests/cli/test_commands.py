"""The command line: what it prints, its exit codes, hostile inputs, Ctrl-C."""

import io
import json
import os
import signal
import subprocess
import sys
import textwrap
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from typer.testing import CliRunner

import softmargin
from softmargin import cli, persistence
from softmargin.cli import commands
from softmargin.tuning import objective

EVIL = '<script>alert(1)</script><img src=x onerror="alert(2)">'


def run(*args, stdin=None):
    return CliRunner().invoke(cli.app, [str(a) for a in args], input=stdin)


def people(n=40, seed=0) -> pd.DataFrame:
    """A small table with numbers, words and gaps."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    frame = pd.DataFrame(
        {"age": 40 + 10 * x, "town": rng.choice(["Ulm", "Bonn", "Kiel"], n), "size": rng.normal(size=n)}
    )
    frame["ill"] = np.where(x + 0.3 * rng.normal(size=n) > 0, "yes", "no")
    frame.loc[[3, 7], "size"] = np.nan
    frame.loc[5, "town"] = None
    return frame


@pytest.fixture(scope="module")
def csv(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "people.csv"
    people().to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def model(csv, tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "people.skops"
    assert run("fit", csv, "--target", "ill", "--out", path, "--no-baseline").exit_code == 0
    return path


def refused(result, code, *words):
    """One line on standard error that says what and what to do; nothing on standard output."""
    assert result.exit_code == code, result.output
    assert result.stdout == ""
    assert result.stderr.startswith("softmargin: ")
    assert "Traceback" not in result.stderr
    for word in words:
        assert word in result.stderr
    assert len(result.stderr) < 2000


# -- what it does --------------------------------------------------------------------------------------------------


def test_help_imports_little():
    code = """
    import sys
    from softmargin import cli
    try:
        cli.app(["--help"])
    except SystemExit as leave:
        assert leave.code == 0
    heavy = {"sklearn", "numpy", "scipy", "pandas", "matplotlib", "numba"} & set(sys.modules)
    assert not heavy, heavy
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "compare" in done.stdout


def test_fit_prints_what_was_learnt(csv):
    result = run("fit", csv, "--target", "ill")
    assert result.exit_code == 0, result.stderr
    for word in ("age", "log evidence", "error", "log loss", "calibration error", "SVC, grid search + sigmoid"):
        assert word in result.stdout


def test_fit_json(csv, tmp_path):
    result = run("fit", csv, "--target", "ill", "--json", "--out", tmp_path / "m.skops", "--test-size", "0.3")
    facts = json.loads(result.stdout)
    assert facts["task"] == "classification" and facts["classes"] == ["no", "yes"]
    assert facts["rows"] == {"train": 28, "test": 12}
    assert set(facts["held_out"]) == {"softmargin", "baseline"}
    assert facts["learnt"]["C"] > 0 and set(facts["learnt"]["relevance"]) == {"age", "town", "size"}
    assert softmargin.load(facts["model"]).classes_.tolist() == ["no", "yes"]


def test_same_seed_same_numbers(csv):
    first, second = (json.loads(run("fit", csv, "--target", "ill", "--no-baseline", "--json").stdout) for _ in range(2))
    assert first["held_out"] == second["held_out"] and first["learnt"] == second["learnt"]


def test_nothing_held_out(csv):
    facts = json.loads(run("fit", csv, "--target", "ill", "--test-size", "0", "--json").stdout)
    assert facts["rows"] == {"train": 40, "test": 0} and facts["held_out"] == {}


def test_predict_gives_probabilities(model, csv):
    answer = pd.read_csv(io.StringIO(run("predict", model, csv).stdout))
    assert answer.columns.tolist() == ["prediction", "p_no", "p_yes"]
    p = answer[["p_no", "p_yes"]].to_numpy()
    np.testing.assert_allclose(p.sum(axis=1), 1)
    assert (answer["prediction"].eq("yes") == (p[:, 1] > 0.5)).all()


def test_predict_through_pipes_and_files(model, csv, tmp_path):
    direct = run("predict", model, csv).stdout
    assert run("predict", model, "-", stdin=csv.read_text()).stdout == direct
    assert run("predict", model, csv, "--out", tmp_path / "p.csv").stdout == ""
    assert (tmp_path / "p.csv").read_text() == direct
    rows = json.loads(run("predict", model, csv, "--json").stdout)
    assert len(rows) == 40 and rows[0]["prediction"] in ("yes", "no")


def test_fit_from_standard_input(csv):
    assert run("fit", "-", "--target", "ill", "--no-baseline", stdin=csv.read_text()).exit_code == 0


@pytest.mark.parametrize("suffix", ["tsv", "parquet", "semicolon.csv", "bom.csv"])
def test_other_formats_give_the_same_model(csv, suffix, tmp_path):
    frame, path = pd.read_csv(csv), tmp_path / f"people.{suffix}"
    if suffix == "parquet":
        frame.to_parquet(path)
    elif suffix == "bom.csv":
        path.write_bytes(b"\xef\xbb\xbf" + csv.read_bytes())
    else:
        frame.to_csv(path, index=False, sep="\t" if suffix == "tsv" else ";")
    options = ("--target", "ill", "--no-baseline", "--json")
    learnt, expected = (json.loads(run("fit", source, *options).stdout)["learnt"] for source in (path, csv))
    # pandas writes numbers to within a rounding error.
    assert learnt["C"] == pytest.approx(expected["C"], rel=1e-6) and learnt["kernel"] == expected["kernel"]


def test_regression_end_to_end(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": np.linspace(-3, 3, 60)})
    frame["y"] = np.sin(frame["x"]) + 0.1 * rng.normal(size=60)
    frame.to_csv(tmp_path / "d.csv", index=False)
    result = run("fit", tmp_path / "d.csv", "--target", "y", "--regression", "--out", tmp_path / "m.skops", "--json")
    facts = json.loads(result.stdout)
    assert facts["held_out"]["softmargin"]["rmse"] < 0.2
    narrow, wide = (
        pd.read_csv(io.StringIO(run("predict", tmp_path / "m.skops", tmp_path / "d.csv", "--level", level).stdout))
        for level in (0.5, 0.95)
    )
    assert narrow.columns.tolist() == ["prediction", "std", "lower", "upper"]
    assert (wide["lower"] < narrow["lower"]).all() and (narrow["upper"] < wide["upper"]).all()


def test_compare(csv):
    result = run(
        "compare", csv, "--target", "ill", "--kernel", "rbf", "--kernel", "linear", "--criterion", "auto", "--json"
    )
    fits = json.loads(result.stdout)["fits"]
    assert [f["kernel"] for f in fits] == ["rbf", "linear"]
    assert all(0 <= f["error"] <= 1 for f in fits)
    assert "kernel" in run("compare", csv, "--target", "ill", "--kernel", "rbf", "--criterion", "auto").stdout


def test_info(model):
    facts = json.loads(run("info", model, "--json").stdout)
    assert facts["numeric"] == ["age", "size"] and facts["category"] == ["town"] and facts["classes"] == ["no", "yes"]
    assert "BayesianSVC" in run("info", model).stdout


@pytest.mark.parametrize("options", [("--target", "ill"), ("--target", "age", "--regression")])
def test_many_rows_use_inducing_points(options, csv, tmp_path, set_policy):
    set_policy("size", sparse_above=20)
    out, report = tmp_path / "m.skops", tmp_path / "r.html"
    result = run("fit", csv, *options, "--out", out, "--report", report, "--no-baseline", "--json")
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["learnt"]["support_vectors"] is None
    assert softmargin.load(out).inference_ == "sparse"
    assert "inducing points" in report.read_text()
    assert "support vectors" not in run("fit", csv, *options, "--no-baseline").stdout
    assert run("info", out).exit_code == 0 and run("predict", out, csv).exit_code == 0


def test_version():
    assert run("--version").stdout.strip() == softmargin.__version__


# -- hostile inputs ------------------------------------------------------------------------------------------------


def test_html_in_names_and_labels_is_never_live(tmp_path):
    frame = people().rename(columns={"age": f"age{EVIL}", "ill": f"ill{EVIL}"})
    frame["town"] = frame["town"].map(lambda t: t and f"{t}{EVIL}")
    frame[f"ill{EVIL}"] = frame[f"ill{EVIL}"].map(lambda v: f"{v}{EVIL}$\\frac")
    frame.to_csv(tmp_path / "evil.csv", index=False)
    report = tmp_path / "r.html"
    result = run("fit", tmp_path / "evil.csv", "--target", f"ill{EVIL}", "--report", report, "--no-baseline")
    assert result.exit_code == 0, result.stderr
    page = report.read_text()
    assert "<script" not in page and "<img src=x" not in page
    assert "&lt;script&gt;" in page
    # The text of figures is drawn as outlines, so nothing of it can be live either.
    assert page.count("<img ") == page.count('<img src="data:image/svg+xml;base64,')


def test_a_cell_of_a_million_characters(tmp_path):
    frame = people()
    frame["remark"] = "x"
    frame.loc[4, "remark"] = "y" * 10**6
    frame.to_csv(tmp_path / "d.csv", index=False)
    result = run("fit", tmp_path / "d.csv", "--target", "ill", "--no-baseline", "--report", tmp_path / "r.html")
    assert result.exit_code == 0, result.stderr
    assert len(result.stdout) < 10_000 and "y" * 1000 not in (tmp_path / "r.html").read_text()


def test_mixed_encodings(tmp_path):
    path = tmp_path / "d.csv"
    path.write_bytes("a,b\n1,müde\n".encode() + "2,müde\n".encode("latin-1"))
    refused(run("fit", path, "--target", "b"), 3, "line 3", "--encoding")
    refused(run("fit", path, "--target", "b", "--encoding", "klingon"), 3, "klingon")


def test_duplicate_columns(tmp_path):
    path = tmp_path / "d.csv"
    path.write_text("a,a,b\n1,2,x\n3,4,y\n")
    refused(run("fit", path, "--target", "b"), 3, "same name", "rename")


def test_unseen_categories_and_types_at_predict(model, tmp_path):
    frame = people()
    frame["town"] = "Atlantis"
    frame["age"] = frame["age"].astype(object)
    frame.loc[0, "age"] = "old"
    frame.to_csv(tmp_path / "new.csv", index=False)
    result = run("predict", model, tmp_path / "new.csv")
    assert result.exit_code == 0
    assert "Atlantis" in result.stderr and "'age': 1 cells" in result.stderr
    assert len(result.stdout.splitlines()) == 41


def test_column_missing_at_predict(model, tmp_path):
    people().drop(columns="age").to_csv(tmp_path / "new.csv", index=False)
    refused(run("predict", model, tmp_path / "new.csv"), 3, "'age'")


@pytest.mark.parametrize(
    "content", [b"", b"\n \n", b"a,b\n", b"\x00\x01\x02\xff" * 50, b"PAR1 and nonsense", b'a,b\n"1,2\n']
)
def test_files_that_are_no_tables(content, tmp_path):
    path = tmp_path / "d.csv"
    path.write_bytes(content)
    refused(run("fit", path, "--target", "b"), 3, "d.csv")


def test_ragged_rows(tmp_path):
    path = tmp_path / "d.csv"
    path.write_text("a,b\n1,2\n1,2,3,4\n")
    refused(run("fit", path, "--target", "b"), 3, "regular")


def test_directory_and_missing_file(tmp_path, model):
    refused(run("fit", tmp_path, "--target", "b"), 3, "directory")
    refused(run("fit", tmp_path / "no.csv", "--target", "b"), 3, "no file", "pima")
    refused(run("predict", model, tmp_path), 3, "directory")
    refused(run("info", tmp_path), 4, "directory")


def test_truncated_model(model, csv, tmp_path):
    broken = tmp_path / "broken.skops"
    broken.write_bytes(model.read_bytes()[:-200])
    refused(run("predict", broken, csv), 4, "damaged")


def test_model_with_foreign_types(model, csv, tmp_path):
    path = tmp_path / "foreign.skops"
    skops.io.dump(make_pipeline(FunctionTransformer(os.system), softmargin.BayesianSVC()), path)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr(persistence.HEADER, zipfile.ZipFile(model).read(persistence.HEADER))
    refused(run("predict", path, csv), 4, "posix.system", "Nothing was loaded")


def test_model_that_is_no_pipeline_of_ours(csv, tmp_path):
    X = np.arange(10.0)[:, None]
    path = softmargin.save(softmargin.BayesianSVC(C=1.0, search=None).fit(X, X[:, 0] > 4), tmp_path / "bare.skops")
    refused(run("predict", path, csv), 4, "softmargin.load")


@pytest.mark.parametrize(
    ("column", "values", "word"),
    [
        ("t", ["one"] * 30, "one class only"),
        ("t", [f"c{i}" for i in range(30)], "distinct values"),
        ("t", list(range(30)), "--regression"),
        ("t", ["a"] * 28 + ["b"] * 2, "needs 3"),
        ("t", [None] * 30, "no values"),
        ("other", ["a", "b", "b"] * 10, "no column 't'"),
    ],
)
def test_targets_that_cannot_be_learnt(column, values, word, tmp_path):
    pd.DataFrame({"x": np.arange(30.0), column: values}).to_csv(tmp_path / "d.csv", index=False)
    refused(run("fit", tmp_path / "d.csv", "--target", "t"), 3, word)


def test_regression_on_words(csv):
    refused(run("fit", csv, "--target", "ill", "--regression"), 3, "no finite numbers")


def test_no_input_columns(tmp_path):
    pd.DataFrame({"t": ["a", "b"] * 10, "name": [f"n{i}" for i in range(20)]}).to_csv(tmp_path / "d.csv", index=False)
    refused(run("fit", tmp_path / "d.csv", "--target", "t"), 3, "no column is left")


def test_numbers_that_are_not(tmp_path):
    frame = people()
    frame["size"] = frame["size"].astype(object)
    frame.loc[0, "size"], frame.loc[1, "size"] = "inf", "1e999"
    frame.to_csv(tmp_path / "d.csv", index=False)
    facts = json.loads(run("fit", tmp_path / "d.csv", "--target", "ill", "--no-baseline", "--json").stdout)
    assert any("'size': 2 cells" in note for note in facts["notes"])


def test_bad_options(csv, tmp_path):
    assert run("fit", csv, "--target", "ill", "--test-size", "7").exit_code == 2
    assert run("fit").exit_code == 2
    wrong = run("fit", csv, "--target", "ill", "--kernel", "magic")
    assert wrong.exit_code == 2 and "magic" in wrong.stderr and "rbf" in wrong.stderr
    refused(run("fit", csv, "--target", "ill", "--out", tmp_path), 2, "directory")
    refused(run("fit", csv, "--target", "ill", "--out", tmp_path / "no" / "m.skops"), 2, "no directory")
    refused(run("fit", csv), 3, "--target")
    refused(run("fit", csv, "--target", "Ill"), 3, "did you mean 'ill'")


# -- Ctrl-C --------------------------------------------------------------------------------------------------------


def interrupt_after(monkeypatch, count):
    """Send SIGINT to this process at the given evaluation of the search."""
    seen = []
    real = objective.notify

    def notify(*args):
        seen.append(args)
        if len(seen) == count:
            signal.raise_signal(signal.SIGINT)
        real(*args)

    monkeypatch.setattr(objective, "notify", notify)
    return seen


def test_interrupt_saves_the_best_so_far(csv, tmp_path, monkeypatch):
    seen = interrupt_after(monkeypatch, 3)
    result = run("fit", csv, "--target", "ill", "--out", tmp_path / "m.skops", "--report", tmp_path / "r.html")
    assert result.exit_code == 130
    assert "m.skops" in result.stderr and not (tmp_path / "r.html").exists()
    assert len(seen) <= 6
    assert run("predict", tmp_path / "m.skops", csv).exit_code == 0


def test_interrupt_without_out_offers_it(csv, monkeypatch):
    interrupt_after(monkeypatch, 3)
    result = run("fit", csv, "--target", "ill")
    assert result.exit_code == 130 and "--out" in result.stderr


def test_interrupt_during_the_baseline_keeps_the_model(csv, tmp_path, monkeypatch):
    def measure(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(commands, "measure", measure)
    result = run("fit", csv, "--target", "ill", "--out", tmp_path / "m.skops", "--json")
    assert result.exit_code == 130 and json.loads(result.stdout)["interrupted"] is True
    assert softmargin.load(tmp_path / "m.skops")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows sends no SIGINT to one process")
def test_a_real_signal_ends_a_real_process(csv, tmp_path):
    code = """
    from softmargin.tuning import objective
    real = objective.notify
    def notify(*args):
        print("evaluated", flush=True)
        real(*args)
    objective.notify = notify
    from softmargin.cli import main
    main()
    """
    out = tmp_path / "m.skops"
    command_line = [sys.executable, "-c", textwrap.dedent(code), "fit", str(csv), "--target", "ill", "--out", str(out)]
    with subprocess.Popen(command_line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "evaluated\n"
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=300)
    assert process.returncode == 130, errors
    assert "Traceback" not in errors and Path(out).exists()


@pytest.mark.parametrize("words", [("info",), ("info", "--json"), ("fit", "mcycle", "--regression", "--no-baseline")])
def test_a_reader_that_leaves_is_no_error(words, model):
    words = [*words, str(model)] if words[0] == "info" else [*words]
    command_line = [sys.executable, "-m", "softmargin.cli", *words]
    with subprocess.Popen(command_line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        process.stdout.close()
        errors = process.stderr.read()
        assert process.wait(timeout=300) == 0, errors
    assert "Traceback" not in errors and "Broken" not in errors
