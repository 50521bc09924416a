"""BayesianSVC with default settings against its peers: error, log loss, Brier score, calibration error, CPU time.

Sets on which choices were made (development) and sets on which none was made (confirmation), 40, 100 and 400 training
rows, seeds 0 and 1. Splits depend on set, rows and seed only. One thread; time is the CPU time of fit and of predict.
A part: --group=confirmation --rows=100,400 --methods=softmargin,CatBoost --minutes=3; finished fits are kept. Another
version: --source=CHECKOUT --label="softmargin 0.1".
"""

import time
from collections.abc import Iterator

import numpy as np

from benchmarks._results import Row
from benchmarks._runner import OURS, ask, choose, parser, run
from benchmarks.methods import CLASSIFIERS
from benchmarks.sets import CLASSIFICATION, split_of, takes_part

ROWS = [100, 400, 40]
MOST_CLASSES = {"GPC ARD": 2, "GPBoost": 2, "CatBoost": 20, "EBM": 2}
"""Methods that know no more classes, or take minutes for a fit (CatBoost, stopped at 32 classes)."""


def scores(y: np.ndarray, p: np.ndarray, labels: np.ndarray) -> dict[str, float]:
    """Error, log loss, Brier score and expected calibration error (10 bins of the top probability)."""
    top, hit = p.max(axis=1), p.argmax(axis=1) == y
    bins = np.minimum((10 * top).astype(int), 9)
    gaps = [abs(hit[bins == b].mean() - top[bins == b].mean()) * np.mean(bins == b) for b in np.unique(bins)]
    return {
        "error": 100 * float(np.mean(labels != y)),
        "log_loss": float(-np.mean(np.log(np.clip(p[np.arange(len(y)), y], 1e-15, 1)))),
        "brier": float(np.mean(np.sum((p - np.eye(p.shape[1])[y]) ** 2, axis=1))),
        "ece": 100 * float(np.sum(gaps)),
    }


def fit(task: Row) -> Row:
    """Fit one method on one split; return the other fields of its row."""
    group, name, n, seed = str(task["group"]), str(task["set"]), int(str(task["n"])), int(str(task["seed"]))
    split = split_of(CLASSIFICATION[group][name], n, seed, is_classifier=True)
    model = CLASSIFIERS[str(task["method"])](split.X.shape[1], seed)
    start = time.process_time()
    model.fit(split.X, split.y)
    fitted = time.process_time()
    p, labels = model.predict_proba(split.X_test), np.ravel(model.predict(split.X_test))
    result = scores(split.y_test, p, labels)
    counts = {"classes": p.shape[1], "d": split.X.shape[1], "test_rows": len(split.y_test), "split": split.checksum}
    rounded = {key: round(value, 6) for key, value in result.items()}
    return counts | rounded | {"cpu": round(fitted - start, 4), "predict_cpu": round(time.process_time() - fitted, 4)}


def tasks(
    groups: list[str], sets: list[str] | None, rows: list[int], seeds: list[int], methods: list[str]
) -> Iterator[Row]:
    """What there is to do, small jobs first."""
    for n in rows:
        for seed in seeds:
            for group in groups:
                yield from _of_group(group, sets, n, seed, methods)


def _of_group(group: str, sets: list[str] | None, n: int, seed: int, methods: list[str]) -> Iterator[Row]:
    for name, data in CLASSIFICATION[group].items():
        if (sets and name not in sets) or not takes_part(data, n, is_classifier=True):
            continue
        classes = len(np.unique(data.load(seed)[1]))
        for method in methods:
            if classes <= MOST_CLASSES.get(method, classes):
                yield {"group": group, "set": name, "n": n, "seed": seed, "method": method}


def warm_up() -> None:
    """Compile everything that a fit of two or three classes uses, so that no measured fit pays for it."""
    rng = np.random.RandomState(0)
    X = np.column_stack([rng.lognormal(size=(120, 2)), rng.normal(size=(120, 2)), rng.randint(2, size=120)])
    for classes in (2, 3):
        y = np.digitize(X[:, 0] + X[:, 2] + rng.normal(size=120), [1.0, 2.0][: classes - 1])
        CLASSIFIERS[OURS](5, 0).fit(X, y).predict_proba(X)


def main() -> None:
    """Run what is asked for and not there."""
    arguments = parser("classification", __doc__)
    arguments.add_argument("--group", choices=list(CLASSIFICATION))
    asked = ask("classification", arguments)
    methods = choose(asked.methods, CLASSIFIERS, "method")
    known = [name for group in CLASSIFICATION.values() for name in group]
    sets = choose(asked.sets, known, "set") if asked.sets else None
    if OURS in methods:
        warm_up()
    groups = [asked.group] if asked.group else ["confirmation", "development"]
    run("classification", asked, tasks(groups, sets, asked.rows or ROWS, asked.seeds, methods), fit)


if __name__ == "__main__":
    main()
