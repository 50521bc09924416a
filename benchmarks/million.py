"""A million rows, hyperparameters included, beside gradient boosting: time and log loss on a smooth synthetic set.

``python -m benchmarks million`` (1e5 rows) or ``--full`` (1e6 rows). d = 10, of which three inputs matter; m = 512;
CPU seconds on one thread, all in one process. Boosting runs its 600 iterations; by default scikit-learn stops it early
on a held-out tenth, which is a second row. Ours reads the rows from disk; the peak memory of the process, the test rows
included, is taken right after. Goals: at most three times the 600 iterations' time, a lower log loss, below 1 GB.
"""

import resource
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
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
    rows, seconds = [], {}
    with tempfile.TemporaryDirectory() as folder, threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = Path(folder) / "rows.npy"
        X, y, _ = smooth(n, 10, 0)
        np.save(path, X)
        del X
        X = np.load(path, mmap_mode="r")
        new, truth, p = smooth(100_000, 10, 1)
        # The first fit of a process compiles.
        models()["BayesianSVC"].set_params(n_inducing=32).fit(X[:500], y[:500])
        for name, model in models().items():
            seconds[name], fitted = cpu(lambda: model.fit(X, y))  # noqa: B023
            memory = f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f}" if not rows else ""
            loss = log_loss(truth, fitted.predict_proba(new))
            rows.append([n, name, f"{loss:.4f}", f"{seconds[name]:.1f}", memory])
    base = seconds["HistGradientBoosting(600)"]
    rows = [[*row, f"{seconds[row[1]] / base:.2f}"] for row in rows]
    rows.append([n, "Bayes", f"{log_loss(truth, p):.4f}", "", "", ""])
    write("million", rows, table(["rows", "method", "log loss", "CPU s", "peak MB", "time / boosting's"], rows))


if __name__ == "__main__":
    main()
