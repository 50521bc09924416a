"""Three pages of the built documentation in a real browser."""

import importlib.util
from pathlib import Path

import pytest

HTML = Path(__file__).parents[2] / "docs" / "_build" / "html"
_spec = importlib.util.spec_from_file_location("page_tests", Path(__file__).with_name("test_page.py"))
page_tests = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(page_tests)


@pytest.mark.slow
@pytest.mark.skipif(page_tests.BROWSER is None, reason="no Chromium; Debian's package is chromium")
@pytest.mark.skipif(not HTML.exists(), reason="the documentation is not built: make docs")
@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("name", ["index.html", "guide.html", "migrating.html", "gallery/plot_first_look.html"])
def test_docs_in_a_browser(name, width, tmp_path):
    (tmp_path / "docs").symlink_to(HTML)
    seen, errors = page_tests.look(tmp_path, f"docs/{name}", width)
    assert errors == []
    assert seen["broken"] == 0 and (seen["images"] > 0 or "gallery" not in name)
    assert seen["overflow"] <= 0
    assert seen["smallest"] >= 12


@pytest.mark.slow
@pytest.mark.skipif(page_tests.BROWSER is None, reason="no Chromium; Debian's package is chromium")
@pytest.mark.skipif(not HTML.exists(), reason="the documentation is not built: make docs")
@pytest.mark.parametrize("name", [f"{page}.html" for page in ("errata", "benchmarks", "categories", "noise", "papers")])
def test_tables_are_not_cut(name, tmp_path):
    (tmp_path / "docs").symlink_to(HTML)
    seen, _ = page_tests.look(tmp_path, f"docs/{name}", 1280)
    assert seen["cut"] == 0
