"""Sparse fits: the switch, binary, multi-class and regression, weights, memory maps, and what they refuse."""

import logging

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF

from softmargin import BayesianSVC, BayesianSVR
from softmargin.inference import Sparse
from softmargin.persistence import load, save
from softmargin.rows import LocalRows


def latent(X):
    return np.sin(2 * X[:, 0]) + X[:, 1]


def binary(n=900, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, np.where(latent(X) + 0.3 * rng.normal(size=n) > 0, "up", "down")


def log_loss(model, X, y):
    p = model.predict_proba(X)
    return -np.mean(np.log(p[np.arange(len(y)), np.searchsorted(model.classes_, y)]))


@pytest.fixture(scope="module")
def fitted():
    X, y = binary()
    return BayesianSVC(inference="sparse", n_inducing=60, random_state=0).fit(X, y)


def test_sparse_predicts_as_well_as_ep(fitted):
    """On 900 rows; the log loss of 4,000 new rows has a paired standard error of about 0.004."""
    X, y = binary()
    new, truth = binary(4000, seed=1)
    full = BayesianSVC(random_state=0).fit(X[:250], y[:250])
    assert log_loss(fitted, new, truth) < log_loss(full, new, truth) + 0.01
    assert np.mean(fitted.predict(new) == truth) > 0.9
    assert fitted.inference_ == "sparse"
    assert fitted.relevance_.argmin() == 2


def test_leave_one_out_is_close_to_new_rows(fitted):
    """Standard errors: about 0.012 on the 900 training rows, 0.006 on 4,000 new ones."""
    new, truth = binary(4000, seed=2)
    assert fitted.loo_log_loss_ == pytest.approx(log_loss(fitted, new, truth), abs=0.04)


def test_prediction_agrees_with_probability(fitted):
    new, _ = binary(300, seed=3)
    p = fitted.predict_proba(new)
    np.testing.assert_array_equal(fitted.classes_[p.argmax(axis=1)], fitted.predict(new))
    mean, variance = fitted.latent_mean_and_variance(new)
    assert np.all(variance > 0) and mean.shape == variance.shape == (300,)
    assert fitted.sample_latent(new[:5], 7).shape == (5, 7)


def test_it_switches_by_itself_and_says_so(set_policy, caplog):
    set_policy("size", sparse_above=250)
    X, y = binary(260)
    with caplog.at_level(logging.INFO, logger="softmargin"):
        model = BayesianSVC(search=None, n_inducing=20).fit(X, y)
    assert model.inference_ == "sparse" and "260 rows are more than 250: inducing points stand for them" in caplog.text
    assert BayesianSVC(search=None, inference="variational").fit(X, y).inference_ == "variational"
    assert BayesianSVC(search=None).fit(X[:200], y[:200]).inference_ == "ep"


@pytest.mark.parametrize(
    ("rows", "parameters", "rough"),
    [(60, {}, True), (59, {}, False), (60, {"kernel": "rbf"}, False), (60, {"stack": False}, False)],
)
def test_the_default_kernel_of_many_rows_is_rougher(set_policy, rows, parameters, rough):
    set_policy("stack", rough_above=59)
    kernel = BayesianSVC(max_iter=2, random_state=0, **parameters).fit(*binary(rows)).kernel_
    # An RBF has no nu.
    assert (getattr(kernel.k1.k2, "nu", None) == 2.5) == rough


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_several_classes(multi_class):
    X, _ = binary(600)
    y = np.digitize(latent(X), [-0.7, 0.7])
    kernel = 5.0 * RBF([1.0, 1.5, 3.0]) + 0.3
    settings = {"inference": "sparse", "search": None, "n_inducing": 80, "multi_class": multi_class}
    model = BayesianSVC(kernel, C=2.0, random_state=0, **settings).fit(X, y)
    p = model.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    assert np.mean(model.predict(X) == y) > 0.9
    assert len(model.posterior_) == 3


def test_regression_learns_the_noise():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(800, 3))
    y = 10 * latent(X) + 3 + rng.normal(size=800)
    model = BayesianSVR(inference="sparse", n_inducing=80, random_state=0).fit(X, y)
    new = rng.normal(size=(500, 3))
    mean, std = model.predict(new, return_std=True)
    # 800 rows give the noise's standard deviation to 3 %; the function adds a little.
    assert model.noise_std_ == pytest.approx(1.0, abs=0.12)
    assert np.sqrt(np.mean((mean - 10 * latent(new) - 3) ** 2)) < 0.6
    assert np.all(std > 0.9 * model.noise_std_)
    interval = model.predict_interval(new, 0.9)
    assert interval.shape == (500, 2)
    assert model.inference_ == "sparse" and np.isfinite(model.loo_log_density_)


