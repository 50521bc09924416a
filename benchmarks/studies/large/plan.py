"""What a fit of 10^8 or 10^9 rows would take on a cluster: a simulation of its task graphs with measured costs.

``python -m benchmarks plan`` measures, on one thread, what a pass costs per row (d = 20, m = 512, float32 blocks), the
addition of two sums, a fit of 40,960 rows, and the least-squares machine of as many rows as it sees at most. Then every
graph of a fit is played task by task as `DaskRows.total` builds it: blocks in order on whichever worker is free, a tree
of sums with eight branches, each sum moved to the worker that adds it, a scheduler that starts one task after the
other. Assumed: 1 GB/s between two machines, 200 MB/s of storage for each worker, 0.3 ms of the scheduler for a task.
"""

import heapq

import numpy as np
from sklearn.gaussian_process.kernels import RBF
from threadpoolctl import threadpool_limits

from benchmarks.studies._report import table, write
from benchmarks.studies.large.scale import cpu, smooth
from softmargin import BayesianSVC
from softmargin.inference._sparse_sums import RowStatistic, WhitenedGaussian, WhitenedPrior
from softmargin.least_squares.sums import LowRankSums
from softmargin.likelihoods import Hinge
from softmargin.policy import POLICY
from softmargin.rows import FAN_IN, LocalRows

D, M, CHUNK = 20, 512, 102_400
NETWORK, STORAGE, SCHEDULER = 1e9, 2e8, 3e-4
PASSES = {"check": 1, "labels": 1, "sample": 2, "posterior": 4}
"""Graphs that read all rows: validation, the distinct labels, the two samples, three or four passes of inference."""
CASES = [(10**7, 8), (10**8, 8), (10**8, 64), (10**9, 64), (10**9, 512)]


def measure() -> dict[str, float]:
    """CPU seconds: a row in a pass, an addition of sums, a fit of a sample's size, and all rows of least squares."""
    n, m = 40_960, POLICY.least_squares.max_rank
    X, y, _ = smooth(n, D, 0)
    kernel = 5.0 * RBF(np.sqrt(D) * np.ones(D)) + 0.3
    prior = WhitenedPrior.at(kernel, X[:M], "float32")
    statistic = RowStatistic(prior, WhitenedGaussian.prior(M), Hinge(1.0))
    source = LocalRows(X, np.where(y > 0, 1.0, -1.0), cache_bytes=0)
    source.total(statistic)
    per_pass, total = cpu(lambda: source.total(statistic))
    addition, _ = cpu(lambda: total.add(total), repeats=10)
    BayesianSVC(random_state=0).fit(X[:600], y[:600])
    fit, _ = cpu(lambda: BayesianSVC(random_state=0).fit(X, y))
    some = LocalRows(X[:8192], (y[:8192] > 0).astype(float))
    sums, _ = cpu(lambda: LowRankSums.collect(some, 2, kernel, X[-m:], 1e-6, dtype="float32"))
    return {
        "row": per_pass / n,
        "addition": addition,
        "sample": fit,
        "least squares": sums * POLICY.least_squares.most_rows / some.n_rows,
    }


def play(n_rows: int, workers: int, seconds_per_row: float, sum_bytes: float, addition: float) -> float:
    """Seconds until the last sum of a graph is there."""
    sizes = [CHUNK] * (n_rows // CHUNK) + ([n_rows % CHUNK] if n_rows % CHUNK else [])
    free = [(0.0, worker) for worker in range(workers)]
    heapq.heapify(free)
    scheduler, ready = 0.0, []
    for size in sizes:
        at, worker = heapq.heappop(free)
        scheduler = max(scheduler + SCHEDULER, at)
        end = scheduler + size * (8 * D / STORAGE + seconds_per_row)
        heapq.heappush(free, (end, worker))
        ready.append((end, worker))
    while len(ready) > 1:
        sums = []
        for k in range(0, len(ready), FAN_IN):
            parts = ready[k : k + FAN_IN]
            at, worker = heapq.heappop(free)
            scheduler = max(scheduler + SCHEDULER, at, max(end for end, _ in parts))
            moved = sum(sum_bytes / NETWORK for _, owner in parts if owner != worker)
            end = scheduler + moved + addition * (len(parts) - 1)
            heapq.heappush(free, (end, worker))
            sums.append((end, worker))
        ready = sums
    return ready[0][0]


def main() -> None:
    with threadpool_limits(1):
        cost = measure()
    rows, results = [], []
    for n, workers in CASES:
        reading = play(n, workers, 0.0, 1e3, 0.0)
        inference = play(n, workers, cost["row"], 4.0 * M * M, cost["addition"])
        fixed = cost["sample"] + cost["least squares"]
        graphs = sum(PASSES.values())
        total = (graphs - PASSES["posterior"]) * reading + PASSES["posterior"] * inference + fixed
        work = PASSES["posterior"] * n * cost["row"] + fixed
        busy = work / (total * workers)
        gigabytes = graphs * n * 8 * D / 1e9
        rows.append(
            [f"{n:.0e}", workers, graphs, f"{gigabytes:,.0f}", f"{reading / 60:.1f}", f"{inference / 60:.1f}",
             f"{fixed / 60:.1f}", f"{total / 60:.0f}", f"{busy:.0%}"]
        )  # fmt: skip
        results.append({"rows": n, "workers": workers, "minutes": total / 60})
    header = ["rows", "workers", "graphs over all rows", "GB read", "minutes to read", "minutes of a pass",
              "minutes on the sample", "minutes in all", "workers computing"]  # fmt: skip
    costs = ", ".join(f"{key} {value:.2g} s" for key, value in cost.items())
    write("plan", {"costs": cost, "cases": results}, f"{table(header, rows)}\n\nMeasured: {costs}.")


if __name__ == "__main__":
    main()
