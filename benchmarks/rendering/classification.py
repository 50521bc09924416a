"""Tables of ``python -m benchmarks classification``."""

from benchmarks._paired import chosen, difference, ratio_text
from benchmarks._results import Row
from benchmarks._runner import OURS
from benchmarks._tables import table
from benchmarks.methods import CLASSIFIERS
from benchmarks.rendering._methods import Column, each_set, methods_of, sections

COLUMNS = [
    Column("log_loss", "log loss", 4, compared=True),
    Column("error", "error %", 2, compared=True),
    Column("brier", "Brier", 4),
    Column("ece", "ECE %", 1),
]
ORDER = list(CLASSIFIERS)


def is_binary(row: Row) -> bool:
    """Whether a row is of a set with two classes."""
    return row.get("classes") == 2


def several(row: Row) -> bool:
    """Whether a row is of a set with more classes."""
    return int(str(row.get("classes", 0))) > 2


def render(rows: list[Row]) -> str:
    """The section of docs/benchmarks.md."""
    parts = {}
    for group in ("confirmation", "development"):
        for kind, test in (("two classes", is_binary), ("more classes", several)):
            parts[f"{group.capitalize()} sets, {kind}"] = lambda row, g=group, t=test: row["group"] == g and t(row)
    held = chosen(rows, lambda row: row["group"] == "confirmation")
    listing = "### Log loss on each confirmation set, mean over seeds\n\n" + each_set(held, COLUMNS[0], ORDER)
    return sections(rows, parts, COLUMNS, ORDER) + "\n\n" + listing  # type: ignore[arg-type]


def summary(rows: list[Row]) -> str:
    """The README's words and table: confirmation sets, 100 and 400 rows; a set counts once.

    A method that was run on one of the two kinds of sets only is left to the page of all tables.
    """
    held = chosen(rows, lambda row: row["group"] == "confirmation" and row["n"] in (100, 400))
    sets = [len({row["set"] for row in held if row["method"] == OURS and test(row)}) for test in (is_binary, several)]
    lines: list[list[str]] = []
    for name in methods_of(held, ORDER)[1:]:
        cells: list[str] = []
        counts = []
        for test in (is_binary, several):
            its = chosen(held, lambda row: row["method"] == name and test(row))  # noqa: B023
            ours = chosen(held, lambda row: row["method"] == OURS and test(row))  # noqa: B023
            loss, error = difference(its, ours, "log_loss"), difference(its, ours, "error")
            cells += [loss.text(3), error.text(1), ratio_text(its, ours)]
            counts.append(loss.sets)
        if all(counts):
            fewer = f" ({counts[0]} and {counts[1]} sets)" if counts != sets else ""
            lines.append([f"{name}{fewer}", *cells])
    kinds = ("2 classes", "more")
    header = [text for kind in kinds for text in (f"log loss, {kind}", f"error points, {kind}", f"CPU / ours, {kind}")]
    words = (
        f"Default settings on data sets on which no choice was made, {sets[0]} with two classes and {sets[1]} with "
        "more, 100 and 400\ntraining rows. Log loss and error: the method's minus those of `BayesianSVC()`, so + is "
        "worse than ours, with standard\nerrors over sets. CPU: its time over ours."
    )
    if any("sets)" in line[0] for line in lines):
        words += " A method that ran on fewer sets says on how many, and is\ncompared on these."
    return f"{words}\n\n{table(['method', *header], lines)}"
