"""Between 500 and 20,000 rows: the default beside the same default with full EP, and beside the sparse path of 0.1.

Six sets, three seeds at 1,200 rows and twelve at 4,000; the default works in a prior of low rank there. At 1,200 rows
"full EP" has `POLICY.size.dense_rows` raised, so that its hinge machine works with the Gram matrix of all rows. At
4,000 rows --source=CHECKOUT --label="softmargin 0.1 sparse" runs ``BayesianSVC(inference="sparse")`` of version 0.1.
At 12,000 rows of two sets "above 20,000" has `POLICY.size.sparse_above` lowered, so that it goes the way of more than
20,000 rows: a difference is a jump at that size.
Log loss on the rows left over, CPU seconds on one thread. A part: --sets=ring --rows=4000 --seeds=7; finished fits are
kept. --table prints what is there.
"""

import sys
import time
from collections.abc import Iterator

import numpy as np

from benchmarks._paired import difference
from benchmarks._results import Row, load
from benchmarks._runner import OURS, ask, choose, parser, run
from benchmarks._tables import table
from benchmarks.sizes import N_TEST, binary
from softmargin import BayesianSVC
from softmargin.datasets import load_keel

SETS = ("phoneme", "magic", "banana", "ring", "twonorm", "spambase", "smooth")
"""The last is the function of two classes of `sizes`."""
LARGE = ("magic", "smooth")
FULL, SPARSE, ABOVE = "full EP", "softmargin 0.1 sparse", "above 20,000"
METHODS = {OURS: (1200, 4000, 12_000), FULL: (1200,), ABOVE: (12_000,)}
SEEDS = {1200: range(7, 10), 4000: range(7, 19), 12_000: range(7, 10)}
"""More of them at 4,000 rows, where differences are smaller."""
MAX_TEST = 3000


def split(name: str, n: int, seed: int) -> tuple[np.ndarray, ...]:
    """Training and test rows of a set."""
    if name == "smooth":
        return *binary(n, seed), *binary(N_TEST, 10_000 + seed)
    bunch = load_keel(name)
    order = np.random.default_rng(seed).permutation(len(bunch.target))
    train, test = order[:n], order[n : n + MAX_TEST]
    return bunch.data[train], bunch.target[train], bunch.data[test], bunch.target[test]


def make(method: str, seed: int, label: str) -> BayesianSVC:
    """An unfitted classifier."""
    if label == SPARSE:
        return BayesianSVC(inference="sparse", random_state=seed)
    from softmargin.policy import POLICY  # which 0.1 has not

    size, usual = POLICY.size, type(POLICY.size)()
    object.__setattr__(size, "dense_rows", 10**6 if method == FULL else usual.dense_rows)
    object.__setattr__(size, "sparse_above", usual.dense_rows if method == ABOVE else usual.sparse_above)
    return BayesianSVC(random_state=seed)


def fit(task: Row, label: str) -> Row:
    """Fit one method on one split; return the other fields of its row."""
    seed = int(str(task["seed"]))
    X, y, new, truth = split(str(task["set"]), int(str(task["n"])), seed)
    model, start = make(str(task["method"]), seed, label), time.process_time()
    model.fit(X, y)
    cpu = time.process_time() - start
    p = model.predict_proba(new)
    index = np.searchsorted(model.classes_, truth)
    loss = float(-np.mean(np.log(np.clip(p[np.arange(len(truth)), index], 1e-15, 1))))
    error = 100 * float(np.mean(model.classes_[p.argmax(axis=1)] != truth))
    return {"log_loss": round(loss, 6), "error": round(error, 3), "cpu": round(cpu, 2)}


def tasks(sets: list[str], rows: list[int], seeds: list[int], methods: list[str]) -> Iterator[Row]:
    """What there is to do; methods apart, since full EP changes the policy of its process."""
    for method in methods:
        for n in rows:
            for seed in seeds or SEEDS[n]:
                for name in sets:
                    if n in METHODS[method] and (name in LARGE if n == 12_000 else name != "smooth"):
                        yield {"set": name, "n": n, "seed": seed, "method": method}


def summary(rows: list[Row]) -> str:
    """Differences by set and in the mean, both paired by split."""
    lines = []
    for n, other in ((1200, FULL), (4000, SPARSE), (12_000, ABOVE)):
        ours = [row for row in rows if row["n"] == n and row["method"] == OURS]
        theirs = [row for row in rows if row["n"] == n and row["method"] == other]
        for name in (*SETS, None):
            a, b = ([row for row in part if name in (None, row["set"])] for part in (ours, theirs))
            if not a:
                continue
            found = difference(a, b, "log_loss")
            if name is None:
                lines.append([n, other, "mean of sets", found.text(4), "", ""])
                continue
            gaps = [
                float(x["log_loss"]) - float(y["log_loss"])  # type: ignore[arg-type]
                for x in a
                for y in b
                if x["seed"] == y["seed"]
            ]
            se = f" ({np.std(gaps, ddof=1) / len(gaps) ** 0.5:.4f})" if len(gaps) > 1 else ""
            cpu = [np.mean([float(row["cpu"]) for row in part]) if part else np.nan for part in (a, b)]  # type: ignore[arg-type]
            gap = f"{np.mean(gaps):+.4f}{se}" if gaps else ""
            lines.append([n, other, name, gap, f"{cpu[0]:.1f}", f"{cpu[1]:.1f}"])
    return table(
        ["rows", "beside", "set", "log loss: ours - it (se over seeds)", "CPU s", "its CPU s"],
        lines,
    )


def main() -> None:
    """Run what is asked for and not there."""
    arguments = parser("low_rank", __doc__)
    arguments.add_argument("--table", action="store_true", help="print the tables, run nothing")
    arguments.set_defaults(seeds=[])
    asked = ask("low_rank", arguments)
    if asked.table:
        sys.stdout.write(summary(list(load("low_rank").values())) + "\n")
        return
    sets, methods = choose(asked.sets, SETS, "set"), choose(asked.methods, METHODS, "method")
    X, y, _, _ = split("banana", 600, 0)
    BayesianSVC().fit(X, y)  # compile first
    run("low_rank", asked, tasks(sets, asked.rows or list(SEEDS), asked.seeds, methods), lambda t: fit(t, asked.label))


if __name__ == "__main__":
    main()
