"""What the commands of the command line do, without the parsing of their arguments."""

import json
import math
import re
import sys
import warnings
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text
from threadpoolctl import threadpool_limits

from softmargin import persistence
from softmargin.report import terminal
from softmargin.report.experiment import OURS, Experiment, fit_experiment, measure, support_count
from softmargin.report.progress import interruptible, tuning, waiting
from softmargin.tables import (
    DataError,
    Table,
    columns_of,
    conform,
    printable,
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

    def table(self) -> Table:
        """Read the data."""
        return read_table(self.data, self.target, regression=self.regression, encoding=self.encoding)

    def fit(self, table: Table, **options: Any) -> Experiment:
        """Fit with the request's options and those given."""
        return fit_experiment(
            table,
            regression=self.regression,
            test_size=self.test_size,
            seed=self.seed,
            **{**self.options, **options},
        )


SMALL = 1000
"""Up to so many rows one thread of the linear algebra is enough; more would fight for the cores."""


def run_fit(request: Request, *, out: Path | None, report: Path | None, baseline: bool) -> int:
    """Fit, save, measure, report; return the exit code."""
    stdout, stderr = Console(), Console(stderr=True)
    show = stderr.is_terminal and not request.as_json
    with waiting(stderr, f"Reading {request.data}", show=show):
        table = request.table()
    with threadpool_limits(1 if len(table.y) <= SMALL else None):
        return _fit_and_tell(request, table, stdout, stderr, out=out, report=report, baseline=baseline)


def _fit_and_tell(
    request: Request,
    table: Table,
    stdout: Console,
    stderr: Console,
    *,
    out: Path | None,
    report: Path | None,
    baseline: bool,
) -> int:
    show = stderr.is_terminal and not request.as_json
    with interruptible(stderr) as interrupt:
        with tuning(stderr, interrupt, show=show):
            experiment = request.fit(table)
        # Saved at once: whatever happens later, the model is there.
        if out is not None:
            persistence.save(experiment.pipeline, out)
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


def _leave_early(experiment: Experiment, out: Path | None, request: Request, stdout: Console, stderr: Console) -> int:
    _present(experiment, request, stdout, model=out, report=None, interrupted=True)
    kept = f"the best model so far is in {out}" if out else "give --out to keep the best model so far"
    stderr.print(Text(f"softmargin: interrupted; {kept}"))
    return INTERRUPTED


def _present(
    experiment: Experiment,
    request: Request,
    stdout: Console,
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


def print_json(value: Any) -> None:
    """Write strict JSON to standard output: no NaN, text kept as it is."""
    sys.stdout.write(_json(value))


def _json(value: Any) -> str:
    text = json.dumps(_plain(value), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    # JSON escapes the control characters below 32 only.
    return re.sub("[\x7f-\x9f]", lambda match: f"\\u{ord(match[0]):04x}", text)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    if isinstance(value, (float, np.floating)):
        return float(value) if math.isfinite(value) else None
    return value.item() if isinstance(value, np.generic) else value


def run_predict(model: Path, data: str, out: Path | None, *, level: float, encoding: str, as_json: bool) -> None:
    """Predict the rows of a table and write CSV or JSON."""
    pipeline = _load(model)
    frame = read_frame(data, encoding)
    X, notes = conform(frame, *columns_of(pipeline))
    notes += unseen_categories(pipeline, X)
    with warnings.catch_warnings():
        # Said above in the words of the table.
        warnings.filterwarnings("ignore", message="Found unknown categories")
        answer = _answer(pipeline, X, level)
    for note in notes:
        Console(stderr=True).print(Text(f"note: {note}", style="yellow"))
    if as_json:
        text = _json(answer.to_dict(orient="records"))
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


def as_csv(answer: pd.DataFrame) -> str:
    """CSV whose words are only words: neither a spreadsheet nor a terminal finds an order in them."""
    safe = answer.copy()
    safe.columns = [_word(str(name)) for name in answer.columns]
    for name in safe.columns[[not pd.api.types.is_numeric_dtype(kind) for kind in answer.dtypes]]:
        safe[name] = [_word(str(value)) for value in safe[name]]
    text: str = safe.to_csv(index=False)
    return text


def _word(text: str) -> str:
    """Text that a spreadsheet would take for a formula gets an apostrophe in front; numbers stay numbers."""
    text = printable(text)
    if not text.lstrip().startswith(("=", "+", "-", "@")):
        return text
    try:
        float(text)
    except ValueError:
        return "'" + text
    return text


def _answer(pipeline: Any, X: pd.DataFrame, level: float) -> pd.DataFrame:
    if hasattr(pipeline, "predict_proba"):
        p = pipeline.predict_proba(X)
        columns = {"prediction": pipeline.classes_[p.argmax(axis=1)]}
        return pd.DataFrame(columns | {f"probability of {c}": p[:, k] for k, c in enumerate(pipeline.classes_)})
    inputs, last = pipeline[:-1].transform(X), pipeline[-1]
    mean, std = last.predict(inputs, return_std=True)
    interval = last.predict_interval(inputs, confidence_level=level)
    return pd.DataFrame({"mean": mean, "std": std, "lower": interval[:, 0], "upper": interval[:, 1]})


def _load(model: Path) -> Any:
    pipeline = persistence.load(model)
    if "columns" not in getattr(pipeline, "named_steps", {}):
        raise persistence.ModelFileError(
            f"{str(model)!r} holds a {type(pipeline).__name__} that was not made by `softmargin fit`; "
            "use it from Python: softmargin.load(path)"
        )
    return pipeline


def run_info(model: Path, *, as_json: bool) -> None:
    """Say what a model file holds."""
    pipeline = _load(model)
    numeric, category = columns_of(pipeline)
    estimator = pipeline.named_steps["model"]
    kernels = estimator.kernel_ if isinstance(estimator.kernel_, list) else [estimator.kernel_]
    facts = {
        "file": str(model),
        **persistence.read_header(model),
        "estimator": type(estimator).__name__,
        "numeric": numeric,
        "category": category,
        "classes": [str(c) for c in getattr(estimator, "classes_", [])],
        "kernel": [str(k) for k in kernels],
        "C": np.asarray(estimator.C_).tolist(),
        "log_evidence": float(estimator.log_evidence_),
        "support_vectors": support_count(estimator),
        "relevance": relevance_by_column(pipeline),
    }
    if as_json:
        print_json(facts)
        return
    grid = Grid(box=None, show_header=False)
    for name, value in facts.items():
        if value is None:
            continue
        grid.add_row(name.replace("_", " "), Text(_line(value)))
    Console().print(grid)


def _line(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{short(k)} {v:.2f}" if isinstance(v, float) else f"{short(k)} {v}" for k, v in value.items())
    if isinstance(value, list):
        return ", ".join(short(v) for v in value) or "-"
    return f"{value:.4g}" if isinstance(value, float) else short(value)


def run_compare(request: Request, kernels: list[str], criteria: list[str]) -> None:
    """Fit every kernel with every criterion on the same rows."""
    stderr = Console(stderr=True)
    show = stderr.is_terminal and not request.as_json
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
                "log_evidence": learnt["log_evidence"],
                "C": learnt["C"],
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
    Console().print(grid)


def _cell(name: str, value: Any) -> Text:
    if name in terminal.MEASURES:
        return Text(terminal.written(name, value))
    if name in ("kernel", "criterion"):
        return Text(value)
    return Text(terminal.numbers(value) if name == "C" else f"{value:.2f}")
