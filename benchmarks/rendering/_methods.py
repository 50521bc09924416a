"""Tables of methods: means, paired differences to ours with standard errors over data sets, CPU ratios."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from benchmarks._paired import by_set, chosen, common, difference, mean, ratio_text, usable
from benchmarks._results import Row
from benchmarks._runner import OURS
from benchmarks._tables import table


@dataclass(frozen=True)
class Column:
    """A figure of the tables: its field, its title, its digits, whether it is compared with ours."""

    field: str
    title: str
    digits: int
    compared: bool = False


def methods_of(rows: list[Row], order: list[str]) -> list[str]:
    """The methods that have rows: ours, its former version, then the others."""
    there = {str(row["method"]) for row in rows}
    ours = [OURS, *sorted(name for name in there if name.startswith(f"{OURS} "))]
    return [name for name in [*ours, *(name for name in order if name != OURS)] if name in there]


def against_ours(rows: list[Row], columns: list[Column], order: list[str]) -> str:
    """One line for each method, on the splits that it shares with ours."""
    header: list[object] = ["method", "sets"]
    for column in columns:
        header += [column.title, *([f"{column.title}: it - ours (se)"] if column.compared else [])]
    header += [f"lower {columns[0].title}: ours/it", "CPU s", "CPU / ours"]
    of = {name: chosen(rows, lambda row: row["method"] == name) for name in methods_of(rows, order)}  # noqa: B023
    return table(header, [_line(name, of[name], of[OURS], columns) for name in of])


def _line(name: str, its: list[Row], ours: list[Row], columns: list[Column]) -> list[object]:
    shared = common(its, ours, "cpu")[0]
    line: list[object] = [f"**{name}**" if name == OURS else name, len({row["set"] for row in shared})]
    for column in columns:
        value = mean(shared, column.field)
        line.append("" if np.isnan(value) else f"{value:.{column.digits}f}")
        if column.compared:
            line.append("" if name == OURS else difference(its, ours, column.field).text(column.digits))
    gap = difference(its, ours, columns[0].field)
    record = "" if name == OURS or not gap.sets else f"{gap.higher}/{gap.lower}"
    logs = [np.log(float(str(row["cpu"]))) for row in common(its, ours, "cpu", together=True)[0]]
    return [*line, record, f"{np.exp(np.mean(logs)):.2f}" if logs else "", ratio_text(its, ours)]


def each_set(rows: list[Row], column: Column, order: list[str]) -> str:
    """A figure of every data set and number of rows, mean over seeds."""
    names = methods_of(rows, order)
    found = {
        name: by_set(
            chosen(rows, lambda row: row["method"] == name and usable(row, column.field)),  # noqa: B023
            column.field,
        )
        for name in names
    }
    places = sorted({key for values in found.values() for key in values}, key=lambda key: (str(key[0]), key[1]))  # type: ignore[index]
    lines = []
    for place in places:
        cells = [f"{found[name][place]:.{column.digits}f}" if place in found[name] else "" for name in names]
        lines.append([*place, *cells])
    return table(["set", "rows", *names], lines)


def sections(rows: list[Row], parts: dict[str, Callable[[Row], bool]], columns: list[Column], order: list[str]) -> str:
    """Tables for each part and each number of rows."""
    text = []
    for title, test in parts.items():
        part = chosen(rows, test)
        for n in sorted({int(str(row["n"])) for row in part}):
            here = chosen(part, lambda row: row["n"] == n)  # noqa: B023
            if any(row["method"] == OURS for row in here):
                text.append(f"### {title}, {n} training rows\n\n{against_ours(here, columns, order)}")
    return "\n\n".join(text)
