"""Sweeps of EP in default fits, and how many evaluations fell back to the variational posterior.

All confirmation sets with two classes and all of regression, one split each, 100, 400 and 1,200 rows (where a set has
them): what the rows of `search_path_` say of each evaluation by EP. Tables in which many equal inputs carry both labels
are left out: the variational posterior is the policy's own choice there. `--rows=100` for a part.
"""

import argparse
import warnings

import numpy as np

from benchmarks.sets import CLASSIFICATION, REGRESSION, split_of, takes_part
from benchmarks.sets._split import DataSet
from benchmarks.studies._report import table, write
from softmargin import BayesianSVC, BayesianSVR
from softmargin.policy import POLICY
from softmargin.rows import merge_rows

ROWS = (100, 400, 1200)
EP, FELL_BACK = "ep", "variational"


def count(name: str, source: DataSet, n: int, *, is_classifier: bool) -> dict[str, object] | None:
    """Evaluations, sweeps and fallbacks of one fit."""
    if not takes_part(source, n, is_classifier=is_classifier):
        return None
    split = split_of(source, n, 0, is_classifier=is_classifier)
    if is_classifier and len(np.unique(split.y)) != 2:
        return None
    if is_classifier and merge_rows(split.X, split.y, None).contested() > POLICY.search.contested:
        return None
    model = BayesianSVC(random_state=0) if is_classifier else BayesianSVR(random_state=0)
    path = model.fit(split.X, split.y).search_path_
    made = [row for row in path if row["inference"] in (EP, FELL_BACK)]
    fell = sum(row["inference"] == FELL_BACK for row in made)
    return {"set": name, "n": n, "evaluations": len(made), "sweeps": sum(row["n_iter"] for row in made), "fell": fell}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", default=",".join(map(str, ROWS)))
    asked = [int(n) for n in parser.parse_args().rows.split(",")]
    results, lines = [], []
    for kind, sets in (("two classes", CLASSIFICATION), ("regression", REGRESSION)):
        for n in asked:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = [
                    count(name, source, n, is_classifier=sets is CLASSIFICATION)
                    for name, source in sets["confirmation"].items()
                ]
            rows = [row for row in found if row is not None]
            results += [row | {"kind": kind} for row in rows]
            made, sweeps, fell = (sum(int(str(row[key])) for row in rows) for key in ("evaluations", "sweeps", "fell"))
            if made:
                share = f"{100 * fell / made:.2f} %"
                lines.append([kind, n, len(rows), made, f"{sweeps / made:.1f}", fell, share])
    names = ["problem", "rows", "sets", "evaluations", "sweeps each", "fell back", "share"]
    write("sweeps", results, table(names, lines))


if __name__ == "__main__":
    main()
