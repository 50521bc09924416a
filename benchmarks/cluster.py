"""What a Dask cluster of two workers costs over the same fit in this process.

``python -m benchmarks cluster``: 200,000 rows, d = 10, m = 512, fixed hyperparameters, rows read from files by the
workers (so many that this process does not keep their features either). CPU seconds of all processes: this one with
client and scheduler, and the workers. Idle clusters burn CPU too, in proportion to the wall time, which on a busy
machine can be several times that of a quiet one: that share is measured on the idle cluster and taken off in a second
figure. Goals: predictions equal to 1e-8, overhead below 30 %.
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
IDLE = 5.0


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
    """Result, CPU seconds of (this process, workers), wall seconds."""
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

        def clock():
            return np.array([time.process_time(), sum(client.run(time.process_time).values())])

        # The first fit imports and compiles, in every process.
        first = X[:25_000], y[:25_000]
        model.fit(*first)
        client.run(warm_up, model, *first)
        _, idle, seconds = timed(lambda: time.sleep(IDLE), clock)
        here, cpu_here, wall_here = timed(lambda: BayesianSVC(**model.get_params()).fit(X, y), clock)
        there, cpu_there, wall_there = timed(lambda: BayesianSVC(**model.get_params()).fit(*lazy), clock)
    rate = idle / seconds
    difference = np.max(np.abs(here.predict_proba(X[:5000]) - there.predict_proba(X[:5000])))
    alone = cpu_here - rate * wall_here
    net = cpu_there - rate * wall_there
    rows = [
        ["in this process", *(f"{v:.1f}" for v in (*cpu_here, wall_here)), "", ""],
        ["2 Dask workers", *(f"{v:.1f}" for v in (*cpu_there, wall_there))]
        + [f"{100 * (cpu_there.sum() / alone[0] - 1):+.0f} %", f"{100 * (net.sum() / alone[0] - 1):+.0f} %"],
    ]
    header = ["where", "CPU s, here", "CPU s, workers", "wall s", "overhead", "without the idle share"]
    text = table(header, rows) + f"\n\nidle: {rate[0]:.3f} + {rate[1]:.3f} CPU s a second"
    write("cluster", rows, text + f"\n\nlargest difference of predicted probabilities: {difference:.1e}")


if __name__ == "__main__":
    main()