def test_a_memory_map_gives_the_same_model(tmp_path):
    X, y = binary(500)
    path = tmp_path / "X.dat"
    on_disk = np.memmap(path, dtype=np.float64, mode="w+", shape=X.shape)
    on_disk[:] = X
    on_disk.flush()
    mapped = np.memmap(path, dtype=np.float64, mode="r", shape=X.shape)
    settings = {"inference": "sparse", "search": None, "n_inducing": 30, "random_state": 0}
    one, two = (BayesianSVC(**settings).fit(rows, y) for rows in (X, mapped))
    np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X))


def test_weights_stand_for_repeated_rows():
    X, y = binary(300)
    copies = np.random.default_rng(1).integers(1, 4, size=len(y)).astype(float)
    settings = {"inference": "sparse", "search": None, "n_inducing": 300, "random_state": 0}
    weighted = BayesianSVC(**settings).fit(X, y, copies)
    repeated = BayesianSVC(**settings).fit(np.repeat(X, copies.astype(int), axis=0), np.repeat(y, copies.astype(int)))
    # The start's length scales follow the weighted spread of the inputs either way.
    assert weighted.log_evidence_ == pytest.approx(repeated.log_evidence_, rel=1e-3)


def test_rare_classes_are_never_missed(set_policy):
    set_policy("size", sample=200)
    X, y = binary(700)
    y[np.flatnonzero(y == "up")[:3]] = "rare"
    model = BayesianSVC(inference="sparse", search=None, n_inducing=20).fit(X, y)
    assert list(model.classes_) == ["down", "rare", "up"]
    assert model.predict_proba(X).shape == (700, 3)


def test_what_it_cannot_do_is_an_error():
    X, y = binary(50)
    with pytest.raises(ValueError, match="precomputed"):
        BayesianSVC(inference="sparse", kernel="precomputed").fit(X @ X.T, y)
    with pytest.raises(ValueError, match="probability='map'"):
        BayesianSVC(inference="sparse", probability="map").fit(X, y)
    with pytest.raises(ValueError, match="n_inducing"):
        BayesianSVC(inference="sparse", n_inducing=0).fit(X, y)


def test_what_needs_every_row_at_once_is_refused(fitted):
    assert fitted.log_evidence() == fitted.log_evidence_
    with pytest.raises(ValueError, match="never forms"):
        fitted.log_evidence(method="ep")
    with pytest.raises(ValueError, match="never forms"):
        fitted.criterion_value("loo")


def test_a_sparse_model_is_saved_without_code(tmp_path):
    pytest.importorskip("skops")
    X, y = binary(60)
    model = BayesianSVC(inference="sparse", search=None, n_inducing=10, random_state=0).fit(X, y)
    save(model, tmp_path / "model.skops")
    again = load(tmp_path / "model.skops")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_the_start_on_samples_does_not_change_the_end(set_policy):
    """From a sample of 5 % and less the posterior takes two steps on samples; it ends where a cold start does.

    The tolerance is ten times the gap of 1e-4 nats per inducing point at which an inference ends.
    """
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 2))
    y = X[:, 0] + 0.3 * rng.normal(size=3000) > 0
    settings = {"kernel": 4.0 * RBF([1.0, 1.0]) + 0.3, "C": 2.0, "search": None, "inference": "sparse"}
    set_policy("size", sample=140)
    started = BayesianSVC(**settings, n_inducing=15, random_state=0).fit(X, y)
    link, rows = started.likelihood_.normalised(), LocalRows(X, np.where(y, 1.0, -1.0))
    cold = Sparse(tol=1e-10).infer_rows(rows, link, started.kernel_, started.posterior_.Z)
    assert started.posterior_.log_evidence == pytest.approx(cold.log_evidence, abs=0.015)
