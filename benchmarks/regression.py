"""BayesianSVR with default settings against its peers: RMSE, log density, coverage and width of intervals, CPU time.

``python -m benchmarks regression`` (quick: 2 splits, 200 rows) or ``--full`` (10 splits, 300 rows). RMSE, widths and
densities are in units of the training targets' standard deviation. One BLAS thread; time is CPU time of the fit.
``--only=NAME,NAME`` restricts the models.
"""

import sys
import time
import warnings

import numpy as np
from sklearn.datasets import load_diabetes, make_friedman1, make_friedman2, make_friedman3
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from benchmarks._regressors import LEVELS, REGRESSORS
from benchmarks._report import table, write
from softmargin import datasets, metrics

SINC = ["gaussian", "laplace", "uniform", "outliers"]
SETS = [*(f"sinc {noise}" for noise in SINC), "diabetes", "boston", "mcycle", "friedman1", "friedman2", "friedman3"]
MAX_TEST = 1000
COLUMNS = ["rmse", "log_density", "cover50", "cover80", "cover95", "width95", "seconds"]


def load(name: str, seed: int, n_train: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Training and test rows; generated data are drawn anew for every seed."""
    n = n_train + MAX_TEST
    if name.startswith("sinc"):
        n_train = 100
        X, y = datasets.make_sinc(n_train + MAX_TEST, noise=name.split()[1], random_state=seed)
    elif name == "friedman1":
        X, y = make_friedman1(n, noise=1.0, random_state=seed)
    elif name == "friedman2":
        X, y = make_friedman2(n, noise=125.0, random_state=seed)
    elif name == "friedman3":
        X, y = make_friedman3(n, noise=0.1, random_state=seed)
    else:
        bunch = load_diabetes() if name == "diabetes" else getattr(datasets, f"load_{name}")()
        order = np.random.RandomState(seed).permutation(len(bunch.target))
        X, y = bunch.data[order], bunch.target[order]
        n_train = min(n_train, int(0.7 * len(y)))
    return X[:n_train], y[:n_train], X[n_train:][:MAX_TEST], y[n_train:][:MAX_TEST]


def evaluate(name: str, seed: int, model: str, n_train: int) -> dict:
    """Fit one model on one split and score it on the held-out rows."""
    X, y, X_test, y_test = load(name, seed, n_train)
    sd = y.std()
    fitted = REGRESSORS[model](seed)
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        fitted.fit(X, y)
    seconds = time.process_time() - start + getattr(fitted, "borrowed_seconds", 0.0)
    error = fitted.predict(X_test) - y_test
    intervals = {level: fitted.interval(X_test, level) for level in LEVELS}
    return {
        "set": name,
        "split": seed,
        "model": model,
        "rmse": float(np.sqrt(np.mean(error**2)) / sd),
        "log_density": float(np.mean(fitted.log_density(X_test, y_test)) + np.log(sd)),
        **{f"cover{int(100 * level)}": 100 * metrics.coverage(y_test, intervals[level]) for level in LEVELS},
        "width95": metrics.mean_width(intervals[0.95]) / sd,
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
    for column, title in (("log_density", "log density"), ("rmse", "RMSE"), ("cover95", "coverage at 95 %")):
        body: list[list[object]] = [[s, *[f"{mean(m, column, s):.3f}" for m in models]] for s in sets]
        parts.append(table([title, *models], body))
    return "\n\n".join(parts)


def main() -> None:
    """Run, print and write the tables."""
    full = "--full" in sys.argv
    only = [a.split("=", 1)[1].split(",") for a in sys.argv if a.startswith("--only=")]
    models = [m for m in REGRESSORS if not only or m in ("softmargin", *only[0])]
    # Compile first, so that no fit pays for it.
    REGRESSORS["softmargin"](0).fit(*datasets.make_sinc(30, random_state=0))
    with threadpool_limits(1):
        results = run(models, 10 if full else 2, 300 if full else 200)
    write("regression", results, "### Regression\n\n" + summarise(results))


if __name__ == "__main__":
    main()
