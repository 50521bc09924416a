"""Run a list of fits that are not in the results yet, for some minutes; every benchmark of methods uses it."""

import argparse
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path

from threadpoolctl import threadpool_limits

from benchmarks._results import RESULTS, Row, add, key_of, load, source_commit

OURS = "softmargin"
VARIABLE = "SOFTMARGIN_BENCH_SOURCE"


def words(text: str) -> list[str]:
    """A comma-separated argument."""
    return text.split(",")


def numbers(text: str) -> list[int]:
    """A comma-separated argument of whole numbers."""
    return [int(float(part)) for part in words(text)]


def parser(name: str, description: str | None) -> argparse.ArgumentParser:
    """The arguments that all benchmarks of methods share."""
    made = argparse.ArgumentParser(
        prog=f"python -m benchmarks {name}", description=description, formatter_class=argparse.RawTextHelpFormatter
    )
    made.add_argument("--sets", type=words, help="only these data sets")
    made.add_argument("--methods", type=words, help="only these methods")
    made.add_argument("--rows", type=numbers, help="only these numbers of training rows")
    made.add_argument("--seeds", type=numbers, default=[0, 1])
    made.add_argument("--minutes", type=float, default=1e9, help="start no fit after so many minutes")
    made.add_argument("--renew", type=words, default=[], help="fit these methods again although their rows exist")
    made.add_argument("--source", type=Path, help="a checkout whose softmargin is run in place of this one's")
    made.add_argument("--label", default=OURS, help="the method's name in the results, with --source")
    made.add_argument("--out", type=Path, default=RESULTS, help="where the results are")
    return made


def ask(name: str, arguments: argparse.ArgumentParser) -> argparse.Namespace:
    """Parse the arguments; with --source, run the same command with the softmargin of that checkout and end."""
    asked = arguments.parse_args()
    if asked.source is not None and VARIABLE not in os.environ:
        variables = os.environ | {"PYTHONPATH": str(asked.source.resolve() / "src"), VARIABLE: str(asked.source)}
        sys.exit(subprocess.call([sys.executable, "-m", "benchmarks", name, *sys.argv[1:]], env=variables))
    if asked.source is not None and asked.methods is None:
        asked.methods = [OURS]  # the others are the same in every checkout
    return asked


def run(name: str, asked: argparse.Namespace, tasks: Iterable[Row], fit: Callable[[Row], Row]) -> None:
    """Do the tasks whose rows are not there; a task has the fields of the key, `fit` returns the others."""
    commit, started = source_commit(), time.monotonic()
    done, renewed = load(name, asked.out), set(asked.renew)
    for task in tasks:
        label = asked.label if task["method"] == OURS else task["method"]
        old = done.get(key_of(task | {"method": label}))
        if old is not None and not (label in renewed and old.get("commit") != commit):
            continue
        if time.monotonic() - started > 60 * asked.minutes:
            print("time is up: run again to go on")
            return
        row = task | {"method": label} | _guarded(fit, task)
        if task["method"] == OURS:
            row["commit"] = commit
        add(name, row, asked.out)
        print(" ".join(f"{k}={round(v, 4) if isinstance(v, float) else v}" for k, v in row.items()), flush=True)
    print("nothing left to do")


def _guarded(fit: Callable[[Row], Row], task: Row) -> Row:
    """A method that fails on a set gets a row that says so."""
    try:
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return fit(task)
    except Exception as error:
        return {"failed": f"{type(error).__name__}: {error}"[:200]}


def choose(asked: list[str] | None, known: Iterable[str], what: str) -> list[str]:
    """The names asked for, or all."""
    names = list(known)
    unknown = [name for name in asked or [] if name not in names]
    if unknown:
        sys.exit(f"unknown {what} {', '.join(unknown)}; choose from {', '.join(names)}")
    return [name for name in names if asked is None or name in asked]
