"""BayesianSVR with default settings against its peers: RMSE, log density, coverage and width of intervals, CPU time.

``python -m benchmarks regression`` (quick: 2 splits, 200 rows) or ``--full`` (10 splits, 300 rows; ``--splits=N`` and
``--rows=N`` change the numbers). RMSE, widths and densities are in units of the training targets' robust standard
deviation, which gross errors do not move; "true function" is the RMSE against the noise-free function where it is
known. One BLAS thread; time is CPU time of the fit. ``--only=NAME,NAME`` restricts the models: the stack against the
tube machine alone is ``--only="softmargin, no stack"``, since names are split at commas without a space.

In the sets "gross" one target in twenty, of training and test rows alike, is moved by 10 to 20 standard deviations of
the noise up or down.
"""

import re
import sys
import time
import warnings
from typing import NamedTuple

import numpy as np
from scipy import stats
from sklearn.datasets import load_diabetes, make_friedman1, make_friedman2, make_friedman3
from threadpoolctl import threadpool_limits

from benchmarks._regressors import LEVELS, REGRESSORS
from benchmarks._report import table, write
from softmargin import datasets, metrics

SINC = ["gaussian", "laplace", "uniform", "outliers"]
FRIEDMAN = {
    "friedman1": (make_friedman1, 1.0),
    "friedman2": (make_friedman2, 125.0),
    "friedman3": (make_friedman3, 0.1),
}
GROSS = ["sinc gross", "friedman1 gross"]
SETS = [*(f"sinc {noise}" for noise in SINC), "diabetes", "boston", "mcycle", *FRIEDMAN, *GROSS]
MAX_TEST = 1000
TITLES = {
    "log_density": "log density",
    "rmse": "RMSE",
    "true_rmse": "RMSE to the true function",
    "cover95": "coverage at 95 %",
}
COLUMNS = ["rmse", "true_rmse", "log_density", "cover50", "cover80", "cover95", "width95", "seconds"]


class Split(NamedTuple):
    """Training and test rows, and the noise-free function at the test rows (nan if unknown)."""

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray
    truth: np.ndarray


def load(name: str, seed: int, n_train: int) -> Split:
    """One split; generated data are drawn anew for every seed."""
    kind, *noise = name.split()
    if kind == "sinc":
        n_train, sd = 100, 0.1
        shape = "gaussian" if noise[0] == "gross" else noise[0]
        X, y = datasets.make_sinc(n_train + MAX_TEST, noise=shape, random_state=seed)
        truth = np.sinc(X[:, 0] / np.pi)
    elif kind in FRIEDMAN:
        make, sd = FRIEDMAN[kind]
        X, y = make(n_train + MAX_TEST, noise=sd, random_state=seed)
        truth = make(n_train + MAX_TEST, noise=0.0, random_state=seed)[1]
    else:
        bunch = load_diabetes() if name == "diabetes" else getattr(datasets, f"load_{name}")()
        order = np.random.RandomState(seed).permutation(len(bunch.target))
        X, y = bunch.data[order], bunch.target[order]
        truth, sd = np.full(len(y), np.nan), np.nan
        n_train = min(n_train, int(0.7 * len(y)))
    if noise == ["gross"]:
        rng = np.random.RandomState(seed + 1000)
        move = rng.uniform(10, 20, size=len(y)) * np.where(rng.uniform(size=len(y)) < 0.5, -1, 1)
        y = y + sd * np.where(rng.permutation(len(y)) % 20 == 0, move, 0)
    test = slice(n_train, n_train + MAX_TEST)
    return Split(X[:n_train], y[:n_train], X[test], y[test], truth[test])


def evaluate(name: str, seed: int, model: str, n_train: int) -> dict:
    """Fit one model on one split and score it on the held-out rows."""
    X, y, X_test, y_test, truth = load(name, seed, n_train)
    unit = float(stats.iqr(y) / 1.349)
    fitted = REGRESSORS[model](seed)
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted.fit(X, y)
    seconds = time.process_time() - start + getattr(fitted, "borrowed_seconds", 0.0)
    mean = fitted.predict(X_test)
    intervals = {level: fitted.interval(X_test, level) for level in LEVELS}
    return {
        "set": name,
        "split": seed,
        "model": model,
        "rmse": float(np.sqrt(np.mean((mean - y_test) ** 2)) / unit),
        "true_rmse": float(np.sqrt(np.mean((mean - truth) ** 2)) / unit),
        "log_density": float(np.mean(fitted.log_density(X_test, y_test)) + np.log(unit)),
        **{f"cover{int(100 * level)}": 100 * metrics.coverage(y_test, intervals[level]) for level in LEVELS},
        "width95": metrics.mean_width(intervals[0.95]) / unit,
        "seconds": seconds,
    }


