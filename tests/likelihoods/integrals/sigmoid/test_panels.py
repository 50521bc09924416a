"""The quick panels of the link against the careful ones, and where each is used."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from softmargin.likelihoods.integrals.sigmoid import quadrature as careful
from softmargin.likelihoods.integrals.sigmoid.panels import fill_easy


def rows(n=3000, seed=0):
    """Cavities over the whole promised range, half of them near the kinks."""
    rng = np.random.default_rng(seed)
    m = np.where(rng.random(n) < 0.5, rng.uniform(-50, 50, n), rng.normal(scale=2, size=n))
    return m, 10 ** rng.uniform(-6, 4, n)


@pytest.mark.parametrize("C", [0.01, 0.3, 1.0, 3.0, 10.0, 100.0])
def test_both_give_the_same_integrals(C):
    m, v = rows()
    out = np.full((4, len(m)), np.nan)
    hard = fill_easy(m, v, C, np.ones_like(m), out)
    assert 0.4 < np.mean(~hard)
    expected = careful._moments(m, v, C, np.ones_like(m), careful.HINGE_LINK)
    # In their natural units: 1, 1/s, 1/v or the curvature of ln P at most C^2, and 1/C.
    unit = np.stack([np.ones_like(m), np.sqrt(v), np.minimum(v, 1 / C**2), np.full_like(m, C)])
    assert_allclose((out * unit)[:, ~hard], (expected * unit)[:, ~hard], rtol=1e-9, atol=1e-9)


def test_weights_and_hopeless_rows_are_left_to_the_careful_panels():
    m, v, w = np.array([0.5, 0.5, -30.0]), np.ones(3), np.array([1.0, 2.0, 1.0])
    assert fill_easy(m, v, 1.0, w, np.empty((4, 3))).tolist() == [False, True, True]


def test_a_gaussian_narrower_than_the_distance_between_numbers_is_left_to_the_careful_panels():
    m, v = np.array([5e19, 0.5]), np.array([100.0, 1.0])
    assert list(fill_easy(m, v, 1e6, np.ones(2), np.zeros((4, 2)))) == [True, False]
    assert_allclose(careful.sigmoid_moments(m, v, 1e6, np.ones(2), careful.HINGE_LINK)[:, 0], 0.0, atol=0)
