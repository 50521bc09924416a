"""What the commands of the command line do, without the parsing of their arguments."""

import sys
from contextlib import nullcontext
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import pandas as pd
from rich.table import Table as Grid
from rich.text import Text

from softmargin import persistence
from softmargin.cli.output import Terminal, as_csv, print_json, to_json
from softmargin.cli.progress import interruptible, tuning, waiting
from softmargin.experiment import OURS, Experiment, fit_experiment, learnt_settings, measure
from softmargin.report import terminal
from softmargin.tables import (
    Choice,
    DataError,
    Table,
    columns_of,
    conform,
    read_frame,
    read_table,
    relevance_by_column,
    short,
    unseen_categories,
)

INTERRUPTED = 130


@dataclass(frozen=True)
class Request:
    """What `fit` and `compare` are asked."""

    data: str
    target: str | None
    regression: bool
    test_size: float | None
    seed: int
    encoding: str
    as_json: bool
    options: dict[str, Any]
    decimal: str | None = None
    choice: Choice = field(default_factory=Choice)

    def table(self) -> Table:
        """Read the data."""
        return read_table(
            self.data,
            self.target,
            regression=self.regression,
            encoding=self.encoding,
            decimal=self.decimal,
            choice=self.choice,
        )

    def fit(self, table: Table, **options: Any) -> Experiment:
        """Fit with the request's options and those given."""
        return fit_experiment(
            table,
            regression=self.regression,
            test_size=self.test_size,
            seed=self.seed,
            **{**self.options, **options},
        )


def run_fit(request: Request, *, out: Path | None, report: Path | None, baseline: bool) -> int:
    """Fit, save, measure, report; return the exit code."""
    stdout, stderr = Terminal(), Terminal(stderr=True)
    show = not request.as_json
    with waiting(stderr, f"Reading {request.data}", show=show and stderr.is_terminal):
        table = request.table()
    with interruptible(stderr) as interrupt:
        with tuning(stderr, interrupt, show=show):
            experiment = request.fit(table)
        # Saved at once: whatever happens later, the model is there.
        if out is not None:
            persistence.save(experiment.model, out)
        if interrupt.asked:
            return _leave_early(experiment, out, request, stdout, stderr)
    try:
        with waiting(stderr, "Tuning the baseline", show=show) if baseline else nullcontext():
            experiment = measure(experiment, against_baseline=baseline, seed=request.seed)
        if report is not None:
            from softmargin.report.page import write_report

            with waiting(stderr, "Drawing the report", show=show):
                write_report(experiment, report)
    except KeyboardInterrupt:
        return _leave_early(experiment, out, request, stdout, stderr)
    _present(experiment, request, stdout, model=out, report=report)
    return 0


def _leave_early(experiment: Experiment, out: Path | None, request: Request, stdout: Terminal, stderr: Terminal) -> int:
    _present(experiment, request, stdout, model=out, report=None, interrupted=True)
    kept = f"the best model so far is in {out}" if out else "give --out to keep the best model so far"
    stderr.print(Text(f"softmargin: interrupted; {kept}"))
    return INTERRUPTED


def _present(
    experiment: Experiment,
    request: Request,
    stdout: Terminal,
    *,
    model: Path | None,
    report: Path | None,
    interrupted: bool = False,
) -> None:
    if request.as_json:
        files = {"model": model and str(model), "report": report and str(report), "interrupted": interrupted}
        print_json({**experiment.summary(), **files})
        return
    terminal.show(experiment, stdout)
    for name, path in (("model", model), ("report", report)):
        if path is not None:
            stdout.print(Text(f"{name}: {path}"))


def run_predict(
    model: Path,
    data: str,
    out: Path | None,
    *,
    level: float,
    encoding: str,
    decimal: str | None,
    ids: tuple[str, ...],
    as_json: bool,
) -> None:
    """Predict the rows of a table and write CSV or JSON."""
    estimator = _load(model)
    frame = read_frame(data, encoding, decimal)
    X, notes = conform(frame, columns_of(estimator))
    lost = [name for name in ids if name not in frame.columns]
    if lost:
        raise DataError(f"there is no column {short(lost[0])!r} to keep; there are {short(list(frame.columns))}")
    notes += unseen_categories(estimator, X)
    answer = pd.concat([frame[list(ids)], _answer(estimator, X, level).set_index(frame.index)], axis=1)
    for note in notes:
        Terminal(stderr=True).print(Text(f"note: {note}", style="yellow"))
    if as_json:
        text = to_json(answer.to_dict(orient="records"))
    else:
        text = as_csv(answer)
    if out is None:
        sys.stdout.write(text)
        sys.stdout.flush()
        return
    try:
        out.write_text(text, encoding="utf-8")
    except OSError as error:
        # A full disk is noticed on closing, when the name is no longer known.
        raise OSError(error.errno, error.strerror, str(out)) from error


