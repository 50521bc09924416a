"""Targets that cannot be noise: left out with a warning if the evidence says so, kept if they are structure."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from softmargin import BayesianSVR
from softmargin.datasets import make_sinc
from softmargin.kernels import gram, make_kernel
from softmargin.machines.regression import fit as regression

INSIDE = np.linspace(-10, 10, 101)[:, None]


def spoil(y, row, value=1e6):
    return np.where(np.arange(len(y)) == row, value, y)


def fit_spoilt(X, y, **kwargs):
    with pytest.warns(UserWarning, match=r"1 target\(s\) .* gross errors and left out"):
        return BayesianSVR(**kwargs).fit(X, y)


@pytest.mark.parametrize("n", [40, 100, pytest.param(200, marks=pytest.mark.slow)])
def test_a_gross_error_is_as_good_as_its_absence(n):
    X, y = make_sinc(n, random_state=0)
    for row, value in ((0, 1e6), (1, -50.0))[: 2 if n == 40 else 1]:
        spoilt = fit_spoilt(X, spoil(y, row, value))
        rest = np.arange(n) != row
        without = BayesianSVR().fit(X[rest], y[rest])
        assert_allclose(spoilt.predict(INSIDE, return_std=True), without.predict(INSIDE, return_std=True), rtol=1e-8)
        assert_allclose([spoilt.C_, spoilt.epsilon_], [without.C_, without.epsilon_], rtol=1e-8)
        assert spoilt.log_evidence_ == pytest.approx(without.log_evidence_)
        assert spoilt.loo_log_density_ == pytest.approx(without.loo_log_density_)
        assert_array_equal(spoilt.gross_errors_, [row])
        assert row not in spoilt.support_


@pytest.mark.parametrize("n", [100, pytest.param(200, marks=pytest.mark.slow)])
def test_an_outlier_of_a_million_changes_nothing_elsewhere(n):
    """Less than 0.1 sd at least 2 (a length scale) away, inside the data: what the loss of one right row does."""
    X, y = make_sinc(n, random_state=0)
    mean, std = BayesianSVR().fit(X, y).predict(INSIDE, return_std=True)
    for row in (0, 1):
        far = np.abs(INSIDE[:, 0] - X[row, 0]) > 2
        other, other_std = fit_spoilt(X, spoil(y, row)).predict(INSIDE, return_std=True)
        assert np.max(np.abs(other - mean)[far] / std[far]) < 0.1
        assert_allclose(other_std, std, rtol=0.05)


@pytest.mark.parametrize("seed", [0, 3])
def test_among_forty_rows_only_the_hyperparameters_carry_the_loss_of_a_row_far(seed):
    """Given those of the clean fit, the loss of a row moves nothing by 0.1 sd two length scales away."""
    X, y = make_sinc(40, random_state=seed)
    clean = BayesianSVR(stack=False).fit(X, y)
    mean, std = clean.predict(INSIDE, return_std=True)
    for row in range(5):
        rest = np.arange(40) != row
        given = BayesianSVR(clean.kernel_, C=clean.C_, epsilon=clean.epsilon_, search=None).fit(X[rest], y[rest])
        far = np.abs(INSIDE[:, 0] - X[row, 0]) > 2 * clean.kernel_.k1.k2.length_scale
        assert np.max(np.abs(given.predict(INSIDE) - mean)[far] / std[far]) < 0.1


def test_a_search_ends_beyond_the_shoulder():
    """On this set the evidence has a shoulder 0.34 nats below its top, where a search with tol=1e-3 stops."""
    X, y = make_sinc(40, random_state=3)
    tops = [max(row["objective"] for row in BayesianSVR(**kw).fit(X, y).search_path_) for kw in ({}, {"tol": 1e-7})]
    assert tops[1] - tops[0] < 0.01


@pytest.mark.parametrize("kind", ["peak", "exponential"])
def test_structure_is_not_an_error(kind):
    """A narrow peak of six rows and a lognormal target go beyond 20 robust spreads, and the function explains them."""
    rng = np.random.default_rng(0)
    if kind == "peak":
        X = np.linspace(0, 1, 150)[:, None]
        f = 4 * np.exp(-((X[:, 0] - 0.5) ** 2) / (2 * 0.02**2))
    else:
        X = rng.normal(size=(150, 2))
        f = np.exp(2 * X[:, 0])
    model = BayesianSVR().fit(X, f + 0.1 * rng.normal(size=150))
    assert len(model.gross_errors_) == 0
    assert np.abs(f - np.median(f)).max() > 20 * model.y_scale_
    assert np.sqrt(np.mean((model.predict(X) - f) ** 2)) < 0.1


def test_many_extreme_targets_are_not_outliers():
    """A tenth of the targets far away is the distribution itself: the noise must follow it."""
    X, y = make_sinc(40, random_state=0)
    y = np.where(np.arange(40) % 10 == 0, y + 100.0, y)
    assert BayesianSVR().fit(X, y).noise_std_ > 5


def test_they_can_be_kept():
    X, y = make_sinc(40, random_state=0)
    kept = BayesianSVR(gross_errors="keep").fit(X, spoil(y, 3, 50.0))
    given = BayesianSVR(C=5.0, epsilon=0.1, search=None).fit(X, spoil(y, 3, 50.0))
    for model in (kept, given):
        assert len(model.posterior_.mean) == 40 and len(model.gross_errors_) == 0
        assert 3 in model.support_
    assert kept.noise_std_ > 0.3
    with pytest.raises(ValueError, match="gross_errors='drop' is not allowed; choose one of 'auto', 'keep'"):
        BayesianSVR(gross_errors="drop").fit(X, y)


def test_weights_and_precomputed_kernels():
    X, y = make_sinc(40, random_state=0)
    weight = np.where(np.arange(40) < 10, 2.0, 1.0)
    spoilt = spoil(y, 30)
    weighted = BayesianSVR(max_iter=5)
    with pytest.warns(UserWarning, match="row 30"):
        weighted.fit(X, spoilt, sample_weight=weight)
    rest = np.arange(40) != 30
    without = BayesianSVR(max_iter=5).fit(X[rest], y[rest], sample_weight=weight[rest])
    assert_allclose(weighted.predict(INSIDE), without.predict(INSIDE), rtol=1e-8)
    K = gram(make_kernel(None, 1, [5.0]), X)
    by_matrix = fit_spoilt(K, spoilt, kernel="precomputed", max_iter=5)
    again = BayesianSVR("precomputed", max_iter=5).fit(K[np.ix_(rest, rest)], y[rest])
    assert_allclose(by_matrix.predict(K), again.predict(K[:, rest]), rtol=1e-8)


def test_sparse_inference_leaves_them_out_too():
    X, y = make_sinc(600, random_state=0)
    fit = {"inference": "sparse", "n_inducing": 30, "max_iter": 10, "random_state": 0}
    clean = BayesianSVR(**fit).fit(X, y)
    spoilt = fit_spoilt(X, spoil(y, 7), **fit)
    assert_array_equal(spoilt.gross_errors_, [7])
    assert len(clean.gross_errors_) == 0
    (mean, std), (other, other_std) = (m.predict(INSIDE, return_std=True) for m in (clean, spoilt))
    assert np.max(np.abs(other - mean) / std) < 0.1
    assert_allclose(other_std, std, rtol=0.1)
    kept = BayesianSVR(**fit, gross_errors="keep").fit(X, spoil(y, 7))
    assert kept.noise_std_ > 10


def test_warnings_of_the_fit_that_is_kept_are_not_lost(monkeypatch, set_policy):
    """The reading with all rows is tried quietly; if it wins its own warnings must reach the user."""
    fit = regression.fit_latent

    def warning_fit(rows, *settings):
        warnings.warn(f"fitted {len(rows.y)} rows", UserWarning, stacklevel=1)
        return fit(rows, *settings)

    monkeypatch.setattr(regression, "fit_latent", warning_fit)
    set_policy("target", gross_rate=1e-300)
    X, y = make_sinc(40, random_state=0)
    with pytest.warns(UserWarning, match="fitted") as caught:
        model = BayesianSVR(max_iter=5, stack=False).fit(X, spoil(y, 3, 15.0))
    assert len(model.gross_errors_) == 0
    assert [str(w.message) for w in caught] == ["fitted 39 rows", "fitted 40 rows"]


def test_one_row_far_from_zero_is_no_gross_error():
    # Without a centre, and a scale of one because there is one row, its target lies 1e19 scales away from zero.
    model = BayesianSVR(center=None, max_iter=2).fit([[1.0], [2.0]], [9e19, 7e19], sample_weight=[0.0, 1.0])
    assert np.all(np.isfinite(model.predict([[1.5]])))
