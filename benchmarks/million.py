"""A million rows, hyperparameters included, beside gradient boosting: time and log loss on a smooth synthetic set.

``python -m benchmarks million`` (1e5 rows) or ``--full`` (1e6 rows). d = 10, of which three inputs matter; m = 512;
CPU seconds on one thread, all in one process. Boosting runs its 600 iterations; by default scikit-learn stops it early
on a held-out tenth, which is a second row. Goals: at most three times the 600 iterations' time, and a lower log loss.
"""

import sys
import warnings

from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import log_loss
from threadpoolctl import threadpool_limits

from benchmarks._report import table, write
from benchmarks.scale import cpu, smooth
from softmargin import BayesianSVC


def models():
    """Ours and boosting, with all of its iterations and with early stopping."""
    return {
        "BayesianSVC": BayesianSVC(inference="sparse", n_inducing=512, random_state=0),
        "HistGradientBoosting(600)": HistGradientBoostingClassifier(max_iter=600, early_stopping=False, random_state=0),
        "HistGradientBoosting(600), early stopping": HistGradientBoostingClassifier(max_iter=600, random_state=0),
    }


def main():
    """Print the table."""
    n = 1_000_000 if "--full" in sys.argv else 100_000
    X, y, _ = smooth(n, 10, 0)
    new, truth, p = smooth(100_000, 10, 1)
    rows, seconds = [], {}
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # The first fit of a process compiles.
        models()["BayesianSVC"].set_params(n_inducing=32).fit(X[:500], y[:500])
        for name, model in models().items():
            seconds[name], fitted = cpu(lambda: model.fit(X, y))  # noqa: B023
            rows.append([n, name, f"{log_loss(truth, fitted.predict_proba(new)):.4f}", f"{seconds[name]:.1f}"])
    base = seconds["HistGradientBoosting(600)"]
    rows = [[*row, f"{seconds[row[1]] / base:.2f}"] for row in rows]
    rows.append([n, "Bayes", f"{log_loss(truth, p):.4f}", "", ""])
    write("million", rows, table(["rows", "method", "log loss", "CPU s", "time / boosting's"], rows))


if __name__ == "__main__":
    main()
