"""No measured figure in README, docs or the paper is typed by hand: they stand between marks that the report renews."""

import dataclasses
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from softmargin.policy import POLICY

ROOT = Path(__file__).parent.parent
NUMBERS_OF_OTHERS = {"compatibility.md", "errata.md", "notation.md"}
"""Versions of packages, and numbers of the papers' sections and equations."""
GENERATED = {"benchmarks.md"}
VERSIONS = {"1.9", "1.11", "3.11", "3.13"}
KNOWN = {
    "README.md": VERSIONS | {"95 %"},  # the level of an interval
    "architecture.md": {"25", "60"},  # the most hops, the rows of the fit that is traced: tests/test_hops.py
    "categories.md": {"255"},  # values of a column, a limit in the code
    "CONTRIBUTING.md": {"60", "300", "40"}  # lines of a file or function
    | {"100,000", "96"}  # problems of `make fuzz` and of the tests
    | {"10,000", "20"},  # fits and mebibytes of tests/soak.py
    "cli.md": {"3", "4", "130"} | {"20,000"},  # exit codes; columns, a limit in the code
    "guide.md": {"3.1", "3.4", "3.6", "3.7", "3.11", "4.1", "4.3"}  # equations
    | {"20", "8", "50 times", "200,000", "100,000"},  # limits in the code
    "imbalanced.md": {"8 %", "3"},  # examples of a probability and a weight
    "index.md": {"95 %"},
    "likelihood.md": {"60"},  # lines, counted by tests/likelihoods/test_contract.py
    "noise.md": {"1.5", "80 %"} | {"3", "6", "9", "133"},  # constants of the method, a level; seeds, rows of a set
    "stack.md": {"400"},  # rows of a trial that is not kept
    "structure.md": {"20"},  # inputs, a constant of the method
    "troubleshooting.md": {"20", "1,000"},  # robust standard deviations, a bound of C: constants of the method
    "tutorial.md": {"2.2", "3.7", "3.11", "5.3"},  # equations
    "why.md": VERSIONS,
}
FIGURE = re.compile(r"(?<![\w.])[+-]?\d*\.\d+|\d+ ?%|\d+ (?:s|seconds|MB|times)\b")
INTEGER = re.compile(r"(?<![\w.,/^-])\d+(?:,\d{3})*(?![\w^/]|[.,]\d|-\w| ?%| (?:s|seconds|MB|times)\b)")
YEAR = re.compile(r"\b(?:19|20)\d\d\b(?! rows)")
CITED = re.compile(
    r"\b(?:eqs?\.|figures?|sections?|note|level|S|GS|GGH|(?:NIPS|ESANN|Neurocomputing|Machine Learning)\*?)"
    r"(?:,? (?:and |to )?\d[\d.]*(?:-\d+)?)+"
)
FEW = {"0", "1", "2"}
SINGLE = ("README.md", "CONTRIBUTING.md", "paper/paper.md")
PAGES = [
    path
    for path in (*(ROOT / name for name in SINGLE), *sorted((ROOT / "docs").rglob("*.md")))
    if path.exists() and not {"gallery", "_build"} & set(path.parts) and path.name not in NUMBERS_OF_OTHERS | GENERATED
]


COUNTS = re.compile(r"(?:^|_)(?:rows|rank|above|inducing|sample|reservoir|subset|from)$")


def constants(record: Any) -> Iterator[float]:
    """Every constant of the policy that counts rows, ranks or inducing points."""
    for field in dataclasses.fields(record):
        value = getattr(record, field.name)
        for item in value if isinstance(value, tuple) else (value,):
            if dataclasses.is_dataclass(item):
                yield from constants(item)
            elif isinstance(item, int | float) and COUNTS.search(field.name):
                yield item


THRESHOLDS = {f"{int(value):,}" for value in constants(POLICY) if value == int(value) and value >= 100}
"""Rows, ranks and inducing points at which the defaults change: pages must say what the code does."""
OF_ROWS = re.compile(r"\b(?:rows?|ranks?|points)\b")
"""What a paragraph speaks of that may name such a threshold."""


def prose(text: str) -> str:
    """The words of a page: no code, formulas, addresses, numbers of a list, nor what the report writes."""
    text = re.sub(r"<!-- benchmarks (\w+): begin -->.*?<!-- benchmarks \1: end -->", "", text, flags=re.DOTALL)
    text = re.sub(r"\A---\n.*?^---", "", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"`[^`]*`|\]\([^)]*\)", "", text)
    text = re.sub(r"^\d+\. ", "", text, flags=re.MULTILINE)
    text = re.sub(r"^:+(?:\{|\w+:).*$", "", text, flags=re.MULTILINE)
    return re.sub(r"\$\$.*?\$\$|\$[^$]*\$", "", text, flags=re.DOTALL)


def figures(text: str) -> list[str]:
    """Figures in the words of a page, and integers that no citation and no threshold of the policy explains."""
    words = prose(text)
    found = []
    for paragraph in re.split(r"\n\s*\n", CITED.sub("", YEAR.sub("", words))):
        explained = FEW | (THRESHOLDS if OF_ROWS.search(paragraph) else set())
        found += [number for number in INTEGER.findall(paragraph) if number not in explained]
    return FIGURE.findall(words) + found


@pytest.mark.skipif(not PAGES, reason="an installed package has no pages")
@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_figure_is_typed_by_hand(path):
    typed = set(figures(path.read_text(encoding="utf-8"))) - KNOWN.get(path.name, set())
    assert not typed, f"{sorted(typed)}: let `python -m benchmarks report` write them, or say which command prints them"


def test_a_typed_figure_is_found():
    page = "It gains 0.033 and 12 %.\n```python\nx = 1.5\n```\n`0.7` $0.5$ [a](b0.1)\n"
    made = "<!-- benchmarks noise: begin -->\n| 0.25 |\n<!-- benchmarks noise: end -->"
    assert figures(page + made) == ["0.033", "12 %"]


def test_a_typed_count_is_found():
    assert figures("It wins on 17 of 23 sets and 13,962 problems; with 3 classes too.") == ["17", "23", "13,962", "3"]
    assert figures("Sollich (2002), eqs. 31, 33 and 36 to 37, S 24 and 25; *NIPS* 12; Matern 3/2, 10^8, 2 sets") == []
    # A threshold that the code no longer has.
    assert figures(f"Above {POLICY.size.sparse_above:,} rows") == []
    assert figures(f"Above {POLICY.size.sparse_above + 1:,} rows") == [f"{POLICY.size.sparse_above + 1:,}"]
    # A number of rows that explains no number of wins, and a bound of the search that is no number of rows.
    assert figures(f"It wins on {POLICY.size.dense_rows} problems") == [f"{POLICY.size.dense_rows}"]
    assert figures("Above 100,000 rows") == ["100,000"]
