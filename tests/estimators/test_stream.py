"""Streams whose hyperparameters follow: a tiny first batch, a bounded memory, weights, seeds, model files."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.gaussian_process.kernels import RBF

import softmargin
from softmargin import BayesianSVC, BayesianSVR
from softmargin.inference import Sparse
from softmargin.likelihoods import Hinge
from softmargin.machines import reservoir as room
from softmargin.machines.reservoir import Reservoir
from softmargin.policy import POLICY
from softmargin.rows import LocalRows

SETTINGS = {"inference": "sparse", "n_inducing": 100, "random_state": 0}


def problem(n, seed=0):
    """A wave in one input and a product of two others."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    f = 2.5 * (np.sin(1.5 * X[:, 0]) + X[:, 1] * X[:, 2])
    return X, f, (rng.uniform(size=n) < 1 / (1 + np.exp(-f))).astype(int)


def streamed(model, X, y, first=30, size=200, weight=None):
    w = np.ones(len(y)) if weight is None else weight
    for a, b in [(0, first), *((k, k + size) for k in range(first, len(y), size))]:
        model.partial_fit(X[a:b], y[a:b], sample_weight=w[a:b])
    return model


def log_loss(model):
    X, _, y = problem(2000, seed=9)
    return -np.log(model.predict_proba(X)[np.arange(len(y)), y]).mean()


@pytest.fixture
def small_reservoir(monkeypatch):
    """A stream soon has more rows than it keeps."""
    monkeypatch.setattr(room, "POLICY", replace(POLICY, size=replace(POLICY.size, reservoir=300)))


def test_a_tiny_first_batch_ends_near_the_fit_of_all_rows():
    X, _, y = problem(1200)
    whole = log_loss(BayesianSVC(**SETTINGS).fit(X, y))
    stream = streamed(BayesianSVC(**SETTINGS), X, y)
    assert log_loss(stream) < whole + 0.01
    assert len(stream.posterior_.Z) > 30


def test_rows_that_are_not_kept_are_remembered(small_reservoir):
    X, _, y = problem(1800)
    stream = streamed(BayesianSVC(**SETTINGS), X, y)
    kept = stream._fit.reservoir
    assert (len(kept.y), kept.n_rows, kept.total) == (300, 1800, 1800)
    # Nearer to all rows than to those that it keeps.
    few, whole = BayesianSVC(**SETTINGS).fit(kept.X, kept.y), BayesianSVC(**SETTINGS).fit(X, y)
    assert log_loss(stream) < 0.5 * (log_loss(whole) + log_loss(few))


def test_targets_follow_too(small_reservoir):
    X, f, _ = problem(1500)
    y = 100 + 20 * (f + 0.5 * np.random.default_rng(1).normal(size=1500))
    stream = streamed(BayesianSVR(**SETTINGS), X, y)
    X_new, f_new, _ = problem(1000, seed=9)
    error = [np.std(m.predict(X_new) - 100 - 20 * f_new) for m in (stream, BayesianSVR(**SETTINGS).fit(X, y))]
    assert error[0] < 1.3 * error[1] and stream._fit.total == 1500


def test_given_hyperparameters_and_those_of_a_fit_stay():
    X, _, y = problem(300)
    kernel = 5.0 * RBF(1.0)
    given = streamed(BayesianSVC(kernel, C=2.0, search=None, **SETTINGS), X, y, first=50)
    fitted = BayesianSVC(max_iter=3, **SETTINGS).fit(X[:50], y[:50])
    before = fitted.kernel_.theta
    assert_allclose(given.kernel_.theta, kernel.theta)
    assert_array_equal(fitted.partial_fit(X[50:], y[50:]).kernel_.theta, before)


def test_the_same_seed_gives_the_same_stream_also_from_a_file(small_reservoir, tmp_path):
    X, _, y = problem(700)
    models = [streamed(BayesianSVC(max_iter=5, **SETTINGS), X[:400], y[:400]) for _ in range(2)]
    models.append(softmargin.load(softmargin.save(models[0], tmp_path / "stream.skops")))
    first, *others = [model.partial_fit(X[400:], y[400:]).predict_proba(X) for model in models]
    for other in others:
        assert_array_equal(first, other)


def test_a_weight_is_so_many_copies():
    X, _, y = problem(160)
    weight = np.where(np.arange(160) % 3 == 0, 2, 1)
    copies = np.repeat(np.arange(160), weight)
    edge = int(weight[:60].sum())
    weighted = streamed(BayesianSVC(max_iter=5, **SETTINGS), X, y, first=60, size=100, weight=weight.astype(float))
    copied = streamed(BayesianSVC(max_iter=5, **SETTINGS), X[copies], y[copies], first=edge, size=1000)
    assert weighted._fit.reservoir.total == copied._fit.reservoir.total == weight.sum()
    assert_allclose(weighted.predict_proba(X), copied.predict_proba(X), rtol=1e-6)


def test_every_row_has_the_same_chance_to_be_kept_and_every_class_some(small_reservoir):
    n = 900
    X, y = np.arange(n, dtype=float)[:, None], np.where(np.arange(n) % 30 == 0, 1, 0)
    counts = np.zeros(3)
    for seed in range(20):
        kept = Reservoir.of(LocalRows(X[:300], y[:300]), seed, classes=True)
        for a in (300, 600):
            kept = kept.add(LocalRows(X[a : a + 300], y[a : a + 300]), classes=True)
        counts += np.bincount(kept.X[:, 0].astype(int) // 300, minlength=3)
        # All thirty rows of the second class: fewer than a class keeps at least.
        assert kept.y.sum() == 30 and not kept.is_complete
    # 20 x 300 rows of 3 batches, and the rare ones; the standard deviation of a count is about 35.
    assert np.all(np.abs(counts / 20 - counts.mean() / 20) < 6)


def test_hyperparameters_are_due_when_the_weight_has_doubled():
    rows = LocalRows(np.arange(10.0)[:, None], np.arange(10), np.full(10, 3.0))
    kept = Reservoir.of(rows, 0, classes=False)
    assert not kept.is_due and kept.total == 30
    less = LocalRows(rows.X + 20, rows.y, np.full(10, 2.9))
    assert not kept.add(less, classes=False).is_due
    assert kept.add(rows, classes=False).is_due and not kept.add(rows, classes=False).just_tuned().is_due


def test_a_memory_of_function_values_does_not_depend_on_the_kernel():
    X, f, _ = problem(200)
    y, Z = np.where(f > 0, 1.0, -1.0), X[:20]
    old_kernel, new_kernel = 5.0 * RBF(1.5), 6.0 * RBF(1.3)
    old = Sparse(tol=1e-8).infer_inputs(X, y, Hinge(2.0), old_kernel, Z=Z)
    same, new = old.with_kernel(old_kernel), old.with_kernel(new_kernel)
    for name in ("beta", "whitened_mean", "precision_factor"):
        assert_allclose(getattr(same, name), getattr(old, name), rtol=1e-6, atol=1e-8)
    # Precision of u = f(Z), and precision times mean, less those of the prior, by plain matrix algebra.
    said = []
    for posterior, kernel in ((old, old_kernel), (new, new_kernel)):
        K = kernel(Z)
        precision = np.linalg.inv(posterior.latent_covariance(K, K))
        said.append((precision - np.linalg.inv(K), precision @ posterior.latent_mean(K)))
    for before, after in zip(*said):
        assert_allclose(after, before, rtol=1e-5, atol=1e-5 * np.abs(before).max())
