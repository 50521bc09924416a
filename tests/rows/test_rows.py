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
from softmargin.inference import Sparse  # noqa: E402
from softmargin.likelihoods import Hinge  # noqa: E402
from softmargin.rows import (  # noqa: E402
    DaskRows,
    LocalRows,
    is_dask,
)

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
def small_sample(set_policy):
    """Rows beyond the first hundred are reached through sums, here and in Dask."""
    set_policy("size", sample=100)


@pytest.mark.parametrize("scheduler", ["synchronous", "threads"])
def test_sums_and_gradients_agree_with_those_in_process(scheduler):
    X, y = problem()
    weight = np.random.default_rng(1).uniform(0.5, 2, size=len(y))
    solver = Sparse(gradient=True, gradient_inputs=True)
    here = solver.infer_rows(LocalRows(X, y, weight), Hinge(2.0), KERNEL, X[:20])
    with dask.config.set(scheduler=scheduler):
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
    np.testing.assert_array_equal(weight, np.ones(4))
    assert rows.labels().tolist() == [-1, 1] and rows.n_rows == 400
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
    np.testing.assert_allclose(model._fit.model.latent_mean(X), plain._fit.model.latent_mean(X), atol=1e-8)


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


def halting(encoding, folder):
    """An encoding that halts one task of each pass that the folder asks for, so that its worker can be killed.

    A pass encodes its blocks inside the tasks that sum them up; nothing else on the workers encodes anything. The task
    leaves a file with its process and the number of its rows and never gets beyond it: the file "survived" would tell.
    """

    # A function within a function travels to the workers by value: they cannot import this module.
    def encode(y, weight):
        asked = sorted(folder.glob("halt-*"))
        if asked:
            try:
                with open(folder / asked[-1].name.replace("halt", "halted"), "x") as file:
                    file.write(f"{os.getpid()} {len(y)}\n")
            except FileExistsError:
                return encoding(y, weight)
            time.sleep(60)
            (folder / "survived").touch()
        return encoding(y, weight)

    return encode


def kill_when_halted(folder, killed, kills):
    """Wait until a task says that it is summing a block up, and kill its process; so many times."""
    for kill in range(kills):
        path = folder / f"halted-{kill}"
        while not (path.exists() and path.read_text().endswith("\n")):
            time.sleep(0.02)
        pid, rows = map(int, path.read_text().split())
        os.kill(pid, signal.SIGKILL)
        killed.append((pid, rows))


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL on this platform")
@pytest.mark.usefixtures("small_sample")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.slow
@pytest.mark.parametrize("kills", [5])
def test_workers_killed_in_the_middle_of_passes_change_nothing(kills, tmp_path, monkeypatch):
    distributed = pytest.importorskip("distributed")
    X, y = problem()
    lazy, labels = chunked(X, y)
    encoded, killed, passes = DaskRows.encoded, [], []
    monkeypatch.setattr(DaskRows, "encoded", lambda rows, encoding: encoded(rows, halting(encoding, tmp_path)))
    total = DaskRows.total

    def watched(rows, statistic):
        before = len(killed)
        if before < kills:
            (tmp_path / f"halt-{before}").touch()
        result = total(rows, statistic)
        passes.append(len(killed) - before)
        return result

    monkeypatch.setattr(DaskRows, "total", watched)
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, memory_limit=0
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        workers = set(client.run(os.getpid).values())
        threading.Thread(target=kill_when_halted, args=(tmp_path, killed, kills), daemon=True).start()
        there = BayesianSVC(**SETTINGS).fit(lazy, labels)
        # The first process was a worker; all were summing a block up, and did not come out of it.
        victims = {pid for pid, _ in killed}
        assert len(victims) == kills and killed[0][0] in workers
        assert not victims & set(client.run(os.getpid).values())
        assert {rows for _, rows in killed} <= {70, 50} and not (tmp_path / "survived").exists()
    # Each kill fell between the beginning and the end of one pass, and more passes followed.
    assert passes == [1] * kills + [0] * (len(passes) - kills) and len(passes) > kills
    here = BayesianSVC(**SETTINGS).fit(X, y)
    np.testing.assert_allclose(there.predict_proba(X), here.predict_proba(X), atol=1e-8)
