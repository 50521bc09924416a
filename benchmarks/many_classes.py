"""Many classes at many rows, and how many rows a second are predicted, beside LightGBM.

Digits, letters and a synthetic problem of ten classes; two classes for the speed of predictions. Log loss and error on
the rows left over (at most 10,000), CPU seconds of the fit, predicted rows for each CPU second, on one thread. A part:
--sets=letter --rows=2000 --methods=softmargin; finished fits are kept. --table prints what is there.
"""

import sys
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.datasets import load_digits

from benchmarks._results import Row, load
from benchmarks._runner import OURS, ask, choose, parser, run
from benchmarks._tables import table
from benchmarks.methods._classifiers import CLASSIFIERS
from benchmarks.sizes import PROBLEMS
from softmargin.datasets import load_keel

SETS = {
    "binary": (3000,),
    "ten classes": (1000, 100_000),
    "digits": (1500,),
    "penbased": (1500,),
    "optdigits": (1500,),
    "letter": (2000, 10_000),
}
METHODS = (OURS, "LightGBM")
MAX_TEST, PREDICTED = 10_000, 20_000


def split(name: str, n: int, seed: int) -> tuple[np.ndarray, ...]:
    """Training and test rows."""
    if name in PROBLEMS:
        return *PROBLEMS[name](n, seed), *PROBLEMS[name](MAX_TEST, 10_000 + seed)
    bunch = load_digits() if name == "digits" else load_keel(name)
    order = np.random.default_rng(seed).permutation(len(bunch.target))
    train, test = order[:n], order[n : n + MAX_TEST]
    return bunch.data[train], bunch.target[train], bunch.data[test], bunch.target[test]


def rate(predict: Any, X: np.ndarray) -> int:
    """Rows predicted in a CPU second, the better of two calls."""
    seconds = []
    for _ in range(2):
        start = time.process_time()
        predict(X)
        seconds.append(time.process_time() - start)
    return round(len(X) / min(seconds))


def fit(task: Row) -> Row:
    """Fit one method on one split; return the other fields of its row."""
    seed = int(str(task["seed"]))
    X, y, new, truth = split(str(task["set"]), int(str(task["n"])), seed)
    model, start = CLASSIFIERS[str(task["method"])](X.shape[1], seed), time.process_time()
    model.fit(X, y)
    cpu = time.process_time() - start
    p = model.predict_proba(new)
    index = np.searchsorted(model.classes_, truth)
    loss = float(-np.mean(np.log(np.clip(p[np.arange(len(truth)), index], 1e-15, 1))))
    error = 100 * float(np.mean(p.argmax(axis=1) != index))
    many = np.resize(new, (PREDICTED, new.shape[1]))
    return {
        "log_loss": round(loss, 5),
        "error": round(error, 3),
        "cpu": round(cpu, 2),
        "predict": rate(model.predict, many),
        "predict_proba": rate(model.predict_proba, many),
    }


def tasks(sets: list[str], rows: list[int] | None, seeds: list[int], methods: list[str]) -> Iterator[Row]:
    """What there is to do, small problems first."""
    wanted = [(n, name) for name in sets for n in SETS[name] if rows is None or n in rows]
    for n, name in sorted(wanted):
        for seed in seeds:
            for method in methods:
                yield {"set": name, "n": n, "seed": seed, "method": method}


def summary(rows: list[Row]) -> str:
    """One line for each set and number of rows, one column for each method; means over seeds."""
    lines = []
    for name, sizes in SETS.items():
        for n in sizes:
            line: list[object] = [name, n]
            for method in METHODS:
                found = [row for row in rows if (row["set"], row["n"], row["method"]) == (name, n, method)]
                values = {
                    field: np.mean([float(str(row[field])) for row in found]) for field in (*FORMATS, *RATES) if found
                }
                line.append(" / ".join(f"{values[field]:{form}}" for field, form in FORMATS.items()) if found else "")
                line.append(" / ".join(f"{values[field]:,.0f}" for field in RATES) if found else "")
            lines.append(line)
    heads = [text for method in METHODS for text in (f"{method}: {FIT}", f"{method}: {SPEED}")]
    return table(["set", "rows", *heads], lines)


FORMATS = {"cpu": ".1f", "log_loss": ".4f", "error": ".2f"}
RATES = ("predict", "predict_proba")
FIT, SPEED = "CPU s / log loss / error %", "rows/s predict / predict_proba"


def main() -> None:
    """Run what is asked for and not there."""
    arguments = parser("many_classes", __doc__)
    arguments.add_argument("--table", action="store_true", help="print the table, run nothing")
    arguments.set_defaults(seeds=[0])
    asked = ask("many_classes", arguments)
    if asked.table:
        sys.stdout.write(summary(list(load("many_classes").values())) + "\n")
        return
    sets, methods = choose(asked.sets, SETS, "set"), choose(asked.methods, METHODS, "method")
    for name in ("binary", "ten classes"):
        CLASSIFIERS[OURS](10, 0).fit(*PROBLEMS[name](600, 0)).predict(PROBLEMS[name](1000, 0)[0])  # compile first
    run("many_classes", asked, tasks(sets, asked.rows, asked.seeds, methods), fit)


if __name__ == "__main__":
    main()
