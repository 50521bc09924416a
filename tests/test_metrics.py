"""The scores against their definitions."""

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel

from softmargin import metrics


@pytest.fixture(scope="module")
def normal():
    """400 targets that really are N(mean, std)."""
    rng = np.random.default_rng(0)
    mean, std = rng.normal(size=400), rng.uniform(0.5, 2.0, size=400)
    return mean + std * rng.normal(size=400), mean, std


def interval(mean, std, level):
    z = stats.norm.ppf((1 + level) / 2)
    return np.stack([mean - z * std, mean + z * std], axis=1)


def test_coverage_and_width(normal):
    y, mean, std = normal
    inside = metrics.coverage(y, interval(mean, std, 0.8))
    assert inside == pytest.approx(0.8, abs=4 * np.sqrt(0.16 / 400))
    assert metrics.mean_width(interval(mean, std, 0.8)) == pytest.approx(2 * stats.norm.ppf(0.9) * std.mean())


def test_interval_score_is_best_at_the_true_quantiles(normal):
    y, mean, std = normal
    scores = [metrics.interval_score(y, interval(mean, k * std, 0.8), confidence_level=0.8) for k in (0.5, 1.0, 2.0)]
    assert scores[1] < scores[0] and scores[1] < scores[2]


def test_crps_normal_is_the_integral_of_the_squared_cdf_error():
    y, mean, std = 0.7, 0.2, 1.5

    def squared(t):
        return (stats.norm.cdf(t, mean, std) - (t >= y)) ** 2

    expected = quad(squared, -15, y)[0] + quad(squared, y, 15)[0]
    assert metrics.crps_normal([y], [mean], [std]) == pytest.approx(expected, rel=1e-8)


def test_crps_of_samples_and_of_quantiles_approach_the_closed_form(normal):
    y, mean, std = normal
    exact = metrics.crps_normal(y, mean, std)
    draws = mean[:, None] + std[:, None] * np.random.default_rng(1).normal(size=(400, 500))
    # Unbiased; its standard error is about std/sqrt(400 * 500).
    assert metrics.crps_samples(y, draws) == pytest.approx(exact, abs=5 * 1.3 / np.sqrt(400 * 500))
    q = (np.arange(200) + 0.5) / 200
    quantiles = mean[:, None] + std[:, None] * stats.norm.ppf(q)
    assert metrics.crps_quantiles(y, quantiles, q) == pytest.approx(exact, rel=2e-3)


def test_crps_of_samples_is_fair():
    """Two draws only: the average over many rows must still be that of the distribution, not larger."""
    rng = np.random.default_rng(2)
    y, draws = rng.normal(size=40_000), rng.normal(size=(40_000, 2))
    # E|Y - Y'|/2 = 1/sqrt(pi); a row's sd is below 1.
    assert metrics.crps_samples(y, draws) == pytest.approx(1 / np.sqrt(np.pi), abs=5 / np.sqrt(40_000))


def test_log_density_of_a_normal_regressor():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 1))
    y = X[:, 0] + 0.1 * rng.normal(size=20)
    model = GaussianProcessRegressor(RBF() + WhiteKernel(0.01), optimizer=None).fit(X, y)
    mean, std = model.predict(X, return_std=True)
    expected = stats.norm.logpdf(y, mean, std).mean()
    assert metrics.mean_log_predictive_density(model, X, y) == pytest.approx(expected)


def test_calibration_error_of_honest_and_boastful_probabilities():
    rng = np.random.default_rng(0)
    p = rng.uniform(size=20_000)
    y = (rng.uniform(size=20_000) < p).astype(int)
    # 15 bins of about 1333 rows: each gap has a standard error of at most .5/sqrt(1333) = .014.
    assert metrics.expected_calibration_error(y, p) < 0.014
    assert metrics.expected_calibration_error(y, np.where(p > 0.5, 0.99, 0.01)) == pytest.approx(0.24, abs=0.02)


def test_calibration_error_of_many_classes_follows_labels():
    proba = np.array([[0.2, 0.7, 0.1], [0.1, 0.1, 0.8]])
    assert metrics.expected_calibration_error(["b", "c"], proba, labels=["a", "b", "c"]) == pytest.approx(0.25)
    with pytest.raises(ValueError, match="3 columns but there are 2 classes"):
        metrics.expected_calibration_error(["b", "c"], proba)


@pytest.mark.parametrize(
    "score",
    [
        lambda y, w: metrics.coverage(y, [[-1, 1]] * len(y), sample_weight=w),
        lambda y, w: metrics.interval_score(y, [[-1, 1]] * len(y), sample_weight=w),
        lambda y, w: metrics.crps_normal(y, np.zeros(len(y)), np.ones(len(y)), sample_weight=w),
        lambda y, w: metrics.crps_samples(y, [[-1.0, 0.5, 1.0]] * len(y), sample_weight=w),
        lambda y, w: metrics.crps_quantiles(y, [[-1.0, 1.0]] * len(y), [0.25, 0.75], sample_weight=w),
        lambda y, w: metrics.expected_calibration_error(np.asarray(y) > 0, [0.3] * len(y), sample_weight=w),
    ],
)
def test_weights_stand_for_repeated_rows(score):
    assert score([0.5, -2.0], [3, 1]) == pytest.approx(score([0.5, 0.5, 0.5, -2.0], None))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: metrics.coverage([0.0], [[1.0, -1.0]]), "lower <= upper"),
        (lambda: metrics.coverage([0.0], [[1.0]]), "two columns"),
        (lambda: metrics.interval_score([0.0], [[-1.0, 1.0]], confidence_level=95), "between 0 and 1"),
        (lambda: metrics.crps_quantiles([0.0], [[0.0, 1.0]], [0.7, 0.2]), "2 increasing levels"),
        (lambda: metrics.crps_samples([0.0], [[1.0]]), "minimum of 2"),
    ],
)
def test_errors_say_what_to_do(call, message):
    with pytest.raises(ValueError, match=message):
        call()
