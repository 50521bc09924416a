"""The report is one self-contained page; in a real browser it shows its pictures without an error at both widths."""

import functools
import http.server
import json
import re
import shutil
import subprocess
import threading
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from softmargin.experiment import OURS, THEIRS, column_importances, effects, fit_experiment, measure
from softmargin.report import plots
from softmargin.report.effects import effect_drawers
from softmargin.report.page import _hardest, _scores, render, write_report
from softmargin.report.tables import _gaps
from softmargin.report.terminal import numbers, plain
from softmargin.tables import Choice, read_table

BROWSER = next((p for p in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if p), None)

PROBE = """<!DOCTYPE html><title>probe</title>
<iframe id="page" src="REPORT" style="width:WIDTHpx;height:3000px;border:0"></iframe><pre id="result"></pre>
<script>
document.getElementById("page").onload = (event) => {
  const page = event.target.contentDocument, images = [...page.images];
  const texts = [...page.querySelectorAll("p, li, td, th, figcaption, h1, h2, div.value, div.rival")];
  document.getElementById("result").textContent = JSON.stringify({
    images: images.length,
    broken: images.filter((i) => !(i.complete && i.naturalWidth > 0 && i.getBoundingClientRect().width > 150)).length,
    overflow: page.documentElement.scrollWidth - page.documentElement.clientWidth,
    smallest: Math.min(...texts.map((t) => parseFloat(getComputedStyle(t).fontSize))),
    cut: [...page.querySelectorAll("table")].filter((t) => t.scrollWidth > t.parentElement.clientWidth + 1).length,
    title: page.title,
  });
};
</script>"""


@pytest.fixture(scope="module")
def classified(tmp_path_factory):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    frame = pd.DataFrame(X, columns=["one", "two", "three"])
    frame["class"] = np.where(X[:, 0] + 0.5 * rng.normal(size=60) > 0, "up", "down")
    path = tmp_path_factory.mktemp("d") / "d.csv"
    frame.to_csv(path, index=False)
    return measure(fit_experiment(read_table(str(path), "class"), max_iter=10))


@pytest.fixture(scope="module")
def regressed(tmp_path_factory):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": np.linspace(-3, 3, 60)})
    frame["y"] = np.sin(frame["x"]) + 0.1 * rng.normal(size=60)
    path = tmp_path_factory.mktemp("d") / "d.csv"
    frame.to_csv(path, index=False)
    return measure(fit_experiment(read_table(str(path), "y", regression=True), regression=True, max_iter=10))


@pytest.fixture(scope="module")
def regressed_page(regressed):
    return render(regressed)


@pytest.fixture(scope="module")
def page(classified):
    return render(classified)


