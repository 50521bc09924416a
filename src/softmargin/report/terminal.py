"""The terminal's view of an experiment: short tables for people."""

import re
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from softmargin.experiment import OURS, THEIRS, Experiment
from softmargin.tables import importance_by_column, short

MEASURES = {
    "error": ("error", "{:.1%}"),
    "log_loss": ("log loss (nats)", "{:.3f}"),
    "calibration_error": ("calibration error", "{:.3f}"),
    "rmse": ("RMSE", ""),
    "mean_absolute_error": ("mean absolute error", ""),
    "negative_log_density": ("negative log density", "{:.3f}"),
    "coverage_95": ("coverage of 95 % intervals", "{:.1%}"),
    "interval_width": ("mean width of the intervals", ""),
}
"""Measure -> what people call it, and how it is written: as a plain number if nothing else is said."""
BAR = 24
MOST = 20
"""Rows of the table of importance that a terminal shows."""

SHOWN_SCALES = 5
"""Length scales of a kernel that are shown to people."""


def short_kernel(kernel: Any) -> str:
    """A kernel as text, with a long list of length scales cut to its first ones."""

    def cut(found: re.Match[str]) -> str:
        scales = found[1].split(", ")
        return (
            found[0]
            if len(scales) <= SHOWN_SCALES
            else f"[{', '.join(scales[:SHOWN_SCALES])}, ... ({len(scales)} in all)]"
        )

    return re.sub(r"\[([^\[\]]*)\]", cut, str(kernel))


def baseline_name(regression: bool) -> str:
    """What the baseline is, in a few words."""
    return "SVR, grid search" if regression else "SVC, grid search + sigmoid"


def show(experiment: Experiment, console: Console) -> None:
    """Print what was learnt and how well it predicts."""
    _heading(experiment, console)
    _importances(experiment, console)
    _scores(experiment, console)
    for note in (*experiment.table.notes, *experiment.notes):
        console.print(Text(f"note: {note}", style="yellow"))


def written(measure: str, value: float) -> str:
    """A measure as people read it."""
    form = MEASURES[measure][1]
    return form.format(value) if form else plain(value, 4)


def plain(value: float, digits: int = 3) -> str:
    """A number with some digits as people write it: 3020 and 0.0012, powers of ten only where they save many zeros."""
    if not np.isfinite(value) or value == 0:
        return f"{value:g}"
    power = int(np.floor(np.log10(abs(value))))
    if not -4 <= power <= 8:
        return f"{value:.{digits}g}"
    rounded = round(float(value), digits - 1 - power)
    return f"{rounded:.{max(digits - 1 - power, 0)}f}"


def count(n: int, what: str) -> str:
    """So many of something."""
    return f"{n} {what}" if n == 1 else f"{n} {what}s"


def numbers(value: Any) -> str:
    """One number, or the range of several."""
    values = value if isinstance(value, list) else [value]
    low, high = min(values), max(values)
    return plain(low) if low == high else f"{plain(low)} to {plain(high)}"


def _heading(experiment: Experiment, console: Console) -> None:
    facts = experiment.summary()
    learnt = facts["learnt"]
    console.print(
        Text(
            f"{short(facts['data'])}: {short(facts['target'])} from {count(experiment.table.X.shape[1], 'column')}, "
            f"{facts['rows']['train']} rows to learn from, {facts['rows']['test']} held out",
            style="bold",
        )
    )
    found = learnt["kernel"] if isinstance(learnt["kernel"], list) else [learnt["kernel"]]
    kernels = [short_kernel(kernel) for kernel in found]
    more = f" (and {len(kernels) - 1} more pairs)" if len(kernels) > 1 else ""
    grid = Grid.grid(padding=(0, 2))
    if "C" in learnt:
        grid.add_row("C", numbers(learnt["C"]))
    if experiment.regression:
        grid.add_row("epsilon", numbers(learnt["epsilon"]))
    grid.add_row("kernel", Text(kernels[0] + more))
    if "log_evidence" in learnt:
        grid.add_row("log evidence", f"{learnt['log_evidence']:.2f} nats")
    if "noise_std" in learnt:
        grid.add_row("noise", f"{plain(learnt['noise_std'])} (of targets 0 and 1)")
    if learnt.get("support_vectors") is not None:
        grid.add_row("support vectors", f"{learnt['support_vectors']} of {facts['rows']['train']} rows")
    grid.add_row("search", f"{learnt['evaluations']} evaluations, {experiment.seconds:.1f} s")
    console.print(grid)


def _importances(experiment: Experiment, console: Console) -> None:
    importance = importance_by_column(experiment.model)
    if not importance:
        return
    top = max(importance.values()) or 1.0
    grid = Grid(title="Which columns matter", title_justify="left", box=None, show_header=False)
    for name, value in list(importance.items())[:MOST]:
        grid.add_row(Text(short(name)), Text("█" * max(1, round(BAR * value / top)), style="cyan"), f"{value:.0%}")
    if len(importance) > MOST:
        grid.add_row(f"... and {len(importance) - MOST} columns more", "", "")
    console.print(grid)


def _scores(experiment: Experiment, console: Console) -> None:
    if not experiment.scores:
        console.print("Nothing was held out, so nothing was measured.")
        return
    title = f"On {len(experiment.test)} held-out rows"
    grid = Grid(title=title, title_justify="left", box=None, header_style="bold")
    grid.add_column("")
    names = {OURS: "softmargin", THEIRS: baseline_name(experiment.regression)}
    for name in experiment.scores:
        grid.add_column(names[name], justify="right")
    for measure in experiment.scores[OURS]:
        grid.add_row(MEASURES[measure][0], *(written(measure, s[measure]) for s in experiment.scores.values()))
    console.print(grid)
