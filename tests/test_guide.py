"""The code on the pages of the documentation runs as it stands, block after block."""

import re
import warnings
from pathlib import Path
from unittest import mock

import matplotlib.pyplot as plt
import numpy as np
import pytest

from softmargin import BayesianSVC
from softmargin.criteria import CRITERIA

ROOT = Path(__file__).parents[1]
PAGES = sorted(p.relative_to(ROOT).as_posix() for p in (ROOT / "docs").rglob("*.md") if "_build" not in p.parts)
PYTHON = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)


def blocks(page):
    return PYTHON.findall((ROOT / page).read_text(encoding="utf-8"))


def reader():
    """What a reader of the pages has at hand: rows, new rows, and a model."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    y = (X[:, 0] + 0.5 * rng.normal(size=40) > 0).astype(int)
    return {"__name__": "page", "X": X, "y": y, "X_new": X[:3] + 0.1, "model": BayesianSVC()}


def test_every_page_of_code_is_found():
    found = [page for page in PAGES if blocks(page)]
    assert {"docs/quickstart.md", "docs/migrating.md", "docs/guide.md"} < set(found)
    assert sum(page.startswith("docs/howto/") for page in found) == 4


@pytest.mark.parametrize("page", ["README.md", *(page for page in PAGES if blocks(page))])
def test_the_code_of_a_page_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    plt.switch_backend("Agg")
    names = reader()
    with mock.patch.dict(CRITERIA), warnings.catch_warnings():
        # "Before" on the page about migration: `SVC(probability=True)` is deprecated.
        warnings.simplefilter("ignore", FutureWarning)
        for number, code in enumerate(blocks(page), 1):
            exec(compile(code, f"{page}, block {number}", "exec"), names)
    plt.close("all")


@pytest.mark.parametrize("page", [page for page in PAGES if Path(page).stem not in ("benchmarks", "categories")])
def test_lines_of_prose_are_wrapped(page):
    """Tables and pictures aside, and the two pages that a program renders."""
    lines = (ROOT / page).read_text().splitlines()
    assert [line for line in lines if len(line) > 130 and not line.startswith(("|", "!["))] == []
