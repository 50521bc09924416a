"""BayesianSVR with default settings against its peers: RMSE, log density, coverage and width of intervals, CPU time.

Sets on which choices were made (development) and sets on which none was made (confirmation), 40, 100 and 400 training
rows, seeds 0 and 1. RMSE, widths and densities are in units of the training targets' robust standard deviation, which
gross errors do not move. One thread; time is the CPU time of the fit. A part: --group=confirmation --rows=100
--methods="softmargin,GPR ARD" --minutes=3; finished fits are kept. Another version: --source=CHECKOUT
--label="softmargin 0.1".
"""

import time
from collections.abc import Iterator

import numpy as np
from scipy import stats

from benchmarks._results import Row
from benchmarks._runner import OURS, ask, choose, parser, run
from benchmarks.methods import LEVELS, REGRESSORS
from benchmarks.sets import REGRESSION, split_of, takes_part

ROWS = [100, 400, 40]


def fit(task: Row) -> Row:
    """Fit one method on one split; return the other fields of its row."""
    group, name, n, seed = str(task["group"]), str(task["set"]), int(str(task["n"])), int(str(task["seed"]))
    split = split_of(REGRESSION[group][name], n, seed, is_classifier=False)
    unit = float(stats.iqr(split.y) / 1.349) or float(np.std(split.y)) or 1.0
    model = REGRESSORS[str(task["method"])](seed)
    start = time.process_time()
    model.fit(split.X, split.y)
    seconds = time.process_time() - start
    result = scores(model, split.X_test, split.y_test, unit)
    counts = {"d": split.X.shape[1], "test_rows": len(split.y_test), "split": split.checksum}
    return counts | {k: None if np.isnan(v) else round(v, 6) for k, v in result.items()} | {"cpu": round(seconds, 4)}


def scores(model, X: np.ndarray, y: np.ndarray, unit: float) -> dict[str, float]:  # type: ignore[no-untyped-def]
    """What a fitted method is worth on held-out rows."""
    intervals = {level: model.interval(X, level) for level in LEVELS}
    low, high = intervals[0.95].T
    cover = {f"cover{100 * k:.0f}": 100 * np.mean((v[:, 0] <= y) & (y <= v[:, 1])) for k, v in intervals.items()}
    return {
        "rmse": float(np.sqrt(np.mean((model.predict(X) - y) ** 2)) / unit),
        "log_density": float(np.mean(model.log_density(X, y)) + np.log(unit)),
        **{key: float(value) for key, value in cover.items()},
        "width95": float(np.mean(high - low) / unit),
    }


def tasks(groups: list[str], sets: list[str] | None, rows: list[int], seeds: list[int], methods: list[str]):  # type: ignore[no-untyped-def]
    """What there is to do."""
    for n in rows:
        for seed in seeds:
            for group in groups:
                yield from _of_group(group, sets, n, seed, methods)


def _of_group(group: str, sets: list[str] | None, n: int, seed: int, methods: list[str]) -> Iterator[Row]:
    for name, data in REGRESSION[group].items():
        if (sets is None or name in sets) and takes_part(data, n, is_classifier=False):
            for method in methods:
                yield {"group": group, "set": name, "n": n, "seed": seed, "method": method}


def warm_up() -> None:
    """Compile everything that a fit uses, so that no measured fit pays for it."""
    rng = np.random.RandomState(0)
    X = np.column_stack([rng.lognormal(size=(120, 2)), rng.normal(size=(120, 2))])
    model = REGRESSORS[OURS](0)
    model.fit(X, np.exp(np.sin(X[:, 0]) + X[:, 2] + 0.3 * rng.normal(size=120)))
    model.interval(X, 0.9)


def main() -> None:
    """Run what is asked for and not there."""
    arguments = parser("regression", __doc__)
    arguments.add_argument("--group", choices=list(REGRESSION))
    asked = ask("regression", arguments)
    methods = choose(asked.methods, REGRESSORS, "method")
    known = [name for group in REGRESSION.values() for name in group]
    sets = choose(asked.sets, known, "set") if asked.sets else None
    if OURS in methods:
        warm_up()
    groups = [asked.group] if asked.group else ["confirmation", "development"]
    run("regression", asked, tasks(groups, sets, asked.rows or ROWS, asked.seeds, methods), fit)


if __name__ == "__main__":
    main()
