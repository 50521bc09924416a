"""Centre and scale of a target."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from softmargin.machines import target_units

Y = np.random.default_rng(0).normal(5.0, 2.0, 40)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 8, 40])
def test_is_the_median_and_symmetric(n):
    weight = np.ones(n)
    one, other = target_units(Y[:n], weight), target_units(-Y[:n], weight)
    assert one.center == pytest.approx(np.median(Y[:n]), rel=1e-14)
    assert (other.center, other.scale) == (-one.center, one.scale)


def test_scale_is_the_robust_one():
    low, high = np.quantile(Y, [0.25, 0.75], method="averaged_inverted_cdf")
    assert target_units(Y, np.ones(40)).scale == pytest.approx((high - low) / 1.349, rel=1e-12)


def test_weights_are_copies():
    weight = np.random.default_rng(1).integers(1, 5, 40)
    weighted, repeated = target_units(Y, weight * 1.0), target_units(np.repeat(Y, weight), np.ones(weight.sum()))
    assert weighted == repeated


def test_half_of_the_targets_equal():
    y = np.concatenate([np.zeros(30), [1.0, 2.0, 5.0]])
    units = target_units(y, np.ones(33))
    assert units.center == 0
    assert_allclose(units.scale, y.std())
