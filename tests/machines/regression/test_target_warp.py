"""The warp of a target: its formula, slope, inverse and likelihood."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from softmargin.machines import TargetWarp

POWERS = [-1.0, -0.3, 0.0, 0.5, 1.0, 1.6, 2.0, 3.0]
SKEWED = np.random.default_rng(0).lognormal(1.0, 0.6, 80)


def warp(power):
    return TargetWarp(center=2.0, scale=3.0, power=power, low=-1.5, high=2.0)


@pytest.mark.parametrize("power", POWERS)
def test_is_scipys_inside_and_straight_outside(power):
    u = np.linspace(-1.5, 2.0, 21)
    assert_allclose(warp(power)(2 + 3 * u), stats.yeojohnson(u, power), rtol=1e-12, atol=1e-14)
    for outside in (np.array([-9.0, -6.0, -3.0]), np.array([9.0, 12.0, 15.0])):
        t = warp(power)(outside)
        assert t[2] - t[1] == pytest.approx(t[1] - t[0], rel=1e-12)


@pytest.mark.parametrize("power", POWERS)
def test_slope_and_inverse(power):
    y = np.linspace(-12, 20, 57) + 0.013
    step = 1e-6
    slope = (warp(power)(y + step) - warp(power)(y - step)) / (2 * step)
    assert_allclose(np.exp(warp(power).log_slope(y)), slope, rtol=1e-5)
    assert_allclose(warp(power).inverse(warp(power)(y)), y, rtol=1e-9)


def test_has_most_likelihood():
    found = TargetWarp.of(SKEWED, np.ones(80))
    u = (SKEWED - SKEWED.mean()) / SKEWED.std()
    assert found.power == pytest.approx(stats.yeojohnson(u)[1], abs=1e-4)
    assert (found.low, found.high) == pytest.approx((u.min() - 1, u.max() + 1))


def test_negative_targets_have_the_mirrored_warp():
    one, other = TargetWarp.of(SKEWED, np.ones(80)), TargetWarp.of(-SKEWED, np.ones(80))
    assert other.power == 2 - one.power
    y = np.linspace(-30, 30, 40)
    assert_allclose(other(-y), -one(y), rtol=1e-12)


def test_weights_are_copies():
    weight = np.random.default_rng(1).integers(1, 4, 80)
    weighted, repeated = (
        TargetWarp.of(SKEWED, weight * 1.0),
        TargetWarp.of(np.repeat(SKEWED, weight), np.ones(weight.sum())),
    )
    assert weighted.power == pytest.approx(repeated.power, abs=1e-5)
    assert weighted.scale == pytest.approx(repeated.scale, rel=1e-12)


def test_units_do_not_matter():
    one, other = TargetWarp.of(SKEWED, np.ones(80)), TargetWarp.of(1e200 * SKEWED, np.ones(80))
    assert other.power == pytest.approx(one.power, abs=1e-6)


@pytest.mark.parametrize("y", [np.random.default_rng(0).normal(size=80), np.full(80, 3.0), np.full(1, 3.0)])
def test_none_where_nothing_is_gained(y):
    assert TargetWarp.of(y, np.ones(len(y))) is None
