"""Fits beside each other: results, warnings, errors, and the same bits as one after the other."""

import os
import warnings

import numpy as np
import pytest
from joblib import parallel_config
from numpy.testing import assert_array_equal
from threadpoolctl import threadpool_info, threadpool_limits

from softmargin import BayesianSVC, BayesianSVR
from softmargin.machines import beside as beside_room
from softmargin.machines.beside import beside
from tests.estimators.cases import two_classes

# Its processes are joblib's own, which tests of other workers should not start at the same time.
pytestmark = pytest.mark.xdist_group("processes")


@pytest.fixture
def processes(monkeypatch):
    """Results of the jobs that ran beside something."""
    seen = []
    whole = beside_room._warned

    def noted(result, caught):
        seen.append(result)
        return whole(result, caught)

    monkeypatch.setattr(beside_room, "_warned", noted)
    return seen


def threads():
    # A library that this package does not use may be loaded after its list of them was made.
    return {pool["num_threads"] for pool in threadpool_info() if "torch" not in pool["filepath"]}


def loud():
    warnings.warn("the job says so", UserWarning, stacklevel=1)
    return os.getpid(), threads()


def failing():
    raise ValueError("the job failed")


def test_one_process_runs_the_job_first():
    order = []
    with beside(lambda: order.append("job") or 7, 1) as result:
        order.append("block")
    assert result() == 7 and order == ["job", "block"]


def test_a_job_runs_in_another_process_and_its_warnings_are_heard_here():
    with beside(loud, 2) as result, pytest.warns(UserWarning, match="the job says so"):
        process, found = result()
    assert process != os.getpid() and found == {1}


def test_an_error_of_the_job_is_raised_here():
    with beside(failing, 2) as result, pytest.raises(ValueError, match="the job failed"):
        result()


# A thread of loky may look for the job in the moment when it is taken away, and stumbles.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_an_error_of_the_block_does_not_wait_for_the_job():
    with pytest.raises(KeyError), beside(loud, 2):
        raise KeyError


def test_members_of_a_classification_are_the_same(processes):
    X, y = two_classes(n=60)
    one, two = (BayesianSVC(max_iter=8, random_state=0, n_jobs=n).fit(X, y) for n in (1, 2))
    assert len(processes) == 1 and [member.name for member, _ in processes[0]] == ["least_squares_additive"]
    assert [m.name for m in one.members_] == [m.name for m in two.members_]
    assert_array_equal(one.weights_, two.weights_)
    assert_array_equal(one.predict_proba(X), two.predict_proba(X))


def test_members_of_a_regression_and_both_readings_are_the_same(processes):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = np.exp(1.5 * X[:, 0] + 0.3 * rng.normal(size=60))
    y[3] = 1e4
    with pytest.warns(UserWarning, match="gross errors"):
        one, two = (BayesianSVR(noise="constant", max_iter=8, random_state=0, n_jobs=n).fit(X, y) for n in (1, 2))
    assert len(processes) == 2
    assert "tube_warped_target" in [m.name for m in one.members_]
    assert_array_equal(one.weights_, two.weights_)
    for a, b in zip(one.predict(X, return_std=True), two.predict(X, return_std=True), strict=True):
        assert_array_equal(a, b)


def test_threads_in_the_place_of_processes_are_the_same():
    X, y = two_classes(n=40)
    one = BayesianSVC(max_iter=4, random_state=0).fit(X, y)
    with parallel_config(backend="threading"):
        two = BayesianSVC(max_iter=4, random_state=0, n_jobs=2).fit(X, y)
    assert_array_equal(one.predict_proba(X), two.predict_proba(X))


def test_a_fit_has_one_blas_thread_at_every_size(monkeypatch):
    seen = []
    monkeypatch.setattr(
        "softmargin.machines.classification.least_squares.fit_least_squares", lambda *_, **__: seen.append(threads())
    )
    X, y = two_classes(n=1500)
    with threadpool_limits(2):
        assert threads() == {2}
        with pytest.raises(AttributeError):  # the fit has no machine to go on with
            BayesianSVC().fit(X, y)
    assert seen == [{1}]
