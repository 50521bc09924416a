"""What a Dask cluster of two workers costs over the same fit in this process.

``python -m benchmarks cluster``: 200,000 rows, d = 10, m = 512, fixed hyperparameters, rows read from files by the
workers (so many that this process does not keep their features either). CPU seconds summed over all processes (client
and scheduler, workers), so that a busy machine does not matter; wall seconds beside them. Goals: predictions equal to
1e-8, overhead below 30 %.
"""

import tempfile
import time
import warnings
from pathlib import Path

import dask
import dask.array as da
import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks._report import table, write
from benchmarks.scale import smooth
from distributed import Client, LocalCluster
from softmargin import BayesianSVC

CHUNK = 20_480


def stored(folder, X, y):
    """Dask arrays of rows in files, which every worker reads itself."""
    blocks = []
    for start in range(0, len(y), CHUNK):
        s = slice(start, start + CHUNK)
        for name, part in (("X", X[s]), ("y", y[s])):
            path = Path(folder) / f"{name}{start}.npy"
            np.save(path, part)
            blocks.append(da.from_delayed(dask.delayed(np.load)(str(path)), part.shape, part.dtype))
    return da.concatenate(blocks[::2]), da.concatenate(blocks[1::2])


def timed(function, clock):
    """Result, CPU seconds by the given clock, wall seconds."""
    cpu, wall = clock(), time.perf_counter()
    result = function()
    return result, clock() - cpu, time.perf_counter() - wall


def warm_up(model, X, y):
    """Fit where this is called, and forget it."""
    model.fit(X, y)


def main():
    """Print the table."""
    n, m = 200_000, 512
    X, y, _ = smooth(n, 10, 0)
    model = BayesianSVC(inference="sparse", search=None, n_inducing=m, random_state=0)
    warnings.simplefilter("ignore")
    with (
        tempfile.TemporaryDirectory() as folder,
        threadpool_limits(1),
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        lazy = stored(folder, X, y)

        def all_processes():
            return time.process_time() + sum(client.run(time.process_time).values())

        # The first fit imports and compiles, in every process.
        first = X[:25_000], y[:25_000]
        model.fit(*first)
        client.run(warm_up, model, *first)
        here, cpu_here, wall_here = timed(lambda: BayesianSVC(**model.get_params()).fit(X, y), time.process_time)
        there, cpu_there, wall_there = timed(lambda: BayesianSVC(**model.get_params()).fit(*lazy), all_processes)
    difference = np.max(np.abs(here.predict_proba(X[:5000]) - there.predict_proba(X[:5000])))
    rows = [
        [n, m, "in this process", f"{cpu_here:.1f}", f"{wall_here:.1f}", ""],
        [n, m, "2 Dask workers", f"{cpu_there:.1f}", f"{wall_there:.1f}", f"{100 * (cpu_there / cpu_here - 1):+.0f} %"],
    ]
    text = table(["rows", "m", "where", "CPU s", "wall s", "overhead in CPU"], rows)
    write("cluster", rows, text + f"\n\nlargest difference of predicted probabilities: {difference:.1e}")


if __name__ == "__main__":
    main()
