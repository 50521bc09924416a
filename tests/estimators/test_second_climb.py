"""A regression that ends where everything is noise climbs again from shorter length scales."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from softmargin import BayesianSVR
from softmargin.datasets import make_sinc
from softmargin.estimators import _tuning
from softmargin.estimators._policy import SHORTER, has_found_nothing, shorter_start
from softmargin.estimators._rows import merge_rows
from softmargin.kernels import make_kernel
from softmargin.search import Coordinates, Evaluation, NoiseShape


def ends(model):
    """The objective that each start has reached."""
    return pd.DataFrame(model.search_path_).groupby("start")["objective"].max().to_numpy()


def one_optimum(seed):
    model = BayesianSVR(n_restarts=9, random_state=0, tol=1e-6).fit(*make_sinc(40, random_state=seed))
    assert len(ends(model)) == 10
    return np.ptp(ends(model)) < 0.01


@pytest.mark.parametrize("seed", [0, 1])
def test_ten_random_starts_reach_one_optimum(seed):
    """On the second set the first climb of three starts, with length scales of the whole range, finds nothing."""
    assert one_optimum(seed)


@pytest.mark.slow
def test_ten_random_starts_reach_one_optimum_on_fifteen_sets():
    assert [seed for seed in range(15) if not one_optimum(seed)] == []


def test_the_default_start_finds_a_function_that_turns_often():
    """Three waves: the first climb calls them noise of 0.7. sd of the noise's estimate from 60 rows: 0.2/sqrt(100)."""
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(60, 1))
    model = BayesianSVR().fit(X, np.sin(6 * np.pi * X[:, 0]) + 0.2 * rng.normal(size=60))
    assert model.noise_std_ == pytest.approx(0.2, abs=0.06)
    assert BayesianSVR().fit(*make_sinc(40, random_state=13)).noise_std_ < 0.15


def test_it_must_win_clearly(monkeypatch):
    """Noise over three inputs: short length scales win by less than two nats, and predict new noise worse."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), rng.normal(size=60)
    model = BayesianSVR().fit(X, y)
    monkeypatch.setattr(_tuning, "has_found_nothing", lambda best, rows: False)
    alone = BayesianSVR().fit(X, y)
    assert ends(model) > ends(alone) + 1
    assert model.log_evidence_ == alone.log_evidence_


def test_a_fit_that_finds_something_climbs_once(monkeypatch):
    X, y = make_sinc(40, random_state=0)
    model = BayesianSVR().fit(X, y)
    monkeypatch.setattr(_tuning, "has_found_nothing", lambda best, rows: False)
    assert len(model.search_path_) == len(BayesianSVR().fit(X, y).search_path_)


def evaluation(evidence):
    return Evaluation(np.zeros(1), evidence, None, evidence, None)


@pytest.mark.parametrize("noise", ["laplace", "normal", "uniform"])
def test_nothing_is_less_than_a_constant_with_noise(noise):
    """The fitted constant's likelihood is near the true one's, whatever the noise; weights are copies."""
    rng = np.random.default_rng(0)
    y = 3 + getattr(rng, noise)(size=400)
    entropy = {"laplace": np.log(2) + 1, "normal": 0.5 * np.log(2 * np.pi) + 0.5, "uniform": 0.0}[noise]
    rows = merge_rows(np.arange(400.0)[:, None], y, np.full(400, 2.0))
    # sd of -ln p(y) is at most 1 a row: 20 for 400 rows, twice that for two copies of each.
    assert has_found_nothing(evaluation(-800 * entropy - 120), rows)
    assert not has_found_nothing(evaluation(-800 * entropy + 120), rows)


def test_there_is_nothing_to_find_in_a_constant():
    assert not has_found_nothing(evaluation(-1e9), merge_rows(np.arange(5.0)[:, None], np.ones(5), None))


def test_the_shorter_start_is_in_units_of_the_spread_and_within_bounds():
    spread = np.array([1.0, 50.0])
    coordinates = Coordinates(make_kernel(None, 2, spread), NoiseShape(), 2)
    z = shorter_start(coordinates, spread)
    scales = [i for i, name in enumerate(coordinates.names) if name.startswith("length_scale")]
    others = np.setdiff1d(np.arange(len(z)), scales)
    assert_allclose(z[scales], SHORTER + np.log(spread * np.sqrt(2)))
    assert_allclose(z[others], coordinates.start[others])
    bounded = Coordinates(ConstantKernel(1.0) * RBF([1.0, 1.0], (0.9, 2.0)), NoiseShape(), 2)
    assert_allclose(np.exp(shorter_start(bounded, spread)[1:3]), [0.9, 2.0])
    assert shorter_start(Coordinates(ConstantKernel(1.0), NoiseShape(), 2), spread) is None
