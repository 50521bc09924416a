"""What became better or worse between two commits: python -m benchmarks compare A B [NAME].

A and B are commits whose results are compared, or directories of results; "." is the working tree. Rows are paired by
data set, rows, seed and split; means over sets with standard errors over sets. Methods: --method=softmargin in both, or
--method="softmargin 0.1,softmargin" for one in A and another in B. CPU ratios between two runs say little, unless both
were measured on one machine.
"""

import argparse
import subprocess
from pathlib import Path

from benchmarks._paired import by_set, chosen, common, difference, ratio
from benchmarks._results import RESULTS, Row, parse
from benchmarks._tables import table

COLUMNS = {
    "classification": {"log_loss": 4, "error": 2, "brier": 4},
    "regression": {"log_density": 4, "rmse": 4, "cover95": 2},
    "sizes": {"loss": 4, "log_density": 4, "memory": 0},
    "categories": {"loss": 4},
    "low_rank": {"log_loss": 4, "error": 2},
    "many_classes": {"log_loss": 4, "error": 2},
    "messy": {"held_out": 4},
    "noise": {"log_density": 4, "rmse": 4},
}
GROUPS = {"sizes": "set", "categories": "measure", "messy": "measure"}
"""The field that keeps apart what cannot be averaged: losses of several kinds. Elsewhere the group of sets."""


def rows_at(where: str, name: str) -> list[Row]:
    """The rows of a command at a commit or in a directory."""
    if Path(where).is_dir():
        directory = RESULTS if where == "." else Path(where)
        text = (directory / f"{name}.json").read_text(encoding="utf-8")
    else:
        asked = ["git", "-C", str(RESULTS.parent), "show", f"{where}:./results/{name}.json"]
        text = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
    return list(parse(text).values())


def compared(old: list[Row], new: list[Row], columns: dict[str, int], apart: str = "group") -> str:
    """Tables of new - old for each group and number of rows, and the data sets that moved most."""
    lines = []
    cells = sorted({(str(row.get(apart, "")), int(str(row["n"]))) for row in new})
    for group, n in cells:
        a = chosen(new, lambda row: row.get(apart, "") == group and row["n"] == n)  # noqa: B023
        gaps = [difference(a, old, column) for column in columns]
        if gaps[0].sets:
            cpu = ratio(a, old, together=False)
            lines.append([group, n, gaps[0].sets, *[g.text(d) for g, d in zip(gaps, columns.values())], f"{cpu:.2f}"])
    text = table([apart, "rows", "sets", *[f"{c}, new - old (se)" for c in columns], "CPU, new / old"], lines)
    first = next(iter(columns))
    left, right = common(new, old, first)
    before, after = by_set(right, first), by_set(left, first)
    moved = sorted(after, key=lambda key: after[key] - before[key])
    most = [[*key, f"{before[key]:.4f}", f"{after[key]:.4f}"] for key in [*moved[:5], *moved[-5:]]]
    return text + f"\n\nLargest changes of {first}:\n\n" + table(["set", "rows", "old", "new"], most)


def main() -> None:
    """Print the comparison."""
    arguments = argparse.ArgumentParser(
        prog="python -m benchmarks compare", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    arguments.add_argument("a")
    arguments.add_argument("b")
    arguments.add_argument("name", nargs="?", default="classification", choices=list(COLUMNS))
    arguments.add_argument("--method", type=lambda text: text.split(","), default=["softmargin"])
    asked = arguments.parse_args()
    old = chosen(rows_at(asked.a, asked.name), lambda row: row["method"] == asked.method[0])
    new = chosen(rows_at(asked.b, asked.name), lambda row: row["method"] == asked.method[-1])
    print(compared(old, new, COLUMNS[asked.name], GROUPS.get(asked.name, "group")))


if __name__ == "__main__":
    main()
