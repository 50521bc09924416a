"""Streams whose hyperparameters follow, beside streams that keep those of their first batch and fits of all rows.

``python -m benchmarks stream``: d = 10, a first batch of 200 rows, then batches of 2,000; held-out log loss and the CPU
seconds of the whole stream, on one thread, at 4,000, 20,000 and 60,000 rows (the model keeps at most 20,000). Three
seeds; means, and the standard error of the difference to the fit of all rows.
"""

import itertools
import time
import warnings

import numpy as np
from sklearn.metrics import log_loss
from threadpoolctl import threadpool_limits

from benchmarks.studies._report import table, write
from benchmarks.studies.large.scale import smooth
from softmargin import BayesianSVC

FIRST, BATCH, HELD_OUT = 200, 2000, 5000
SIZES = (4000, 20_000, 60_000)
SEEDS = (0, 1, 2)


def model():
    """An estimator that can read a stream."""
    return BayesianSVC(inference="sparse", random_state=0)


def followed(X, y):
    """The stream, hyperparameters learnt again whenever it has doubled."""
    fitted = model()
    for part in _batches(len(y)):
        fitted.partial_fit(X[part], y[part])
    return fitted


def kept(X, y):
    """The stream at the hyperparameters of its first batch."""
    fitted = model().fit(X[:FIRST], y[:FIRST])
    for part in _batches(len(y))[1:]:
        fitted.partial_fit(X[part], y[part])
    return fitted


def whole(X, y):
    """All rows at once."""
    return model().fit(X, y)


def _batches(n):
    edges = [0, *range(FIRST, n, BATCH), n]
    return [slice(a, b) for a, b in itertools.pairwise(edges)]


WAYS = {"fit of all rows": whole, "stream that follows": followed, "hyperparameters of the first batch": kept}


def measure(n, seed):
    """Log loss and CPU seconds of each way."""
    X, y, _ = smooth(n + HELD_OUT, 10, seed)
    found = {}
    for name, fit in WAYS.items():
        start = time.process_time()
        fitted = fit(X[:n], y[:n])
        seconds = time.process_time() - start
        loss = log_loss(y[n:], fitted.predict_proba(X[n:]), labels=fitted.classes_)
        found[name] = {"n": n, "seed": seed, "way": name, "log_loss": loss, "cpu": seconds}
    return list(found.values())


def summary(results):
    """The table."""
    lines = []
    for n in SIZES:
        loss = {way: np.array([r["log_loss"] for r in results if r["n"] == n and r["way"] == way]) for way in WAYS}
        for way in WAYS:
            difference = loss[way] - loss["fit of all rows"]
            error = difference.std(ddof=1) / len(difference) ** 0.5
            cpu = np.mean([r["cpu"] for r in results if r["n"] == n and r["way"] == way])
            beside = "" if way == "fit of all rows" else f"{difference.mean():+.4f} ({error:.4f})"
            lines.append([n, way, f"{loss[way].mean():.4f}", beside, f"{cpu:.1f}"])
    return table(["rows", "way", "log loss", "against all rows", "CPU s"], lines)


def main():
    """Measure, print and keep the table."""
    results = []
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        followed(*smooth(600, 10, 9)[:2])  # compile
        for n in SIZES:
            for seed in SEEDS:
                results += measure(n, seed)
    write("stream", results, summary(results))


if __name__ == "__main__":
    main()
