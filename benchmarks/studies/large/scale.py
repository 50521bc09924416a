"""Sparse inference at scale: speed of a pass, growth with n, memory, and accuracy beside other methods for large n.

Run with ``python -m benchmarks scale`` (up to 1e5 rows, KEEL magic, 2e4 synthetic rows), ``--full`` (up to 1e6 rows) or
``--passes`` (one pass over 1e4, 1e5 and 1e6 rows, d = 10, m = 512, nothing else). Times are CPU seconds on one thread,
all in one process. A share of the gemm peak compares 3 n m^2 operations with the fastest float32 product of the run:
n m^2 for each of two triangular solves (whitening, and the posterior's variances) and n m^2 for the symmetric product
A; the kernel's 2 n m (d + 2) operations and n m exponentials are overhead.

The normalised likelihood for large n (see `tuning/large/sparse.py`) was chosen after comparing log losses on the
very split of magic that is scored here, so that row is optimistic. Sizes up to a million rows
beside boosting are in `benchmarks.sizes`, Dask in `cluster`, GPyTorch in `svgp`.
"""

import argparse
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from scipy.special import expit
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.gaussian_process.kernels import RBF
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from benchmarks._process import peak_megabytes
from benchmarks.studies._report import table, write
from softmargin import BayesianSVC
from softmargin.datasets import load_keel
from softmargin.inference._sparse_sums import RowStatistic, WhitenedGaussian, WhitenedPrior
from softmargin.likelihoods import Hinge
from softmargin.rows import BLOCK_ROWS, FAN_IN, LocalRows


def cpu(function, repeats=1):
    """Shortest CPU time of several calls, and the last result."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        result = function()
        times.append(time.process_time() - start)
    return min(times), result


def gemm_peak(m=512):
    """Floating-point operations per CPU second of the fastest float32 product seen."""
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(8192, m)).astype(np.float32), rng.normal(size=(m, m)).astype(np.float32)
    return 2 * A.shape[0] * m * m / cpu(lambda: A @ B, repeats=10)[0]


def smooth(n, d, seed):
    """Labels from a smooth function of the first three of d inputs, and its probabilities."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    p = expit(2.5 * (np.sin(1.5 * X[:, 0]) + X[:, 1] * X[:, 2]))
    return X, np.where(rng.uniform(size=n) < p, 1, 0), p


def passes(sizes, dimensions, inducing):
    """Time one float32 pass over rows on disk for each n, d and m."""
    rows = []
    peaks = {m: gemm_peak(m) for m in inducing}
    for n in sizes:
        for d in dimensions:
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "rows.dat"
                X = on_disk(path, n, d)
                y = np.where(np.arange(n) % 2, 1.0, -1.0)
                for m in inducing:
                    Z = np.random.default_rng(1).normal(size=(m, d))
                    prior = WhitenedPrior.at(5.0 * RBF(np.sqrt(d) * np.ones(d)) + 0.3, Z, "float32")
                    statistic = RowStatistic(prior, WhitenedGaussian.prior(m), Hinge(1.0))
                    source = LocalRows(X, y, cache_bytes=0)
                    seconds, _ = cpu(lambda: source.total(statistic), repeats=3 if n <= 20_000 else 1)  # noqa: B023
                    share = 3 * n * m * m / seconds / peaks[m]
                    memory = peak_megabytes()
                    rows.append([f"{n:g}", d, m, f"{seconds:.2f}", f"{share:.0%}", f"{memory:.0f}"])
    return rows


def on_disk(path, n, d, block=50_000):
    """A memory map of n random rows, written block by block."""
    X = np.memmap(path, dtype=np.float32, mode="w+", shape=(n, d))
    rng = np.random.default_rng(0)
    for start in range(0, n, block):
        X[start : start + block] = rng.normal(size=X[start : start + block].shape)
    X.flush()
    return np.memmap(path, dtype=np.float32, mode="r", shape=(n, d))


def slope(rows, d, m):
    """Log-log slope of the seconds of a pass against n."""
    points = [(float(r[0]), float(r[3])) for r in rows if r[1] == d and r[2] == m]
    n, seconds = np.log(np.array(points)).T
    return np.polyfit(n, seconds, 1)[0]


def methods(m, n):
    """Ours and the others; Nystroem's kernel width and penalty by cross-validation on up to 5,000 rows."""
    nystroem = make_pipeline(
        StandardScaler(), Nystroem(n_components=m, random_state=0), LogisticRegression(max_iter=300)
    )
    grid = {"nystroem__gamma": [0.03, 0.1, 0.3], "logisticregression__C": [1.0, 10.0]}
    return {
        "BayesianSVC, sparse": BayesianSVC(inference="sparse", n_inducing=m, random_state=0),
        "Nystroem + logistic": GridSearchCV(nystroem, grid, scoring="neg_log_loss", cv=3, refit=True),
        "HistGradientBoosting(600)": HistGradientBoostingClassifier(max_iter=600, random_state=0),
    }


