"""A regression that is not clearly better than a constant with noise is doubted, and climbs again."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_diabetes, make_friedman1
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from softmargin import BayesianSVR
from softmargin.datasets import make_sinc
from softmargin.kernels import make_kernel
from softmargin.policy import POLICY
from softmargin.rows import merge_rows
from softmargin.search import Evaluation
from softmargin.tuning import Coordinates, NoiseShape, climb, is_doubtful, start_at

DECISIVE = POLICY.search.decisive
SHORT_START, NOISE_START = POLICY.search.short_start, POLICY.search.noise_start


def ends(model):
    """The objective that each start has reached."""
    return pd.DataFrame(model.search_path_).groupby("start")["objective"].max().to_numpy()


def reach_one_optimum(X, y):
    model = BayesianSVR(n_restarts=9, random_state=0, tol=1e-6, max_iter=200).fit(X, y)
    assert len(ends(model)) == 10
    return np.ptp(ends(model)) < 0.01


@pytest.mark.parametrize("seed", [0, 1])
def test_ten_random_starts_reach_one_optimum(seed):
    """On the second set the first climb of three starts, with length scales of the whole range, finds nothing."""
    assert reach_one_optimum(*make_sinc(40, random_state=seed))


@pytest.mark.slow
def test_ten_random_starts_reach_one_optimum_on_fifteen_sets():
    failed = [seed for seed in range(15) if not reach_one_optimum(*make_sinc(40, random_state=seed))]
    assert failed == []


@pytest.mark.slow
def test_ten_random_starts_reach_one_optimum_with_ten_inputs():
    X, y = load_diabetes(return_X_y=True)
    assert reach_one_optimum(X[:200], y[:200])
    assert reach_one_optimum(*make_friedman1(200, noise=1.0, random_state=0))


def test_the_default_start_finds_a_function_that_turns_often():
    """Three waves: the first climb calls them noise of 0.7. sd of the noise's estimate from 60 rows: 0.2/sqrt(100)."""
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(60, 1))
    model = BayesianSVR().fit(X, np.sin(6 * np.pi * X[:, 0]) + 0.2 * rng.normal(size=60))
    assert model.noise_std_ == pytest.approx(0.2, abs=0.06)
    assert BayesianSVR().fit(*make_sinc(40, random_state=13)).noise_std_ < 0.15


@pytest.mark.parametrize("seed", [503, 505])
def test_chance_must_win_clearly(seed, monkeypatch):
    """Thirty rows of noise over five inputs: interpolating them wins by less than five nats, and predicts worse."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(530, 5)), rng.normal(size=530)
    model = BayesianSVR().fit(X[:30], y[:30])
    monkeypatch.setattr(climb, "is_doubtful", lambda best, rows: False)
    trusting = BayesianSVR().fit(X[:30], y[:30])
    density, believed = (np.mean(m.log_predictive_density(X[30:], y[30:])) for m in (model, trusting))
    assert density > -1.9
    assert density > believed - 0.01
    assert ends(trusting) < ends(model) + 1e-3 < model._fit.model.objective - model._fit.log_units + DECISIVE


def test_a_fit_that_finds_something_climbs_once(monkeypatch):
    X, y = make_sinc(40, random_state=0)
    model = BayesianSVR().fit(X, y)
    monkeypatch.setattr(climb, "is_doubtful", lambda best, rows: False)
    assert len(model.search_path_) == len(BayesianSVR().fit(X, y).search_path_)


@pytest.mark.parametrize("seed", [502, 513])
def test_the_start_is_short_enough_for_additive_functions(seed):
    """From length scales longer by e^1/2 these searches end 50 nats lower, without the second input."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(600, 8))
    f = np.sin(2 * X[:, 0]) + X[:, 1] ** 2 + X[:, 2]
    model = BayesianSVR().fit(X[:100], f[:100] + 0.3 * rng.normal(size=600)[:100])
    assert np.sqrt(np.mean((model.predict(X[100:]) - f[100:]) ** 2)) < 0.2 * f.std()


def evaluation(value):
    return Evaluation(np.zeros(1), value, None, value, None)


@pytest.mark.parametrize("noise", ["laplace", "normal", "uniform"])
def test_what_a_constant_with_noise_explains_is_doubtful(noise):
    """The fitted constant's likelihood is near the true one's, whatever the noise; weights are copies."""
    rng = np.random.default_rng(0)
    y = 3 + getattr(rng, noise)(size=400)
    entropy = {"laplace": np.log(2) + 1, "normal": 0.5 * np.log(2 * np.pi) + 0.5, "uniform": 0.0}[noise]
    rows = merge_rows(np.arange(400.0)[:, None], y, np.full(400, 2.0))
    # sd of -ln p(y) is at most 1 a row: 20 for 400 rows, twice that for two copies of each.
    assert is_doubtful(evaluation(-800 * entropy - 120), rows)
    assert not is_doubtful(evaluation(-800 * entropy + 120), rows)


def test_doubts_end_five_nats_above_the_constant():
    y = np.array([0.0, 1.0, 2.0, 3.0])
    rows = merge_rows(np.arange(4.0)[:, None], y, None)
    # A uniform density over the range: 3^-4.
    uniform = -4 * np.log(3.0)
    assert is_doubtful(evaluation(uniform + 0.99 * DECISIVE), rows)
    assert not is_doubtful(evaluation(uniform + 1.01 * DECISIVE), rows)


def test_there_is_nothing_to_doubt_in_a_constant():
    assert not is_doubtful(evaluation(-1e9), merge_rows(np.arange(5.0)[:, None], np.ones(5), None))


def test_starts_are_in_units_of_the_spread_and_within_bounds():
    spread = np.array([1.0, 50.0])
    coordinates = Coordinates(make_kernel(None, 2, spread), NoiseShape(), 2)
    short, noise = (start_at(logs, coordinates, spread) for logs in (SHORT_START, NOISE_START))
    scales = [name.startswith("length_scale") for name in coordinates.names]
    assert_allclose(short[scales], SHORT_START["length_scale"] + np.log(spread * np.sqrt(2)))
    assert_allclose(short[np.invert(scales)], coordinates.start[np.invert(scales)])
    assert_allclose(np.exp(noise[[0, -2]]), [0.5, 1.0])
    bounded = Coordinates(ConstantKernel(1.0) * RBF([1.0, 1.0], (0.9, 2.0)), NoiseShape(), 2)
    assert_allclose(np.exp(start_at(SHORT_START, bounded, spread)[1:3]), [0.9, 2.0])
    assert start_at(SHORT_START, Coordinates(ConstantKernel(1.0), NoiseShape(), 2), spread) is None


def test_a_length_scale_of_all_inputs_is_in_units_of_their_mean():
    shared = Coordinates(ConstantKernel(1.0) * RBF(1.0), NoiseShape(), 3)
    z = start_at(SHORT_START, shared, np.array([1.0, 100.0, 0.0]))
    assert z[1] == pytest.approx(SHORT_START["length_scale"] + np.log(10 * np.sqrt(2)))
