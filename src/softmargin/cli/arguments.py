"""The command line: one command from a table to a tuned model and a page to look at.

Heavy libraries are imported by the commands that need them, so that ``softmargin --help`` is quick.
"""

import errno
import os
import stat
import sys
from collections.abc import Callable
from enum import StrEnum
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

try:
    import typer
except ImportError as error:
    raise SystemExit("the command line needs the extra 'cli': pip install 'softmargin[cli]'") from error

from softmargin._text import BUNDLED, no_such_file, printable

EXIT_CODES = """Exit codes: 0 done, 1 error, 2 wrong usage, 3 unusable data, 4 unusable model file, 130 interrupted."""
app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="Support vector machines that tune themselves and know what they do not know.",
    epilog=EXIT_CODES,
)

DATA_HELP = f"""CSV, TSV or Parquet file (also .gz, .xz, .zip), - for standard input, or a bundled set:
{", ".join(BUNDLED)}."""
Data = Annotated[str, typer.Argument(help=DATA_HELP)]
Target = Annotated[str | None, typer.Option(help="Column to predict. Bundled sets know theirs.")]
Regression = Annotated[bool, typer.Option("--regression", help="Predict a number with error bars instead of a class.")]
TestSize = Annotated[
    float | None,
    typer.Option(min=0.0, max=0.9, help="Share of rows to hold out (default 0.25, or the set's own split; 0: none)."),
]
Seed = Annotated[int, typer.Option(min=0, help="Seed of everything random.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
Encoding = Annotated[str, typer.Option(help="Encoding of text files.")]


class Decimal(StrEnum):
    """The mark in numbers."""

    point = "."
    comma = ","


KernelName = StrEnum("KernelName", ["rbf", "ou", "matern32", "matern52", "linear", "poly"])
CriterionName = StrEnum(
    "CriterionName",
    [
        "auto", "conditional_evidence", "evidence", "gacv", "jaakkola_haussler", "joint_evidence", "kwok",
        "laplace_evidence", "link_evidence", "loo", "radius_margin", "sharp_span", "span", "sv_count", "svm_loo",
    ],
)  # fmt: skip
AUTO = CriterionName("auto")
DecimalMark = Annotated[Decimal | None, typer.Option(help="Decimal mark of text files (default: found out).")]
Columns = list[str] | None
Drop = Annotated[Columns, typer.Option(help="Column to leave out. May be repeated.")]
Features = Annotated[Columns, typer.Option(help="Column to predict from; all others are left out. May be repeated.")]
Ids = Annotated[Columns, typer.Option("--id", help="Column that names the rows: no input. May be repeated.")]
KeptIds = Annotated[Columns, typer.Option("--id", help="Column to keep in the output. May be repeated.")]
Time = Annotated[str | None, typer.Option("--time", help="Hold out the latest rows by this column.")]
Group = Annotated[str | None, typer.Option("--group", help="Hold out whole groups of this column: no input.")]


def guarded(command: Callable[..., None]) -> Callable[..., None]:
    """Turn errors into one line on standard error with a remedy, and an exit code."""

    @wraps(command)
    def run(*args: Any, **kwargs: Any) -> None:
        try:
            command(*args, **kwargs)
        except typer.Exit:
            raise
        except KeyboardInterrupt:
            fail("interrupted", 130)
        except BrokenPipeError:
            # The reader of our output has left (`| head`): no error, but nothing more to say either.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(0) from None
        except Exception as error:
            if os.environ.get("SOFTMARGIN_DEBUG"):
                raise
            fail(*_explain(error))

    return run


def fail(message: str, code: int) -> None:
    """Say what went wrong on standard error and leave."""
    typer.echo(f"softmargin: {printable(message)}", err=True)
    raise typer.Exit(code)


def _explain(error: Exception) -> tuple[str, int]:
    from softmargin.persistence import ModelFileError
    from softmargin.tables import DataError

    if isinstance(error, DataError):
        return str(error), 3
    if isinstance(error, ModelFileError):
        return str(error), 4
    if isinstance(error, OSError):
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            where = f" for {error.filename}" if error.filename else ""
            return f"{error.strerror}{where}; make room, or write somewhere else", 3
        where = f": {error.filename}" if error.filename else ""
        return f"{error.strerror or error}{where}; check that it exists and that you may use it", 3
    kind = "" if isinstance(error, (ValueError, ImportError)) else f"{type(error).__name__}: "
    return f"{kind}{error} (SOFTMARGIN_DEBUG=1 shows where)", 1


@app.command(epilog=EXIT_CODES)
@guarded
def fit(
    data: Data,
    target: Target = None,
    regression: Regression = False,
    out: Annotated[Path | None, typer.Option(help="Write the model here (model.skops).")] = None,
    report: Annotated[Path | None, typer.Option(help="Write an HTML report here.")] = None,
    kernel: Annotated[KernelName | None, typer.Option(help="Default: each machine has its own.")] = None,
    criterion: Annotated[CriterionName, typer.Option(help="What the search optimises.")] = AUTO,
    drop: Drop = None,
    features: Features = None,
    ids: Ids = None,
    time: Time = None,
    group: Group = None,
    test_size: TestSize = None,
    seed: Seed = 0,
    baseline: Annotated[bool, typer.Option(help="Tune an ordinary SVM for comparison.")] = True,
    encoding: Encoding = "utf-8",
    decimal: DecimalMark = None,
    json: Json = False,
) -> None:
    """Learn a model from a table: it chooses C, the kernel's length scales and the relevance of each column itself."""
    _writable(out, report)
    _ordinary(out)
    _readable(data)
    _one_hold_out(time, group)
    from softmargin.cli.commands import Request, run_fit
    from softmargin.tables import Choice

    options = {"kernel": kernel and str(kernel), "criterion": str(criterion)}
    choice = Choice(tuple(drop or ()), tuple(features or ()), tuple(ids or ()), time, group)
    mark = None if decimal is None else str(decimal)
    request = Request(data, target, regression, test_size, seed, encoding, json, options, mark, choice)
    raise typer.Exit(run_fit(request, out=out, report=report, baseline=baseline))


@app.command(epilog=EXIT_CODES)
@guarded
def predict(
    model: Annotated[Path, typer.Argument(help="File written by `softmargin fit --out`.")],
    data: Data,
    out: Annotated[Path | None, typer.Option(help="Write CSV here instead of standard output.")] = None,
    level: Annotated[float, typer.Option(min=0.01, max=0.999, help="Probability of the intervals.")] = 0.95,
    ids: KeptIds = None,
    encoding: Encoding = "utf-8",
    decimal: DecimalMark = None,
    json: Json = False,
) -> None:
    """Predict new rows: class probabilities, or mean and interval."""
    _writable(out)
    _readable(data)
    from softmargin.cli.commands import run_predict

    mark = None if decimal is None else str(decimal)
    kept = tuple(ids or ())
    run_predict(model, data, out, level=level, encoding=encoding, decimal=mark, ids=kept, as_json=json)


@app.command(epilog=EXIT_CODES)
@guarded
def compare(
    data: Data,
    target: Target = None,
    regression: Regression = False,
    kernel: Annotated[
        list[KernelName] | None, typer.Option(help="May be repeated. Default: rbf, matern52, ou, linear.")
    ] = None,
    criterion: Annotated[
        list[CriterionName] | None, typer.Option(help="May be repeated. Default: auto, evidence.")
    ] = None,
    drop: Drop = None,
    features: Features = None,
    ids: Ids = None,
    time: Time = None,
    group: Group = None,
    test_size: TestSize = None,
    seed: Seed = 0,
    encoding: Encoding = "utf-8",
    decimal: DecimalMark = None,
    json: Json = False,
) -> None:
    """Fit several kernels and criteria on the same rows and show them side by side."""
    _readable(data)
    _one_hold_out(time, group)
    from softmargin.cli.commands import Request, run_compare
    from softmargin.tables import Choice

    choice = Choice(tuple(drop or ()), tuple(features or ()), tuple(ids or ()), time, group)
    mark = None if decimal is None else str(decimal)
    request = Request(data, target, regression, test_size, seed, encoding, json, {}, mark, choice)
    kernels = [str(name) for name in kernel or ("rbf", "matern52", "ou", "linear")]
    run_compare(request, kernels, [str(name) for name in criterion or ("auto", "evidence")])


@app.command(epilog=EXIT_CODES)
@guarded
def info(
    model: Annotated[Path, typer.Argument(help="File written by `softmargin fit --out`.")], json: Json = False
) -> None:
    """Say what a model file holds."""
    from softmargin.cli.commands import run_info

    run_info(model, as_json=json)


def _version(value: bool) -> None:
    if value:
        from softmargin._version import __version__

        typer.echo(__version__)
        raise typer.Exit()


@app.callback()
def _main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


def _readable(data: str) -> None:
    """Refuse data that are not there before anything heavy is imported."""
    if data == "-" or Path(data).exists():
        return
    if data not in BUNDLED:
        fail(no_such_file(data), 3)


def _one_hold_out(time: str | None, group: str | None) -> None:
    if time is not None and group is not None:
        fail("--time and --group both choose the rows to hold out; give one of them", 2)


def _writable(*paths: Path | None) -> None:
    """Refuse a bad place for a result before the work, not after it."""
    for path in paths:
        if path is not None and path.is_dir():
            fail(f"{str(path)!r} is a directory; give the name of a file", 2)
        if path is not None and not path.absolute().parent.is_dir():
            fail(f"there is no directory {str(path.absolute().parent)!r}; create it first", 2)


def _ordinary(path: Path | None) -> None:
    """Refuse to replace a device by a model file."""
    if path is not None and path.exists() and not stat.S_ISREG(path.stat().st_mode):
        fail(f"{str(path)!r} is a device or a pipe; give the name of a file", 2)


def main() -> None:
    """Run the command line."""
    app()
