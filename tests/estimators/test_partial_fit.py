"""Streams: batches one after the other end near the model of all rows at the same hyperparameters."""

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF

from softmargin import BayesianSVC, BayesianSVR
from softmargin.inference import Sparse
from softmargin.likelihoods import Hinge

SETTINGS = {"inference": "sparse", "search": None, "n_inducing": 60, "random_state": 0}


def problem(n=900):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] + 0.3 * rng.normal(size=n)


def batches(X, y, size=300):
    return [(X[k : k + size], y[k : k + size]) for k in range(0, len(y), size)]


@pytest.mark.parametrize("edges", [[0], [-0.7, 0.7]], ids=["binary", "three classes"])
def test_batches_of_classes(edges):
    X, f = problem()
    y = np.digitize(f, edges)
    kernel = 5.0 * RBF([1.0, 1.5]) + 0.3
    stream = BayesianSVC(kernel, C=2.0, **SETTINGS)
    for part in batches(X, y):
        stream.partial_fit(*part)
    first = BayesianSVC(kernel, C=2.0, **SETTINGS).fit(X[:300], y[:300])
    whole = BayesianSVC(kernel, C=2.0, **SETTINGS).fit(X, y)
    new = np.random.default_rng(1).normal(size=(500, 2))
    distance = [np.abs(m.predict_proba(new) - whole.predict_proba(new)).mean() for m in (stream, first)]
    # Three times the rows: nearer to the model of all of them than the first batch alone, by far.
    assert distance[0] < 0.5 * distance[1]
    assert stream.log_evidence_ == pytest.approx(whole.log_evidence_, rel=0.05)


def test_batches_of_targets():
    X, y = problem()
    y = 5 * y + 2
    stream = BayesianSVR(**SETTINGS)
    for part in batches(X, y):
        stream.partial_fit(*part)
    one = BayesianSVR(**SETTINGS).fit(X[:300], y[:300])
    new = np.random.default_rng(1).normal(size=(500, 2))
    assert stream.latent_mean_and_variance(new)[1].mean() < 0.6 * one.latent_mean_and_variance(new)[1].mean()
    assert stream.log_evidence_ < one.log_evidence_


def test_an_empty_memory_of_the_prior_changes_nothing():
    """A posterior without data is the prior: its factor is 1, so an update equals a fit."""
    from softmargin.rows import LocalRows
    from softmargin.tuning import RememberedRows

    X, f = problem(200)
    kernel, y = 5.0 * RBF(1.0) + 0.3, np.sign(f)
    solver = Sparse(tol=1e-8)
    plain = solver.infer_inputs(X, y, Hinge(2.0), kernel, Z=X[:15])
    empty = solver.infer_inputs(X, y, Hinge(2.0), kernel, np.zeros(200), X[:15])
    again = solver.infer_rows(RememberedRows(LocalRows(X, y), empty), Hinge(2.0), kernel, X[:15])
    assert again.log_evidence == pytest.approx(plain.log_evidence, abs=1e-9)


def test_streams_need_sparse_inference_and_known_classes():
    X, f = problem(200)
    with pytest.raises(AttributeError, match="no attribute 'partial_fit'") as raised:
        BayesianSVC().partial_fit(X, f > 0)
    assert "inference='sparse'" in str(raised.value.__cause__)
    with pytest.raises(ValueError, match="every class"):
        BayesianSVC(**SETTINGS).partial_fit(X, f > 0, classes=[False, True, 2])
    model = BayesianSVC(**SETTINGS).partial_fit(X, np.sign(f))
    with pytest.raises(ValueError, match="were not in the first batch"):
        model.partial_fit(X, np.full(200, 7.0))


def test_the_least_squares_machine_has_no_stream():
    assert not hasattr(BayesianSVC(loss="least_squares", inference="sparse"), "partial_fit")
    assert hasattr(BayesianSVC(inference="sparse"), "partial_fit")
