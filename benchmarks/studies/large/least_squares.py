"""The least-squares machine alone: its cost and log loss as rows and classes grow, and its speed of prediction.

``python -m benchmarks least_squares`` (one split, up to 20,000 rows) or ``--full`` (three splits, up to 100,000); a
part of it with ``--parts=many,sizes,speed``. ``--dense-rows=N`` and ``--rank=M`` change where the exact
regression ends and how many inducing points follow. One BLAS thread; seconds are CPU time, all in one process.
"""

import argparse
import time
import warnings
from dataclasses import replace

import numpy as np
from scipy.special import expit
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from benchmarks.studies._report import table, write
from softmargin import BayesianSVC
from softmargin.datasets import load_keel
from softmargin.least_squares import LeastSquaresMachine, fit_least_squares
from softmargin.policy import LeastSquaresPolicy

MANY = [
    ("penbased", 1500),
    ("letter", 2000),
    ("phoneme", 4000),
    ("magic", 5000),
    ("penbased", 5000),
    ("letter", 10_000),
]
SIZES = [300, 500, 700, 1000, 1400, 2000, 2800, 4000, 5700, 8000, 11_300, 16_000, 20_000]
MAX_TEST = 5000


def fit(X: np.ndarray, y: np.ndarray, policy: LeastSquaresPolicy, seed: int = 0) -> LeastSquaresMachine:
    """Merge equal rows and fit; y are labels 0..k-1."""
    merged, copies = np.unique(np.column_stack([X, y]), axis=0, return_counts=True)
    labels = merged[:, -1].astype(int)
    return fit_least_squares(
        merged[:, :-1],
        labels,
        copies.astype(float),
        y.max() + 1,
        spread=X.std(axis=0),
        policy=policy,
        random_state=seed,
    )


def cpu(function):
    """CPU seconds of a call, and its result."""
    start = time.process_time()
    result = function()
    return time.process_time() - start, result


def smooth(n: int, d: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Labels from a smooth function of the first three of d inputs."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    p = expit(2.5 * (np.sin(1.5 * X[:, 0]) + X[:, 1] * X[:, 2]))
    return X, (rng.uniform(size=n) < p).astype(int)


def score(machine: LeastSquaresMachine, X: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """Log loss, error and the rank of a fit."""
    log_p = machine.log_proba(X)
    return {
        "log_loss": float(-log_p[np.arange(len(y)), y].mean()),
        "error": 100 * float(np.mean(log_p.argmax(axis=1) != y)),
        "rank": len(machine.coefficients),
    }


def many(splits: int, policy: LeastSquaresPolicy) -> list[dict]:
    """KEEL sets of some thousand rows, two to 26 classes."""
    rows = []
    for name, n in MANY:
        bunch = load_keel(name)
        X, y = np.asarray(bunch.data, dtype=float), np.unique(bunch.target, return_inverse=True)[1]
        for seed in range(splits):
            order = np.random.default_rng(seed).permutation(len(y))
            train, test = order[:n], order[n : n + MAX_TEST]
            seconds, machine = cpu(lambda: fit(X[train], y[train], policy, seed))  # noqa: B023
            rows.append({"set": name, "n": n, "split": seed, "cpu": seconds, **score(machine, X[test], y[test])})
            print(rows[-1], flush=True)
    return rows


def sizes(splits: int, policy: LeastSquaresPolicy, most: int) -> list[dict]:
    """A smooth set, d = 10, as its rows grow: neither cost nor log loss may jump."""
    rows, (new, truth) = [], smooth(20_000, 10, 99)
    for n in [*SIZES, *([50_000, 100_000] if most > 20_000 else [])]:
        for seed in range(splits):
            X, y = smooth(n, 10, seed)
            seconds, machine = cpu(lambda: fit(X, y, policy, seed))  # noqa: B023
            rows.append({"set": "smooth", "n": n, "split": seed, "cpu": seconds, **score(machine, new, truth)})
            print(rows[-1], flush=True)
    return rows


def mean_table(rows: list[dict]) -> str:
    """Means over splits, one line for each set and size."""
    lines = []
    for name, n in dict.fromkeys((r["set"], r["n"]) for r in rows):
        of = {k: np.mean([r[k] for r in rows if (r["set"], r["n"]) == (name, n)]) for k in rows[0] if k != "set"}
        lines.append([name, n, int(of["rank"]), f"{of['log_loss']:.4f}", f"{of['error']:.2f}", f"{of['cpu']:.2f}"])
    return table(["set", "rows", "rank", "log loss", "error %", "CPU s"], lines)


def speed(policy: LeastSquaresPolicy) -> str:
    """Rows a second of a prediction for ten classes learnt from 1000 rows."""
    X, y = load_digits(return_X_y=True)
    bunch = load_keel("penbased")
    pen, labels = np.asarray(bunch.data, dtype=float), np.unique(bunch.target, return_inverse=True)[1]
    lines = []
    for name, X_, y_ in (("digits, d = 64", X, y), ("penbased, d = 16", pen, labels)):
        order = np.random.default_rng(0).permutation(len(y_))[:1000]
        machine = fit(X_[order], y_[order], policy)
        new = np.tile(X_, (1 + 20_000 // len(X_), 1))[:20_000]
        seconds = min(cpu(lambda: machine.log_proba(new))[0] for _ in range(3))  # noqa: B023
        lines.append([name, f"{len(new) / seconds:.0f}"])
    return table(["ten classes, 1000 training rows", "predicted rows a second"], lines)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks least_squares")
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--parts", type=lambda text: text.split(","), default=["many", "sizes", "speed"])
    parser.add_argument("--splits", type=int, default=None)
    parser.add_argument("--dense-rows", type=int, default=None)
    parser.add_argument("--rank", type=int, default=None)
    asked = parser.parse_args()
    splits, most = asked.splits or (3 if asked.full else 1), 100_000 if asked.full else 20_000
    policy = LeastSquaresPolicy()
    policy = replace(policy, dense_rows=asked.dense_rows or policy.dense_rows, base_rank=asked.rank or policy.base_rank)
    results, text = {}, []
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        # Compile first, so that no fit pays for it.
        BayesianSVC().fit(*smooth(40, 3, 0))
        for name, run in (("many", lambda: many(splits, policy)), ("sizes", lambda: sizes(splits, policy, most))):
            if name in asked.parts:
                results[name] = run()
                text.append(mean_table(results[name]))
        if "speed" in asked.parts:
            text.append(speed(policy))
    write("least_squares", results, "\n\n".join(text))


if __name__ == "__main__":
    main()
