"""What a Dask cluster of two workers costs over the same fit in this process.

``python -m benchmarks cluster`` (or ``--lean``): 200,000 rows, d = 10, m = 512, fixed hyperparameters, rows read from
files by the workers (so many that this process does not keep their features either). Three fits here and three on the
cluster take turns; medians. In this process: CPU seconds of the fit's own thread. On the cluster: CPU seconds of all
processes, this one with client and scheduler, and the workers. A cluster burns CPU when idle, too, in proportion to the
wall time, which on a busy machine can be several times that of a quiet one: that share is measured on the idle cluster
and taken off in a second figure. With ``--lean`` Dask's profiler is off and its event loops are checked once a second
instead of fifty times. Goals: predictions equal to 1e-8, overhead below 30 %.
"""

import os
import sys
import tempfile
import time
import warnings
from pathlib import Path

import dask
import dask.array as da
import numpy as np
from distributed import Client, LocalCluster
from threadpoolctl import threadpool_limits

from benchmarks.studies._report import table, write
from benchmarks.studies.large.scale import smooth
from softmargin import BayesianSVC

CHUNK = 20_480
IDLE = 5.0
REPEATS = 3
LEAN = {
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.tick.limit": "10s",
}


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
    """Result, and the seconds that a clock and the wall clock showed."""
    start, wall = clock(), time.perf_counter()
    result = function()
    return result, clock() - start, time.perf_counter() - wall


def warm_up(model, X, y):
    """Fit where this is called, and forget it."""
    model.fit(X, y)


def measure(folder, X, y, model):
    """Idle CPU seconds a second, the last two models, and CPU and wall seconds of all fits here and there."""

    def fit(*data):
        return BayesianSVC(**model.get_params()).fit(*data)

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        lazy = stored(folder, X, y)

        def clock():
            return time.process_time() + sum(client.run(time.process_time).values())

        # The first fit imports and compiles, in every process.
        first = X[:25_000], y[:25_000]
        fit(*first)
        client.run(warm_up, model, *first)
        _, idle, seconds = timed(lambda: time.sleep(IDLE), clock)
        spent = []
        for _ in range(REPEATS):
            here, *alone = timed(lambda: fit(X, y), time.thread_time)
            there, *spread = timed(lambda: fit(*lazy), clock)
            spent.append((alone, spread))
    return idle / seconds, here, there, np.array(spent)


def main():
    """Print the table."""
    X, y, _ = smooth(200_000, 10, 0)
    model = BayesianSVC(inference="sparse", search=None, n_inducing=512, random_state=0)
    settings = LEAN if "--lean" in sys.argv else {}
    with tempfile.TemporaryDirectory() as folder, threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with dask.config.set(settings):
            rate, here, there, spent = measure(folder, X, y, model)
    difference = np.max(np.abs(here.predict_proba(X[:5000]) - there.predict_proba(X[:5000])))
    (alone, wall_here), (cpu, wall) = np.median(spent, axis=0)
    raw = spent[:, 1, 0] / spent[:, 0, 0] - 1
    net = (spent[:, 1, 0] - rate * spent[:, 1, 1]) / spent[:, 0, 0] - 1
    rows = [
        ["in this process", f"{alone:.1f}", f"{wall_here:.1f}", "", ""],
        ["2 Dask workers", f"{cpu:.1f}", f"{wall:.1f}", *(f"{100 * np.median(v):+.0f} %" for v in (raw, net))],
    ]
    text = table(["where", "CPU s", "wall s", "overhead", "without the idle share"], rows)
    text += f"\n\noverhead of each pair of fits: {', '.join(f'{100 * v:+.0f} %' for v in raw)}"
    text += f"; without the idle share: {', '.join(f'{100 * v:+.0f} %' for v in net)}"
    load = f"{os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
    text += f"\n\nidle cluster: {rate:.3f} CPU s a second; load of the machine: {load}"
    write("cluster", rows, text + f"\n\nlargest difference of predicted probabilities: {difference:.1e}")


if __name__ == "__main__":
    main()
