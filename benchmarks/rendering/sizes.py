"""Tables and the picture of ``python -m benchmarks sizes``."""

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._results import Row
from benchmarks._runner import OURS
from benchmarks._tables import table

TITLES = {
    "binary": "Two classes, d = 10 (log loss)",
    "ten classes": "Ten classes, d = 10 (log loss)",
    "regression": "Regression, Friedman 1, d = 10 (RMSE)",
}


OLD = "softmargin 0.1"
"""Only beside ours at one size: in the table of several draws."""


def of_set(rows: list[Row], name: str) -> dict[str, dict[int, Row]]:
    """The finished rows of a problem's first draw, by method and number of rows; ours first."""
    found: dict[str, dict[int, Row]] = {OURS: {}}
    for row in rows:
        if row["set"] == name and "failed" not in row and row.get("seed", 0) == 0 and row["method"] != OLD:
            found.setdefault(str(row["method"]), {})[int(str(row["n"]))] = row
    return {method: dict(sorted(cells.items())) for method, cells in found.items() if cells}


def render(rows: list[Row]) -> str:
    """The section of docs/benchmarks.md: CPU seconds, peak megabytes and loss for each size."""
    text = []
    for name, title in TITLES.items():
        found = of_set(rows, name)
        sizes = sorted({n for cells in found.values() for n in cells})
        if not sizes:
            continue
        failed = [row for row in rows if row["set"] == name and row["method"] in found and "failed" in row]
        ended = {(row["method"], row["n"]): str(row["failed"]) for row in failed}
        sizes = sorted({*sizes, *(int(str(row["n"])) for row in failed)})
        lines = [[n, *[_cell(cells.get(n)) or ended.get((m, n), "") for m, cells in found.items()]] for n in sizes]
        legend = "CPU s / peak MB / loss" + (" / log density, where a method has one" if name == "regression" else "")
        text.append(f"### {title}\n\n{legend}.\n\n" + table(["rows", *found], lines))
    return "\n\n".join([*text, *repeated(rows), "![CPU time and loss against the number of rows](_static/sizes.png)"])


def repeated(rows: list[Row]) -> list[str]:
    """The section of sizes that have several draws: means over them, with standard errors."""
    made: dict[tuple[str, int], dict[str, list[Row]]] = {}
    for row in rows:
        if "failed" not in row:
            place = made.setdefault((str(row["set"]), int(str(row["n"]))), {})
            place.setdefault(str(row["method"]), []).append(row)
    lines = [
        [
            name,
            n,
            method,
            len(found),
            f"{_mean(found, 'cpu'):.3g}",
            _spread(found, "loss"),
            _spread(found, "log_density"),
        ]
        for (name, n), methods in sorted(made.items())
        for method, found in sorted(methods.items(), key=lambda item: item[0] != OURS)
        if len(found) > 1
    ]
    names = ["problem", "rows", "method", "draws", "CPU s", "loss", "log density"]
    return [f"### Several draws\n\n{table(names, lines)}"] if lines else []


def _mean(rows: list[Row], field: str) -> float:
    return float(np.mean([float(str(row[field])) for row in rows]))


def _spread(rows: list[Row], field: str) -> str:
    if not all(field in row for row in rows):
        return ""
    error = np.std([float(str(row[field])) for row in rows], ddof=1) / len(rows) ** 0.5
    return f"{_mean(rows, field):.4f} ({error:.4f})"


def _cell(row: Row | None) -> str:
    if row is None:
        return ""
    density = f" / {row['log_density']:.4f}" if "log_density" in row else ""
    return f"{row['cpu']:.3g} / {row['memory']:.0f} / {row['loss']:.4f}{density}"


def draw(rows: list[Row], path: Path) -> None:
    """CPU time (log-log) and loss of every method against the number of rows."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    there = {name: title for name, title in TITLES.items() if of_set(rows, name)}
    size = (4.4 * len(there), 6.5)
    figure, axes = plt.subplots(2, len(there), figsize=size, sharex=True, squeeze=False, constrained_layout=True)
    peers = dict.fromkeys(method for name in there for method in of_set(rows, name) if method != OURS)
    styles: dict[str, Any] = {peer: {"linewidth": 1.2, "color": f"C{k}"} for k, peer in enumerate(peers)}
    styles[OURS] = {"linewidth": 2.5, "color": "black", "zorder": 3}
    for (upper, lower), (name, title) in zip(axes.T, there.items()):
        for method, cells in of_set(rows, name).items():
            style = styles[method]
            upper.loglog(list(cells), [row["cpu"] for row in cells.values()], "o-", ms=3, label=method, **style)
            lower.semilogx(list(cells), [row["loss"] for row in cells.values()], "o-", ms=3, **style)
        upper.set_title(title)
        lower.set_xlabel("training rows")
    axes[0, 0].set_ylabel("CPU s of the fit")
    axes[1, 0].set_ylabel("loss on held-out rows")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=5, fontsize="small")
    figure.savefig(path, dpi=110)
    plt.close(figure)
