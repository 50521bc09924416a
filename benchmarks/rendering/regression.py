"""Tables of ``python -m benchmarks regression``."""

from benchmarks._paired import chosen
from benchmarks._results import Row
from benchmarks.methods import REGRESSORS
from benchmarks.rendering._methods import Column, each_set, sections

COLUMNS = [
    Column("log_density", "log density", 3, compared=True),
    Column("rmse", "RMSE", 4, compared=True),
    Column("cover50", "covered at 50 %", 1),
    Column("cover80", "at 80 %", 1),
    Column("cover95", "at 95 %", 1),
]
ORDER = list(REGRESSORS)


def render(rows: list[Row]) -> str:
    """The section of docs/benchmarks.md."""
    parts = {
        f"{group.capitalize()} sets": lambda row, g=group: row["group"] == g
        for group in ("confirmation", "development")
    }
    held = chosen(rows, lambda row: row["group"] == "confirmation")
    listing = "### Log density on each confirmation set, mean over seeds\n\n" + each_set(held, COLUMNS[0], ORDER)
    return sections(rows, parts, COLUMNS, ORDER) + "\n\n" + listing  # type: ignore[arg-type]
