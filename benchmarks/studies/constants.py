"""What a constant of the default policy is worth: other values of it on development sets, beside the one in force.

``python -m benchmarks constants stack.kurtosis 3 20`` fits the default with each value in a process of its own, on the
same splits; finished fits are kept. The loss is the log loss of classes and the negative log density of a regression.
--only=classes or targets leaves the others out; --only=large --rows=25600 fits the two classes of `sizes`.
"""

import argparse
import ast
import json
import subprocess
import sys
import time
from typing import Any

from benchmarks._paired import difference, ratio
from benchmarks._results import RESULTS, Row, environment, source_commit
from benchmarks._tables import table
from softmargin.policy import POLICY

SETS = {
    "classes": ("pima", "australian", "vehicle", "ringnorm", "crabs"),
    "targets": ("boston", "diabetes", "friedman1", "sinc gross", "mcycle"),
    "large": ("binary",),
}
ROWS, SEEDS = 100, (40, 41)
FILE = RESULTS / "constants.json"


def record_of(name: str) -> tuple[Any, str]:
    """The record that has a constant, and the constant's own name: "least_squares.softmax.max_rows"."""
    *path, last = name.split(".")
    record: Any = POLICY
    for part in path:
        record = getattr(record, part, None)
    if not path or not hasattr(record, last):
        sys.exit(f"the policy has no {name}; softmargin/policy/ lists its constants, e.g. stack.kurtosis")
    return record, last


def change(name: str, value: Any) -> None:
    """Replace a constant in this process, before the rooms are imported that make their defaults of it."""
    record, last = record_of(name)
    object.__setattr__(record, last, value)


def fit(kind: str, name: str, rows: int, seed: int) -> Row:
    """One fit of the default: its loss on test rows and its CPU time."""
    import numpy as np
    from threadpoolctl import threadpool_limits

    from benchmarks.sets import CLASSIFICATION, REGRESSION, split_of
    from benchmarks.sizes import binary
    from softmargin import BayesianSVC, BayesianSVR

    if kind == "large":
        (X, y), (X_test, y_test) = binary(rows, seed), binary(10_000, seed + 1000)
    else:
        group = (REGRESSION if kind == "targets" else CLASSIFICATION)["development"]
        split = split_of(group[name], rows, seed, is_classifier=kind == "classes")
        X, y, X_test, y_test = split.X, split.y, split.X_test, split.y_test
    with threadpool_limits(1):
        start = time.process_time()
        model = (BayesianSVR if kind == "targets" else BayesianSVC)(random_state=seed).fit(X, y)
        cpu = time.process_time() - start
    if kind == "targets":
        loss = -float(np.mean(model.log_predictive_density(X_test, y_test)))
    else:
        loss = -float(np.mean(model.predict_log_proba(X_test)[np.arange(len(y_test)), y_test]))
    return {"kind": kind, "set": name, "n": rows, "seed": seed, "loss": round(loss, 5), "cpu": round(cpu, 3)}


def fits(value: str, asked: argparse.Namespace) -> list[Row]:
    """All fits with one value ("": the one in force), in a process that imports softmargin with it."""
    name = f"{asked.name} = {value}" if value else ""
    stored = json.loads(FILE.read_text())["results"] if FILE.exists() else []
    kept = [row for row in stored if row["constant"] == name]
    done = {(row["kind"], row["set"], row["n"], row["seed"]) for row in kept}
    kinds = [asked.only] if asked.only else ["classes", "targets"]
    places = [(kind, s, asked.rows, seed) for kind in kinds for s in SETS[kind] for seed in SEEDS[: asked.seeds]]
    missing = [place for place in places if place not in done]
    if missing:
        command = [sys.executable, "-W", "ignore", "-m", "benchmarks", "constants", asked.name, value]
        child = subprocess.run(
            [*command, "--fits", json.dumps(missing)], stdout=subprocess.PIPE, text=True, check=True
        ).stdout
        new = [json.loads(line) | {"constant": name, "commit": source_commit()} for line in child.splitlines()]
        save([*stored, *new])
        kept += new
    return kept


def save(rows: list[Row]) -> None:
    """Write the rows and their table."""
    lines = []
    in_force = [row for row in rows if not row["constant"]]
    for name in sorted({str(row["constant"]) for row in rows} - {""}):
        for kind, words in (("classes", "log loss"), ("targets", "log density"), ("large", "log loss")):
            with_value = [row for row in rows if row["constant"] == name and row["kind"] == kind]
            if with_value:
                gap = difference(with_value, in_force, "loss")
                n = ", ".join(f"{n:,}" for n in sorted({int(str(row["n"])) for row in with_value}))
                force = getattr(*record_of(name.split(" = ")[0]))
                lines.append([name, force, words, n, gap.text(4), f"{ratio(with_value, in_force):.2f}"])
    shown = table(["constant", "in force", "loss", "rows", "change of the loss", "CPU ratio"], lines)
    content = {"command": "python -m benchmarks constants NAME VALUES", "environment": environment()}
    content |= {"commit": source_commit(), "tables": shown.splitlines(), "results": rows}
    FILE.write_text(json.dumps(content, indent=1) + "\n")


def main() -> None:
    """Fit with the values asked for, or do a list of fits with one of them."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks constants", description=__doc__)
    parser.add_argument("name")
    parser.add_argument("values", nargs="+")
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--seeds", type=int, default=len(SEEDS), help="how many")
    parser.add_argument("--only", choices=list(SETS))
    parser.add_argument("--fits", type=json.loads, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    record_of(asked.name)
    if asked.fits:
        if asked.values[0]:
            change(asked.name, ast.literal_eval(asked.values[0]))
        for place in asked.fits:
            print(json.dumps(fit(*place)), flush=True)
        return
    for value in ("", *asked.values):
        fits(value, asked)
    print(*(line for line in json.loads(FILE.read_text())["tables"] if asked.name in line), sep="\n")


if __name__ == "__main__":
    main()
