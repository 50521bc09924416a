"""One and two BLAS threads for the same fit: CPU and wall seconds of both estimators at several sizes.

``python -m benchmarks threads`` (``--rows=500,2000`` for a part: the other sizes stay as they were). The limit that
the library sets itself is lifted. All fits are in one process and take turns, one thread first and last, so that a slow
moment of the machine meets both; medians of ``--repeats`` fits each. Wall seconds say something only on a machine that
is idle otherwise: the last column is its load (processes that wanted to run, in the minute before the first fit).
"""

import argparse
import json
import os
import time
import warnings
from contextlib import nullcontext
from typing import Any
from unittest.mock import patch

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks._results import RESULTS
from benchmarks.sizes import PROBLEMS
from benchmarks.studies._report import table, write
from softmargin import BayesianSVC, BayesianSVR

SIZES = [500, 2000, 5000, 25_600]
THREADS = (1, 2)


class _Unlimited:
    """Thread pools whose limit stays as it is outside."""

    def limit(self, *, limits: int | None) -> Any:
        return nullcontext()


def fit(problem: str, n: int, threads: int) -> tuple[float, float]:
    """CPU and wall seconds of one fit."""
    X, y = PROBLEMS[problem](n, 0)
    model = BayesianSVR(random_state=0) if problem == "regression" else BayesianSVC(random_state=0)
    with threadpool_limits(threads):
        cpu, wall = time.process_time(), time.perf_counter()
        model.fit(X, y)
        return time.process_time() - cpu, time.perf_counter() - wall


def measure(problem: str, n: int, repeats: int) -> dict[int, np.ndarray]:
    """Median CPU and wall seconds by the number of threads."""
    spent: dict[int, list[tuple[float, float]]] = {k: [] for k in THREADS}
    for turn in range(repeats):
        for k in THREADS if turn % 2 == 0 else THREADS[::-1]:
            spent[k].append(fit(problem, n, k))
    return {k: np.median(values, axis=0) for k, values in spent.items()}


def kept() -> list[list[str]]:
    """The rows of earlier runs."""
    path = RESULTS / "threads.json"
    return json.loads(path.read_text())["results"] if path.exists() else []


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", default=",".join(map(str, SIZES)))
    parser.add_argument("--repeats", type=int, default=2)
    options = parser.parse_args()
    asked, load = [int(n) for n in options.rows.split(",")], os.getloadavg()[0]
    rows = [row for row in kept() if int(row[0]) not in asked]
    with warnings.catch_warnings(), patch("softmargin.tuning.threads._thread_pools", _Unlimited):
        warnings.simplefilter("ignore")
        for problem in PROBLEMS:
            fit(problem, 200, 1)  # compile first
        for n in asked:
            for problem in PROBLEMS:
                spent = measure(problem, n, options.repeats)
                (cpu, wall), (cpu_2, wall_2) = (spent[k] for k in THREADS)
                cells = [cpu, cpu_2, cpu_2 / cpu, wall, wall_2, wall_2 / wall]
                rows.append([f"{n}", problem, *(f"{value:.2f}" for value in cells), f"{load:.1f}"])
    rows.sort(key=lambda row: int(row[0]))
    names = ["rows", "problem", "CPU s, 1", "CPU s, 2", "ratio", "wall s, 1", "wall s, 2", "ratio", "load"]
    write("threads", rows, table(names, rows))


if __name__ == "__main__":
    main()
