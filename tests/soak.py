"""Fit many small models in one process and watch its memory: ``python -m tests.soak --fits 10000``.

Ends with an error if the resident memory after the first tenth of the fits (compiled loops, caches) and after the last
fit differ by more than `ALLOWED` bytes.
"""

import argparse
import gc
import itertools
import logging
import warnings

import numpy as np
import psutil

from softmargin import BayesianSVC, BayesianSVR

ALLOWED = 20 * 2**20
MODELS = [
    BayesianSVC(max_iter=1),
    BayesianSVC(max_iter=1, stack=False, multi_class="ovo"),
    BayesianSVC(inference="map", C=1.0, search=None),
    BayesianSVC(inference="sparse", search=None),
    BayesianSVR(max_iter=1),
    BayesianSVR(inference="map", C=1.0, epsilon=0.1, search=None),
]


def resident() -> int:
    gc.collect()
    return psutil.Process().memory_info().rss


def fit_one(number: int, model: BayesianSVC | BayesianSVR) -> None:
    """Fit and predict a problem of its own size, so that no buffer fits the next one by chance."""
    rng = np.random.default_rng(number)
    X = rng.normal(size=(8 + number % 13, 1 + number % 3))
    y = X[:, 0] + 0.5 * rng.normal(size=len(X))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y if isinstance(model, BayesianSVR) else np.digitize(y, np.quantile(y, [1 / 3, 2 / 3]))).predict(X)


def soak(fits: int) -> int:
    """Return by how many bytes the process grew after the first tenth of the fits."""
    start, models = 0, itertools.cycle(MODELS)
    for number in range(fits):
        fit_one(number, next(models))
        if number + 1 == max(1, fits // 10):
            start = resident()
        if (number + 1) % 500 == 0:
            logging.info("%d fits, %.1f MiB", number + 1, resident() / 2**20)
    return resident() - start


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--fits", type=int, default=10_000)
    fits = parser.parse_args().fits
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    growth = soak(fits)
    logging.info("%d fits, memory grew by %.1f MiB", fits, growth / 2**20)
    if growth > ALLOWED:
        raise SystemExit(f"memory grew by {growth} bytes, more than {ALLOWED}")


if __name__ == "__main__":
    main()
