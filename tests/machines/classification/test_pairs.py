"""From pairs to classes: coupling against its objective, and the temperature."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from softmargin.machines import couple, fit_temperature, pairwise_table, temper


def random_pairs(n, k, seed=0):
    rng = np.random.default_rng(seed)
    upper = np.triu(rng.uniform(0.02, 0.98, (n, k, k)), 1)
    lower = np.tril(1 - upper.transpose(0, 2, 1), -1)
    return upper + lower


@pytest.mark.parametrize("k", [3, 5])
def test_coupling_minimises_its_objective(k):
    # Wu, Lin & Weng 2004, second method: sum over pairs of (r_ts p_s - r_st p_t)^2, sum p = 1, p >= 0.
    r = random_pairs(5, k)
    for table, p in zip(r, couple(r)):

        def objective(p, r=table):
            return sum((r[t, s] * p[s] - r[s, t] * p[t]) ** 2 for s in range(k) for t in range(s))

        best = minimize(
            objective,
            np.full(k, 1 / k),
            method="SLSQP",
            bounds=[(0, 1)] * k,
            constraints={"type": "eq", "fun": lambda p: p.sum() - 1},
            options={"ftol": 1e-14, "maxiter": 500},
        )
        assert_allclose(p, best.x, atol=1e-5)
        assert objective(p) <= best.fun + 1e-12


@pytest.mark.parametrize("k", [2, 3, 10])
def test_true_pairwise_probabilities_give_the_classes_back(k):
    p = np.random.default_rng(0).dirichlet(np.full(k, 0.5), 50)
    p = np.maximum(p, 1e-6) / np.maximum(p, 1e-6).sum(axis=1, keepdims=True)
    r = p[:, :, None] / (p[:, :, None] + p[:, None, :])
    assert_allclose(couple(r), p, rtol=1e-5, atol=1e-9)


def test_impossible_classes_are_no_obstacle():
    r = np.full((1, 4, 4), 0.5)
    r[:, 0, :], r[:, :, 0] = 1.0, 0.0
    p = couple(r)
    assert np.all(np.isfinite(p)) and p[0, 0] == pytest.approx(1, abs=1e-6) and np.all(p > 0)


def test_pairwise_table_reads_the_pairs():
    r = pairwise_table(np.array([[0.0, np.log(3), -800.0]]), [(0, 1), (0, 2), (1, 2)], 3)[0]
    assert_allclose([r[1, 0], r[0, 1]], 0.5)
    assert_allclose([r[2, 0], r[0, 2]], [0.75, 0.25])
    assert r[2, 1] < 1e-200 and r[1, 2] == 1


def test_temper_is_a_power():
    p = np.random.default_rng(0).dirichlet(np.ones(4), 20)
    assert_allclose(np.exp(temper(p, 1.0)), p)
    assert_allclose(np.exp(temper(p, 2.0)), p**2 / (p**2).sum(axis=1, keepdims=True))


@pytest.mark.parametrize("beta", [0.5, 1.0, 2.0])
def test_temperature_is_recovered(beta):
    rng = np.random.default_rng(0)
    true = rng.dirichlet(np.ones(3), 20_000)
    index = (rng.random((20_000, 1)) > np.cumsum(true, axis=1)).sum(axis=1)
    distorted = np.exp(temper(true, 1 / beta))
    # Information about ln beta is about a tenth per row: a standard error of 0.02.
    assert fit_temperature(distorted, index, np.ones(20_000)) == pytest.approx(beta, rel=0.08)


def test_temperature_does_not_run_away_on_separable_data():
    p = np.tile([0.9, 0.05, 0.05], (30, 1))
    assert 1 < fit_temperature(p, np.zeros(30, dtype=int), np.ones(30)) < 5


def test_temperature_weighs_rows():
    rng = np.random.default_rng(0)
    p, index = rng.dirichlet(np.ones(3), 40), rng.integers(0, 3, 40)
    w = rng.integers(1, 4, 40)
    repeated = fit_temperature(np.repeat(p, w, axis=0), np.repeat(index, w), np.ones(w.sum()))
    assert fit_temperature(p, index, w.astype(float)) == pytest.approx(repeated, rel=1e-4)