def _answer(model: Any, X: pd.DataFrame, level: float) -> pd.DataFrame:
    """The prediction with the probability of each class, or with its standard deviation and interval."""
    if hasattr(model, "predict_proba"):
        p = model.predict_proba(X)
        columns = {"prediction": model.classes_[p.argmax(axis=1)]}
        return pd.DataFrame(columns | {f"p_{c}": p[:, k] for k, c in enumerate(model.classes_)})
    mean, std = model.predict(X, return_std=True)
    interval = model.predict_interval(X, confidence_level=level)
    return pd.DataFrame({"prediction": mean, "std": std, "lower": interval[:, 0], "upper": interval[:, 1]})


def _load(model: Path) -> Any:
    estimator = persistence.load(model)
    if getattr(estimator, "encoder_", None) is None or not hasattr(estimator, "feature_names_in_"):
        raise persistence.ModelFileError(
            f"{str(model)!r} holds a {type(estimator).__name__} that was not fitted to a table with named columns, as "
            "`softmargin fit` does; use it from Python: softmargin.load(path)"
        )
    return estimator


def run_info(model: Path, *, as_json: bool) -> None:
    """Say what a model file holds."""
    estimator = _load(model)
    kinds = columns_of(estimator)
    learnt = learnt_settings(estimator)
    kernels = learnt.pop("kernel")
    kernels = kernels if isinstance(kernels, list) else [kernels]
    facts = {
        "file": str(model),
        **persistence.read_header(model),
        "estimator": type(estimator).__name__,
        "numeric": [name for name, kind in kinds.items() if kind == "number"],
        "category": [name for name, kind in kinds.items() if kind == "category"],
        "date": [name for name, kind in kinds.items() if kind == "date"],
        "classes": [str(c) for c in getattr(estimator, "classes_", [])],
        "kernel": kernels if as_json else [terminal.short_kernel(kernel) for kernel in kernels],
        **learnt,
        "relevance": relevance_by_column(estimator),
    }
    if as_json:
        print_json(facts)
        return
    grid = Grid(box=None, show_header=False)
    for name, value in facts.items():
        if value is None or value == []:
            continue
        grid.add_row(name.replace("_", " "), Text(_line(value)))
    Terminal().print(grid)


def _line(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{short(k)} {v:.2f}" if isinstance(v, float) else f"{short(k)} {v}" for k, v in value.items())
    if isinstance(value, list):
        return ", ".join(short(v) for v in value) or "-"
    return f"{value:.4g}" if isinstance(value, float) else short(value)


def run_compare(request: Request, kernels: list[str], criteria: list[str]) -> None:
    """Fit every kernel with every criterion on the same rows."""
    stderr = Terminal(stderr=True)
    show = not request.as_json
    table = request.table()
    rows = []
    for kernel, criterion in product(kernels, criteria):
        with waiting(stderr, f"Fitting {kernel}, {criterion}", show=show):
            fitted = measure(request.fit(table, kernel=kernel, criterion=criterion), against_baseline=False)
        learnt = fitted.summary()["learnt"]
        rows.append(
            {
                "kernel": kernel,
                "criterion": criterion,
                "log_evidence": learnt.get("log_evidence"),
                "C": learnt.get("C"),
                **fitted.scores.get(OURS, {}),
                "seconds": fitted.seconds,
            }
        )
    if not rows:
        raise DataError("nothing to compare; give at least one --kernel and one --criterion")
    if request.as_json:
        print_json({"data": request.data, "target": str(table.y.name), "fits": rows})
        return
    _show_comparison(rows)


def _show_comparison(rows: list[dict[str, Any]]) -> None:
    grid = Grid(box=None, header_style="bold")
    for name in rows[0]:
        label = terminal.MEASURES.get(name, (name.replace("_", " "), ""))[0]
        # Wide enough for the longest word of its heading; a narrow terminal breaks between words.
        width = max(map(len, label.split()))
        grid.add_column(label, justify="left" if name in ("kernel", "criterion") else "right", min_width=width)
    for row in rows:
        grid.add_row(*(_cell(name, value) for name, value in row.items()))
    Terminal().print(grid)


def _cell(name: str, value: Any) -> Text:
    if name in terminal.MEASURES:
        return Text(terminal.written(name, value))
    if name in ("kernel", "criterion"):
        return Text(value)
    if value is None:
        # One machine for all classes has neither C nor a log evidence.
        return Text("")
    return Text(terminal.numbers(value) if name == "C" else f"{value:.2f}")