class Links(HTMLParser):
    """Collects everything a page would load."""

    def __init__(self):
        super().__init__()
        self.found, self.tags = [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.found += [value for name, value in attrs if name in ("src", "href", "srcset")]


def test_page_is_self_contained(page):
    links = Links()
    links.feed(page)
    assert links.found and all(link.startswith("data:image/svg+xml;base64,") for link in links.found)
    assert "script" not in links.tags and "link" not in links.tags
    assert "url(" not in page and "@import" not in page


def test_classification_page_says_everything(page):
    for text in ("What was learnt", "Which columns matter", "Can the probabilities be believed?", "Hardest rows",
                 "Support vectors and margins", "The search", "The landscape around the optimum", "What they do",
                 "Columns in numbers", "How well are the classes told apart?",
                 "What is taken for what", "Class by class", "Decisions at a price"):  # fmt: skip
        assert f"<h2>{text}</h2>" in page
    assert "<h2>Gaps</h2>" not in page


def test_regression_page_says_everything(regressed_page):
    for text in ("Predictions with intervals", "Do the intervals hold what they promise?", "Residuals", "Hardest rows"):
        assert f"<h2>{text}</h2>" in regressed_page


def test_page_is_reproducible(classified, page, tmp_path):
    assert write_report(classified, tmp_path / "r.html").read_text() == page
    assert [p.name for p in tmp_path.iterdir()] == ["r.html"]


def test_hardest_rows_are_only_hard_ones(classified, regressed):
    wrong = int(np.sum(classified.predictions[OURS].argmax(axis=1) != classified.truth))
    assert 0 < wrong <= 10 and len(_hardest(classified)["rows"]) == wrong
    forecast = regressed.predictions[OURS]
    outside = int(np.sum((regressed.truth < forecast.lower) | (regressed.truth > forecast.upper)))
    found = _hardest(regressed)
    assert (0 if found is None else len(found["rows"])) == outside


def test_numbers_are_written_as_people_write_them():
    written = {3020.4: "3020", 12345678.0: "12300000", 0.00123: "0.00123", 0.5: "0.500", 1e12: "1e+12", 3e-7: "3e-07",
               0.0: "0", -45.678: "-45.7", 999.9: "1000"}  # fmt: skip
    assert {value: plain(value) for value in written} == written
    assert numbers([1.0, 2500.0]) == "1.00 to 2500"


def test_gaps_are_said(classified):
    frame = classified.table.X.copy()
    frame.loc[frame.index[:6], "one"] = np.nan
    experiment = replace(classified, table=replace(classified.table, X=frame))
    gaps = _gaps(experiment)
    assert gaps.rows[0][:2] == ["one", "6 of 60 (10%)"] and gaps.rows[0][2].startswith("the median, ")


def test_hardest_rows_are_numbered_as_in_the_file(classified, tmp_path):
    frame = classified.table.X.assign(**{"class": classified.table.y})
    frame.loc[:9, "class"] = None
    # Some wrong labels, so that there are hard rows.
    frame.loc[20:39, "class"] = frame.loc[20:39, "class"].map({"up": "down", "down": "up"})
    frame.to_csv(tmp_path / "d.csv", index=False)
    experiment = measure(fit_experiment(read_table(str(tmp_path / "d.csv"), "class"), max_iter=1))
    for row in _hardest(experiment)["rows"]:
        assert row["true"] == frame["class"].iloc[row["row"] - 1] and row["row"] > 10


def test_a_perfect_baseline_is_shown(classified):
    scores = {OURS: {"error": 0.25}, THEIRS: {"error": 0.0}}
    assert _scores(replace(classified, scores=scores)) == [
        {"label": "error", "ours": "25.0%", "theirs": "0.0%", "better": False}
    ]


def test_page_without_held_out_rows(classified, monkeypatch):
    monkeypatch.setattr(plots, "SURFACE_ROWS", 0)
    page = render(fit_experiment(classified.table, test_size=0, max_iter=3))
    assert "No rows were held out" in page and "Hardest rows" not in page


def test_three_classes(monkeypatch):
    monkeypatch.setattr(plots, "SURFACE_ROWS", 0)
    frame_y = np.repeat(["a", "b", "c"], 20)
    rng = np.random.default_rng(0)
    table = read_table("crabs", None)
    X = pd.DataFrame(rng.normal(size=(60, 2)) + np.repeat(np.eye(3)[:, :2] * 4, 20, axis=0), columns=["u", "v"])
    table = type(table)("three", X, pd.Series(frame_y, name="which"), ("u", "v"), ())
    experiment = measure(fit_experiment(table, max_iter=5), against_baseline=False)
    page = re.sub(r'data:[^"]*', "", render(experiment))
    assert "each class against the others" in page and "The 3 classes are told apart by least squares" in page
    assert "holds 90 % of the posterior" in page and "<h2>The search</h2>" in page
    # The support vector machines of pairs of classes, which do not predict, were not fitted for the page.
    assert "hinge" not in vars(experiment.model._fit) and "first pair" not in page


@pytest.mark.skipif(BROWSER is None, reason="no Chromium; Debian's package is chromium")
@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("kind", ["page", "regressed_page"])
def test_page_in_a_browser(kind, width, request, tmp_path):
    (tmp_path / "report.html").write_text(request.getfixturevalue(kind))
    seen, errors = look(tmp_path, "report.html", width)
    assert errors == []
    assert seen["images"] >= 6 and seen["broken"] == 0
    assert seen["overflow"] <= 0 and seen["cut"] == 0
    assert seen["smallest"] >= 13
    assert "predicted from" in seen["title"]


@pytest.mark.skipif(BROWSER is None, reason="no Chromium; Debian's package is chromium")
@pytest.mark.parametrize("kind", ["page", "regressed_page"])
def test_page_on_paper(kind, request, tmp_path):
    (tmp_path / "report.html").write_text(request.getfixturevalue(kind))
    options = ["--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}"]
    paper = tmp_path / "report.pdf"
    command = [BROWSER, *options, f"--print-to-pdf={paper}", (tmp_path / "report.html").as_uri()]
    subprocess.run(command, capture_output=True, timeout=300, check=True)
    sheets = len(re.findall(rb"/Type /Page\b", paper.read_bytes()))
    # One figure to a line took 9 to 14 sheets, one grid for the figures and another for the tables 4.
    assert 2 <= sheets <= 3


def test_days_of_the_hardest_rows_have_no_time(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"day": pd.date_range("2020-01-01", periods=60), "y": rng.normal(size=60)})
    # The latest rows are held out, and some of them are far off.
    frame.loc[55:, "y"] = 100.0
    frame.to_csv(tmp_path / "d.csv", index=False)
    table = read_table(str(tmp_path / "d.csv"), "y", regression=True, choice=Choice(time="day"))
    experiment = measure(fit_experiment(table, regression=True, max_iter=1), against_baseline=False)
    assert {"2020-02-25", "2020-02-29"} <= {cell for row in _hardest(experiment)["rows"] for cell in row["cells"]}


