"""Leave-one-out where rows have copies: one copy is left out, not all of them."""

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF

from softmargin import BayesianSVC
from softmargin.inference import EP, Variational
from softmargin.inference.low_rank import LowRankEP
from softmargin.kernels import gram
from softmargin.least_squares import SoftmaxFit
from softmargin.likelihoods import Gaussian, Hinge

RNG = np.random.default_rng(0)
X = RNG.standard_normal((12, 2))
WEIGHT = np.array([1.0, 2.0, 3.0, 10.0, 1.0, 4.0] * 2)
KERNEL = RBF(1.5)


def test_without_a_copy_a_gaussian_posterior_is_that_of_fewer_copies():
    y, K, likelihood = RNG.standard_normal(12), gram(KERNEL, X), Gaussian(0.5)
    share = 1 / WEIGHT
    for posterior in (
        EP(tol=1e-10).infer(K, y, likelihood, WEIGHT),
        LowRankEP(tol=1e-10).infer_inputs(X, y, likelihood, KERNEL, WEIGHT, Z=X),
    ):
        m, v = posterior.cavities(share)
        for i in (0, 2, 3):
            fewer = WEIGHT.copy()
            fewer[i] -= 1
            keep = fewer > 0
            rest = EP(tol=1e-10).infer(K[np.ix_(keep, keep)], y[keep], likelihood, fewer[keep])
            k = K[i : i + 1, keep]
            assert m[i] == pytest.approx(rest.latent_mean(k)[0], abs=1e-5)
            assert v[i] == pytest.approx(rest.latent_variance(k, np.ones(1))[0], rel=1e-5)


@pytest.mark.parametrize("inference", [EP(tol=1e-9), Variational(tol=1e-9)])
def test_without_a_copy_a_hinge_posterior_is_nearly_that_of_fewer_copies(inference):
    y, K = np.where(X[:, 0] > 0, 1.0, -1.0), gram(KERNEL, X)
    m, v = inference.infer(K, y, Hinge(1.0), WEIGHT).cavities(1 / WEIGHT)
    for i in (2, 3):
        fewer = WEIGHT.copy()
        fewer[i] -= 1
        rest = inference.infer(K, y, Hinge(1.0), fewer)
        assert m[i] == pytest.approx(rest.mean[i], abs=0.03)
        assert v[i] == pytest.approx(rest.variance[i], rel=0.1)


def test_all_copies_are_the_ordinary_cavity():
    y, K = np.where(X[:, 0] > 0, 1.0, -1.0), gram(KERNEL, X)
    dense = EP(tol=1e-9).infer(K, y, Hinge(1.0), WEIGHT)
    low = LowRankEP(tol=1e-9).infer_inputs(X, y, Hinge(1.0), KERNEL, WEIGHT, Z=X)
    for posterior in (dense, low):
        for found, expected in zip(posterior.cavities(np.ones(12)), posterior.cavities()):
            np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-8)


def test_the_softmax_is_learnt_without_some_copies():
    rng = np.random.default_rng(1)
    logits, labels = rng.standard_normal((30, 3)), rng.integers(3, size=30)
    weight = np.full(30, 50.0)
    fit = SoftmaxFit()
    # With all rows in every fold the softmax is nearly that of all rows; without whole rows it is another one.
    B, c = fit.fit(logits, labels, 0.8 * weight)
    scores = logits @ B + c
    expected = scores - np.logaddexp.reduce(scores, axis=1, keepdims=True)
    np.testing.assert_allclose(fit.cross_fit(logits, labels, weight, whole=False), expected, atol=1e-3)
    assert np.abs(fit.cross_fit(logits, labels, weight) - expected).max() > 0.05
    once = np.ones(30)
    assert np.array_equal(fit.cross_fit(logits, labels, once, whole=False), fit.cross_fit(logits, labels, once))


def table(n, n_classes, seed):
    """Rows of a table of three categories in which nearly every cell has several labels."""
    rng = np.random.default_rng(seed)
    cells = np.array([[a, b, c] for a in range(2) for b in range(2) for c in range(3)], dtype=float)
    p = np.random.default_rng(7).dirichlet(np.full(n_classes, 0.6), size=len(cells))
    cell = rng.integers(len(cells), size=n)
    return cells[cell], np.array([rng.choice(n_classes, p=p[k]) for k in cell])


@pytest.mark.parametrize("settings", [{}, {"stack": False}, {"n_classes": 3}], ids=str)
def test_the_reported_loss_is_that_of_new_rows(settings):
    settings = dict(settings)
    n_classes = settings.pop("n_classes", 2)
    model = BayesianSVC(**settings).fit(*table(300, n_classes, 0))
    rows, labels = table(4000, n_classes, 1)
    log_p = model.predict_log_proba(rows)[np.arange(len(labels)), labels]
    # Standard error of the mean over 300 training rows.
    error = log_p.std() / np.sqrt(300)
    assert abs(model.loo_log_loss_ + log_p.mean()) < 2.5 * error
    assert abs(model.loo_error_ - np.mean(model.predict(rows) != labels)) < 2.5 * 0.5 / np.sqrt(300)