def run(models: list[str], n_splits: int, n_train: int) -> list[dict]:
    """Evaluate every model on every split of every set."""
    results = []
    for name in SETS:
        for seed in range(n_splits):
            for model in models:
                row = evaluate(name, seed, model, n_train)
                results.append(row)
                print(f"{name:14s} {seed} {model:21s} " + " ".join(f"{k}={row[k]:.3g}" for k in COLUMNS), flush=True)
    return results


def summarise(results: list[dict]) -> str:
    """Means over sets, paired differences to softmargin with standard errors over splits, and tables per set."""
    models = list(dict.fromkeys(r["model"] for r in results))
    key = {(r["set"], r["split"], r["model"]): r for r in results}
    cases = list(dict.fromkeys((r["set"], r["split"]) for r in results))
    sets = list(dict.fromkeys(s for s, _ in cases))

    def mean(model: str, column: str, only: str | None = None) -> float:
        chosen = [only] if only else sets
        return float(np.mean([np.mean([key[c + (model,)][column] for c in cases if c[0] == s]) for s in chosen]))

    def paired(model: str, column: str) -> str:
        gaps = [
            np.array([key[c + (model,)][column] - key[c + ("softmargin",)][column] for c in cases if c[0] == s])
            for s in sets
        ]
        se = np.sqrt(sum(np.var(g, ddof=1) / len(g) if len(g) > 1 else 0 for g in gaps)) / len(sets)
        value = np.mean([g.mean() for g in gaps])
        return "" if model == "softmargin" or np.isnan(value) else f"{value:+.3f} ({se:.3f})"

    rows: list[list[object]] = []
    for model in models:
        ratio = [np.log(key[c + (model,)]["seconds"] / key[c + ("softmargin",)]["seconds"]) for c in cases]
        cover = "/".join(f"{mean(model, f'cover{int(100 * level)}'):.0f}" for level in LEVELS)
        rows.append(
            [model, f"{mean(model, 'rmse'):.3f}", paired(model, "rmse"), f"{mean(model, 'log_density'):.3f}"]
            + [paired(model, "log_density"), cover, f"{mean(model, 'width95'):.2f}", f"{np.exp(np.mean(ratio)):.1f}"]
        )
    header = ["model", "RMSE", "- ours (se)", "log density", "- ours (se)", "coverage 50/80/95", "width 95"]
    parts = [table([*header, "CPU time / ours"], rows)]
    for column, title in TITLES.items():
        body: list[list[object]] = [
            [s, *[f"{mean(m, column, s):.3f}" for m in models]] for s in sets if np.isfinite(mean(models[0], column, s))
        ]
        parts.append(table([title, *models], body))
    rivals = [m for m in models if m == "GPR ARD"]
    parts += [
        f"Paired differences, {m} - softmargin (standard error over splits):\n\n{gaps(key, sets, m)}" for m in rivals
    ]
    return "\n\n".join(parts)


def gaps(key: dict, sets: list[str], rival: str) -> str:
    """Differences between a rival and softmargin, set by set."""
    rows: list[list[object]] = []
    for s in sets:
        splits = [split for name, split, model in key if name == s and model == rival]
        cells = []
        for column in ("rmse", "true_rmse", "log_density"):
            gap = np.array([key[s, k, rival][column] - key[s, k, "softmargin"][column] for k in splits])
            se = np.std(gap, ddof=1) / np.sqrt(len(gap)) if len(gap) > 1 else np.nan
            cells.append(f"{gap.mean():+.3f} ({se:.3f})" if np.all(np.isfinite(gap)) else "")
        rows.append([s, *cells])
    return table(["set", "RMSE", "RMSE to the true function", "log density"], rows)


def main() -> None:
    """Run, print and write the tables."""
    full = "--full" in sys.argv
    splits = [int(a.split("=", 1)[1]) for a in sys.argv if a.startswith("--splits=")] or [10 if full else 2]
    rows = [int(a.split("=", 1)[1]) for a in sys.argv if a.startswith("--rows=")] or [300 if full else 200]
    only = [re.split(r",(?! )", a.split("=", 1)[1]) for a in sys.argv if a.startswith("--only=")]
    models = [m for m in REGRESSORS if not only or m in ("softmargin", *only[0])]
    # Compile first, so that no fit pays for it.
    REGRESSORS["softmargin"](0).fit(*datasets.make_sinc(30, random_state=0))
    with threadpool_limits(1):
        results = run(models, splits[0], rows[0])
    write("regression", results, "### Regression\n\n" + summarise(results))


if __name__ == "__main__":
    main()
