"""Dask: the same sums, the same model, lazy predictions, and a killed worker that changes nothing."""

import os
import signal
import threading
import time

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

da = pytest.importorskip("dask.array")
dask = pytest.importorskip("dask")

from softmargin import BayesianSVC, BayesianSVR  # noqa: E402
from softmargin.distributed import DaskRows, is_dask  # noqa: E402
from softmargin.estimators import _large  # noqa: E402
from softmargin.inference import Sparse  # noqa: E402
from softmargin.inference._rows import LocalRows  # noqa: E402
from softmargin.likelihoods import Hinge  # noqa: E402

KERNEL = ConstantKernel(5.0) * RBF([1.0, 1.5, 3.0]) + ConstantKernel(0.3)
SETTINGS = {"inference": "sparse", "search": None, "n_inducing": 20, "random_state": 0}


def problem(n=400):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    return X, np.sign(np.sin(2 * X[:, 0]) + X[:, 1] + 0.3 * rng.normal(size=n))


def chunked(X, y, rows=70):
    return da.from_array(X, chunks=(rows, 2)), da.from_array(y, chunks=150)


@pytest.fixture
def in_process():
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture
def small_sample(monkeypatch):
    """Rows beyond the first hundred are reached through sums, here and in Dask."""
    monkeypatch.setattr(_large, "SAMPLE", 100)


@pytest.mark.usefixtures("in_process")
def test_sums_and_gradients_agree_with_those_in_process():
    X, y = problem()
    weight = np.random.default_rng(1).uniform(0.5, 2, size=len(y))
    solver = Sparse(gradient=True, gradient_inputs=True)
    here = solver.infer_rows(LocalRows(X, y, weight), Hinge(2.0), KERNEL, X[:20])
    there = solver.infer_rows(DaskRows.of(*chunked(X, y), weight), Hinge(2.0), KERNEL, X[:20])
    assert there.log_evidence == pytest.approx(here.log_evidence, abs=1e-8)
    np.testing.assert_allclose(there.d_theta, here.d_theta, rtol=1e-8)
    np.testing.assert_allclose(there.beta, here.beta, rtol=1e-6, atol=1e-8)


@pytest.mark.usefixtures("in_process")
def test_rows_are_taken_and_found_by_number():
    X, y = problem()
    rows = DaskRows.of(*chunked(X, y))
    index = np.array([0, 69, 70, 399])
    taken, target, weight = rows.take(index)
    np.testing.assert_array_equal(taken, X[index])
    np.testing.assert_array_equal(target, y[index])
    assert weight is None and rows.labels().tolist() == [-1, 1] and rows.n_rows == 400
    np.testing.assert_array_equal(rows.find(1.0, 100), np.flatnonzero(y == 1)[:100])


@pytest.mark.usefixtures("in_process", "small_sample")
def test_a_dask_array_gives_the_same_classifier_and_lazy_predictions():
    X, y = problem()
    lazy, labels = chunked(X, y)
    here, there = BayesianSVC(**SETTINGS).fit(X, y), BayesianSVC(**SETTINGS).fit(lazy, labels)
    p = there.predict_proba(lazy)
    assert is_dask(p) and p.shape == (400, 2)
    np.testing.assert_allclose(p.compute(), here.predict_proba(X), atol=1e-8)
    assert is_dask(there.predict(lazy))
    np.testing.assert_array_equal(there.predict(lazy).compute(), here.predict(X))


@pytest.mark.usefixtures("in_process", "small_sample")
def test_a_dask_dataframe_gives_the_same_regressor():
    dd = pytest.importorskip("dask.dataframe")
    pd = pytest.importorskip("pandas")
    X, _ = problem(200)
    y = X[:, 0] + 0.1 * X[:, 1]
    frame = dd.from_pandas(pd.DataFrame(X, columns=["a", "b", "c"]).assign(y=y), npartitions=3)
    model = BayesianSVR(**SETTINGS).fit(frame[["a", "b", "c"]], frame["y"])
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    plain = BayesianSVR(**SETTINGS).fit(X, y)
    np.testing.assert_allclose(model._model.latent_mean(X), plain._model.latent_mean(X), atol=1e-8)


@pytest.mark.usefixtures("in_process")
def test_few_rows_give_the_same_model_in_any_order():
    X, y = problem(200)
    X, y = np.vstack([X, X[:50]]), np.concatenate([y, y[:50]])
    here = BayesianSVC(**SETTINGS).fit(X, y)
    order = np.random.default_rng(1).permutation(len(y))
    there = BayesianSVC(**SETTINGS).fit(*chunked(X[order], y[order]))
    np.testing.assert_allclose(there.predict_proba(X), here.predict_proba(X), atol=1e-10)


@pytest.mark.usefixtures("in_process", "small_sample")
def test_several_classes_in_blocks_that_lack_some():
    X, _ = problem(300)
    X = X[np.argsort(X[:, 0])]
    y = np.repeat(["a", "b", "c"], 100)
    here = BayesianSVC(**SETTINGS).fit(X, y)
    there = BayesianSVC(**SETTINGS).fit(da.from_array(X, chunks=(60, 3)), y)
    np.testing.assert_allclose(there.predict_proba(X), here.predict_proba(X), atol=1e-7)


def test_shapes_that_do_not_match_are_an_error():
    X, y = problem(100)
    with pytest.raises(ValueError, match="100 rows"):
        DaskRows.of(da.from_array(X), y[:50])


@pytest.mark.slow
@pytest.mark.usefixtures("small_sample")
@pytest.mark.filterwarnings("ignore")
def test_a_killed_worker_changes_nothing():
    distributed = pytest.importorskip("distributed")
    X, y = problem()
    lazy, labels = chunked(X, y)

    def slow(block):
        time.sleep(0.1)
        return block

    lazy = lazy.rechunk((70, 3)).map_blocks(slow, dtype=float)
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, memory_limit=0
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        victim = next(iter(client.run(os.getpid).values()))
        killer = threading.Timer(1.0, os.kill, (victim, signal.SIGKILL))
        killer.start()
        there = BayesianSVC(**SETTINGS).fit(lazy, labels)
        assert not killer.is_alive(), "the fit was over before the worker was killed"
        pids = client.run(os.getpid).values()
        assert victim not in pids
    here = BayesianSVC(**SETTINGS).fit(X, y)
    np.testing.assert_allclose(there.predict_proba(X), here.predict_proba(X), atol=1e-8)
