"""Each target's slope and parameter derivatives against finite differences."""

import numpy as np
import pytest

from softmargin.likelihoods import EpsilonInsensitive, Hinge, Logistic, SquaredHinge
from softmargin.sampling import ConditionalNormaliser, DataTarget, JointNormaliser

Y = np.array([1.0, -1.0, 1.0, 1.0])
WEIGHT = np.array([1.0, 2.0, 0.5, 3.0])
THETA = np.random.default_rng(0).normal(scale=1.5, size=(5, 4))

TARGETS = {
    "hinge": lambda C, w: DataTarget(Y, Hinge(C), w),
    "squared_hinge": lambda C, w: DataTarget(Y, SquaredHinge(C), w),
    "logistic": lambda C, w: DataTarget(Y, Logistic(C), w),
    "epsilon_insensitive": lambda C, w: DataTarget(0.7 * Y, EpsilonInsensitive(C, 0.3), w),
    "conditional": lambda C, w: ConditionalNormaliser(Hinge(C), w),
    "conditional_squared": lambda C, w: ConditionalNormaliser(SquaredHinge(C), w),
    "joint": lambda C, w: JointNormaliser(Hinge(C), 4.0, w),
    "joint_squared": lambda C, w: JointNormaliser(SquaredHinge(C), 6.5, w),
}


@pytest.fixture(params=TARGETS, name="make")
def _make(request):
    return TARGETS[request.param]


@pytest.mark.parametrize("weight", [None, WEIGHT])
def test_slope_is_the_derivative_of_log_weight(make, weight):
    target, h = make(1.7, weight), 1e-6
    numeric = np.empty_like(THETA)
    for j in range(4):
        move = h * np.eye(4)[j]
        numeric[:, j] = (target.log_weight(THETA + move) - target.log_weight(THETA - move)) / (2 * h)
    np.testing.assert_allclose(target.slope(THETA), numeric, atol=1e-6)


@pytest.mark.parametrize("weight", [None, WEIGHT])
def test_d_params_is_the_derivative_in_C(make, weight):
    h = 1e-6
    numeric = (make(1.7 + h, weight).log_weight(THETA) - make(1.7 - h, weight).log_weight(THETA)) / (2 * h)
    np.testing.assert_allclose(make(1.7, weight).d_params(THETA)[0], numeric, atol=1e-6)


def test_a_weight_stands_for_repeated_rows(make):
    weight = np.array([1.0, 2.0, 1.0, 3.0])
    once = make(1.7, weight)
    repeat = np.repeat(np.arange(4), weight.astype(int))
    if isinstance(once, DataTarget):
        many = DataTarget(once.y[repeat], once.likelihood)
    elif isinstance(once, ConditionalNormaliser):
        many = ConditionalNormaliser(once.likelihood)
    else:
        many = JointNormaliser(once.likelihood, once.n_examples)
    np.testing.assert_allclose(once.log_weight(THETA), many.log_weight(THETA[:, repeat]))
