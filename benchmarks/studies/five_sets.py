"""BayesianSVC with default settings on the five data sets and splits of Gold & Sollich 2003.

``python -m benchmarks five_sets``: test error and log loss, CPU seconds and evaluations of each fit (one thread),
beside the errors that the paper reports for its evidence gradient.
"""

import time

import numpy as np
from sklearn.metrics import log_loss
from threadpoolctl import threadpool_limits

from benchmarks.studies._report import table, write
from softmargin import BayesianSVC, datasets

PAPER = {"crabs": 9.2, "pima": 20.8, "wdbc": 4.0, "twonorm": 4.0, "ringnorm": 3.2}
"""Test error in % after evidence maximisation by Hybrid Monte Carlo (Gold & Sollich 2003, Table 4)."""


def main() -> None:
    # Compile first, so that no fit pays for it.
    BayesianSVC().fit(*datasets.make_twonorm(40, random_state=0))
    rows, results = [], []
    with threadpool_limits(1):
        for name, paper in PAPER.items():
            bunch = getattr(datasets, f"load_{name}")()
            X, y, train, test = bunch.data, bunch.target, bunch.train, bunch.test
            start = time.process_time()
            model = BayesianSVC().fit(X[train], y[train])
            seconds = time.process_time() - start
            error = 100 * float(np.mean(model.predict(X[test]) != y[test]))
            loss = log_loss(y[test], model.predict_proba(X[test]))
            rows.append([name, len(train), f"{error:.2f}", paper, f"{loss:.4f}", f"{seconds:.1f}", model.n_iter_])
            results.append({"set": name, "error": error, "log_loss": loss, "seconds": seconds})
    header = ["set", "rows", "error %", "paper's error %", "log loss", "CPU s", "evaluations"]
    write("five_sets", results, table(header, rows))


if __name__ == "__main__":
    main()
