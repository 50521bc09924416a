"""No measured figure in README, docs or the paper is typed by hand: they stand between marks that the report renews."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
NUMBERS_OF_OTHERS = {"compatibility.md", "errata.md", "notation.md"}
"""Versions of packages, and numbers of the papers' sections and equations."""
GENERATED = {"benchmarks.md"}
VERSIONS = {"1.9", "1.11", "3.11", "3.13"}
KNOWN = {
    "README.md": VERSIONS | {"95 %"},  # the level of an interval
    "guide.md": {"3.1", "3.4", "3.6", "3.7", "3.11", "4.1", "4.3", "50 times"},  # equations; a limit in the code
    "imbalanced.md": {"8 %"},  # an example of a probability
    "index.md": {"95 %"},
    "noise.md": {"1.5", "80 %"},  # a constant of the method; a level
    "tutorial.md": {"2.2", "3.7", "3.11", "5.3"},  # equations
    "why.md": VERSIONS,
}
FIGURE = re.compile(r"(?<![\w.])[+-]?\d*\.\d+|\d+ ?%|\d+ (?:s|seconds|MB|times)\b")
PAGES = [
    path
    for path in (ROOT / "README.md", ROOT / "paper" / "paper.md", *sorted((ROOT / "docs").rglob("*.md")))
    if path.exists() and not {"gallery", "_build"} & set(path.parts) and path.name not in NUMBERS_OF_OTHERS | GENERATED
]


def figures(text: str) -> list[str]:
    """Figures in the prose of a page: not in code, formulas, addresses or what the report writes."""
    text = re.sub(r"<!-- benchmarks (\w+): begin -->.*?<!-- benchmarks \1: end -->", "", text, flags=re.DOTALL)
    text = re.sub(r"\A---\n.*?^---", "", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"`[^`]*`|\]\([^)]*\)", "", text)
    return FIGURE.findall(re.sub(r"\$\$.*?\$\$|\$[^$]*\$", "", text, flags=re.DOTALL))


@pytest.mark.skipif(not PAGES, reason="an installed package has no pages")
@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_figure_is_typed_by_hand(path):
    typed = set(figures(path.read_text(encoding="utf-8"))) - KNOWN.get(path.name, set())
    assert not typed, f"{sorted(typed)}: let `python -m benchmarks report` write them, or say which command prints them"


def test_a_typed_figure_is_found():
    page = "It gains 0.033 and 12 %.\n```python\nx = 1.5\n```\n`0.7` $0.5$ [a](b0.1)\n"
    made = "<!-- benchmarks noise: begin -->\n| 0.25 |\n<!-- benchmarks noise: end -->"
    assert figures(page + made) == ["0.033", "12 %"]
