"""Fits and predictions from several threads at once give the numbers of one thread."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from threadpoolctl import threadpool_limits

from softmargin import BayesianSVC, BayesianSVR

THREADS = 4


def problem(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(24 + seed, 2))
    return X, X[:, 0] + 0.3 * rng.normal(size=len(X))


def at_once(task):
    """Run task(0), task(1), ... in threads that start together."""
    barrier = Barrier(THREADS)

    def run(number):
        barrier.wait(timeout=60)
        return task(number)

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(run, range(THREADS)))


def classify(seed):
    X, y = problem(seed)
    return BayesianSVC(max_iter=5).fit(X, y > 0).predict_proba(X)


def regress(seed):
    X, y = problem(seed)
    return BayesianSVR(max_iter=5).fit(X, y).predict(X, return_std=True)


@pytest.mark.parametrize("task", [classify, regress])
def test_fits_at_once_are_those_of_one_thread(task):
    # One BLAS thread: sums of several threads may differ in their last digits.
    with threadpool_limits(1):
        alone = [task(number) for number in range(THREADS)]
        together = at_once(task)
    for one, other in zip(alone, together, strict=True):
        assert_array_equal(one, other)


def test_one_model_predicts_in_many_threads():
    X, y = problem(0)
    labels = np.digitize(y, np.quantile(y, [0.33, 0.67]))
    # Three classes: `support_` of the pairs is fitted when it is first asked for, here by all threads at once.
    model = BayesianSVC(max_iter=5).fit(X, labels)
    with threadpool_limits(1):
        expected = model.predict_proba(X)
        found = at_once(lambda _: (model.predict_proba(X), model.support_))
    for probability, support in found:
        assert_array_equal(probability, expected)
        assert_array_equal(support, found[0][1])
