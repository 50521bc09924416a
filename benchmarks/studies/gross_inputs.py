"""Gross errors in the inputs: one entry in a hundred moved by 15 standard deviations, on development sets.

Log loss of the default and of its members with clean and with spoilt inputs (training and test rows alike), 400 rows,
two seeds. The additive member sees normal scores of the columns whose skew or kurtosis is large (`POLICY.stack`).
"""

import numpy as np

from benchmarks.sets import CLASSIFICATION, split_of
from benchmarks.studies._report import table, write
from softmargin import BayesianSVC

SETS = ("pima", "australian", "vehicle", "segment")
ROWS, SEEDS, SHARE, SIZE = 400, (40, 41), 0.01, 15.0
MEMBERS = ("hinge", "least_squares", "least_squares_additive")


def spoil(X: np.ndarray, unit: np.ndarray, rng: np.random.RandomState) -> np.ndarray:
    """Move some entries of the columns that have more than ten values."""
    many = np.array([len(np.unique(column)) > 10 for column in X.T])
    moved = (rng.uniform(size=X.shape) < SHARE) & many
    return np.where(moved, X + SIZE * unit * rng.standard_normal(X.shape), X)


def losses(name: str, seed: int, *, gross: bool) -> dict[str, float]:
    """Log loss of the mixture and of each member."""
    split = split_of(CLASSIFICATION["development"][name], ROWS, seed, is_classifier=True)
    X, X_test, rng = split.X, split.X_test, np.random.RandomState(seed)
    if gross:
        unit = X.std(axis=0)
        X, X_test = spoil(X, unit, rng), spoil(X_test, unit, rng)
    model = BayesianSVC(random_state=seed).fit(X, split.y)
    tables = {"mixture": model.predict_log_proba(X_test)}
    tables |= {member.name: member.log_proba(X_test) for member in model.members_}
    truth = np.arange(len(split.y_test)), split.y_test
    return {key: float(-np.mean(table[truth])) for key, table in tables.items()}


def main() -> None:
    rows, results = [], []
    for name in SETS:
        for gross in (False, True):
            found = [losses(name, seed, gross=gross) for seed in SEEDS]
            mean = {key: float(np.mean([f[key] for f in found])) for key in found[0] if all(key in f for f in found)}
            results.append({"set": name, "gross": gross, **mean})
            shown = [f"{mean[key]:.4f}" if key in mean else "" for key in ("mixture", *MEMBERS)]
            rows.append([name, "gross" if gross else "clean", *shown])
    write("gross_inputs", results, table(["set", "inputs", "mixture", *MEMBERS], rows))


if __name__ == "__main__":
    main()