@pytest.mark.parametrize("days", [20, 400, 4000])
def test_dates_below_an_effect_do_not_overlap(days, tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"day": pd.Timestamp("2011-11-20") + pd.to_timedelta(rng.integers(0, days, 60), unit="D")})
    frame["y"] = frame["day"].dt.dayofyear + rng.normal(size=60)
    frame.to_csv(tmp_path / "d.csv", index=False)
    table = read_table(str(tmp_path / "d.csv"), "y", regression=True)
    experiment = fit_experiment(table, regression=True, test_size=0, max_iter=1)
    (effect,) = effects(experiment, column_importances(experiment))
    assert effect.is_date
    figure = Figure(figsize=(4.4, 3.0), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    effect_drawers(experiment, [effect])[0](axes)
    figure.canvas.draw()
    boxes = [text.get_window_extent() for text in axes.get_xticklabels() if text.get_text()]
    assert len(boxes) > 2
    assert all(left.x1 < right.x0 for left, right in pairwise(boxes))


def look(folder, page, width):
    """What a browser sees of a page at a width, and what its console complains about."""
    (folder / "probe.html").write_text(PROBE.replace("REPORT", page).replace("WIDTH", str(width)))
    handler = functools.partial(Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.missing = []
        threading.Thread(target=server.serve_forever, daemon=True).start()
        options = [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--enable-logging=stderr",
            "--dump-dom",
            f"--user-data-dir={folder / 'profile'}",
            "--virtual-time-budget=10000",
            "--window-size=1400,3200",
        ]
        url = f"http://127.0.0.1:{server.server_address[1]}/probe.html"
        done = subprocess.run([BROWSER, *options, url], capture_output=True, text=True, timeout=300, check=False)
        server.shutdown()
    result = re.search(r'<pre id="result">(.*?)</pre>', done.stdout, re.S)
    assert result and result[1], done.stderr[-2000:]
    # The theme of the documentation announces its colours; everything else on the console is a complaint.
    errors = [line for line in done.stderr.splitlines() if "CONSOLE" in line and "[PST]: Changed to" not in line]
    errors += server.missing
    return json.loads(result[1].replace("&amp;", "&").replace("&lt;", "<")), errors


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves files without a line for each, and remembers what was asked for in vain."""

    def log_message(self, *args):
        pass

    def send_error(self, code, message=None, explain=None):
        if "favicon" not in self.path:
            self.server.missing.append(self.path)
        super().send_error(code, message, explain)