def accuracy(sets, m):
    """Error, log loss and CPU seconds of every method on every set."""
    rows = []
    for name, (X, y, new, truth) in sets.items():
        for method, model in methods(m, len(y)).items():
            if isinstance(model, GridSearchCV):
                small = slice(0, 5000)
                found, _ = cpu(lambda: model.fit(X[small], y[small]))  # noqa: B023
                seconds, fitted = cpu(lambda: model.best_estimator_.fit(X, y))  # noqa: B023
                seconds += found
            else:
                seconds, fitted = cpu(lambda: model.fit(X, y))  # noqa: B023
            p = fitted.predict_proba(new)
            error = 100 * np.mean(fitted.predict(new) != truth)
            rows.append([name, len(y), method, f"{error:.2f}", f"{log_loss(truth, p):.4f}", f"{seconds:.1f}"])
    return rows


def data_sets(n):
    """KEEL magic, and a smooth synthetic set with seven irrelevant inputs."""
    magic = load_keel("magic")
    X, new, y, truth = train_test_split(magic.data, magic.target, test_size=0.3, random_state=0)
    Xs, ys, _ = smooth(n, 10, 0)
    new_s, truth_s, p = smooth(50_000, 10, 1)
    print(f"Bayes log loss of the smooth set: {log_loss(truth_s, p):.4f}")
    return {"magic": (X, y, new, truth), "smooth, d = 10": (Xs, ys, new_s, truth_s)}


def plan(gemm, n=1e8, d=20, m=512, cores=64, rows_per_task=100_000):
    """What a fit of 1e8 rows would take, on paper, on cores as fast as this one.

    Passes: labels (y only), the sample of 20,000 rows, four over one row in 70 (all are read, few are summed) and four
    over all. Times assume 60 % of the measured gemm peak and leave reading out: it is overlapped if it keeps the pace.
    """
    full, reads, tasks = 4, 9, n / rows_per_task
    flops, size, square = 3 * n * m * m, 8 * n * d, 8 * m * m
    seconds = full * flops * (1 + 1 / 70) / (0.6 * gemm * cores)
    depth = int(np.ceil(np.log(tasks) / np.log(FAN_IN)))
    return (
        f"Plan for n = {n:.0e}, d = {d}, m = {m} on {cores} cores at {gemm / 1e9:.0f} Gflop/s: {flops:.1e} operations "
        f"a pass, {full} passes over all rows: {seconds / 60:.1f} minutes. The rows, {size / 1e9:.0f} GB of float64, "
        f"are read {reads} times: {reads * size / seconds / cores / 1e6:.1f} MB/s on each core keeps the pace. Moved "
        f"in a pass: {2 * square / 1e6:.1f} MB of parameters to every worker, {square / 1e6:.1f} MB of sums from each "
        f"of {tasks:.0f} tasks, {tasks * square / 1e9:.1f} GB in all, added in a tree of depth {depth}. The scheduler "
        f"sees {full + 4} graphs of some {3.2 * tasks:.0f} tasks, reading included. A worker holds "
        f"{8 * rows_per_task * d / 1e6:.0f} MB of rows and {2 * 4 * BLOCK_ROWS * m / 1e6:.0f} MB of features a thread."
    )


HEADER = ["n", "d", "m", "CPU s a pass", "share of gemm peak", "peak memory, MB"]


def main():
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--passes", action="store_true")
    options = parser.parse_args()
    full, million = options.full, options.full or options.passes
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        timed = passes(
            [10_000, 100_000, 1_000_000] if million else [10_000, 100_000],
            [10, 20, 50] if full else [10],
            [128, 512, 1024] if full else [512] if options.passes else [128, 512],
        )
        text = [
            table(HEADER, timed),
            f"log-log slope of the seconds against n (d = 10, m = 512): {slope(timed, 10, 512):.2f}",
        ]
        scored = []
        if not options.passes:
            scored = accuracy(data_sets(1_000_000 if full else 20_000), 512 if full else 256)
            text.append(table(["set", "rows", "method", "error %", "log loss", "CPU s"], scored))
        text.append(plan(gemm_peak()))
    write("scale", {"passes": timed, "accuracy": scored}, "\n\n".join(text))


if __name__ == "__main__":
    main()
