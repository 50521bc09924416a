"""The ANOVA kernel against its definition as a sum over sets of inputs."""

from itertools import combinations

import numpy as np
import pytest

from softmargin.kernels import Anova, gram

SCALES, W = np.array([0.7, 1.9, 4.0]), 0.4


def cauchy(X, Z, a):
    return 1 / (1 + ((X[:, None, a] - Z[None, :, a]) / SCALES[a]) ** 2)


@pytest.mark.parametrize("value", [gram, lambda kernel, X, Z: kernel(X, Z)], ids=["ours", "scikit-learn"])
def test_it_is_a_sum_over_all_sets_of_inputs(value):
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(7, 3)), rng.normal(size=(5, 3))
    total = np.zeros((7, 5))
    for size in range(4):
        for chosen in combinations(range(3), size):
            total += W**size * np.prod([np.ones((7, 5)), *(cauchy(X, Z, a) for a in chosen)], axis=0)
    np.testing.assert_allclose(value(Anova(SCALES, interaction=W), X, Z), total / (1 + W) ** 3, rtol=1e-13)


def test_interactions_alone_are_a_product_and_none_a_constant():
    X = np.random.default_rng(1).normal(size=(6, 3))
    product = np.prod([cauchy(X, X, a) for a in range(3)], axis=0)
    np.testing.assert_allclose(gram(Anova(SCALES, interaction=1e12), X), product, atol=1e-11)
    np.testing.assert_allclose(gram(Anova(SCALES, interaction=1e-12), X), 1.0, atol=1e-11)


def test_an_input_of_infinite_length_scale_is_left_out():
    X = np.random.default_rng(2).normal(size=(6, 3))
    with_it = gram(Anova([0.7, 1e200, 4.0], interaction=W), X)
    np.testing.assert_allclose(with_it, gram(Anova([0.7, 4.0], interaction=W), X[:, [0, 2]]), rtol=1e-14)


def test_rows_far_beyond_the_range_of_squares_have_finite_values():
    X = np.array([[0.0, 0.0, 0.0], [1e180, 0.0, 0.0], [1e180, -1e180, 1.0]])
    K = gram(Anova(SCALES, interaction=W), X)
    assert K[0, 1] == pytest.approx(1 / (1 + W), rel=1e-12) and np.all(np.isfinite(K))


@pytest.mark.parametrize("interaction", [0.0, -0.5, np.inf, np.nan])
def test_a_weight_that_is_no_weight_is_refused(interaction):
    for value in (gram, lambda kernel, X: kernel(X)):
        with pytest.raises(ValueError, match=r"interaction=.* must be positive and finite"):
            value(Anova(1.0, interaction=interaction), np.eye(2))
