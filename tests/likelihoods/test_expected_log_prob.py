"""Every expected_log_prob against brute-force quadrature, and its conventions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from . import reference
from .cases import CLASSIFIERS, NAMES, cases, drawn, sharp

RTOL = 1e-8


@pytest.mark.parametrize("name", NAMES)
@given(data=st.data())
@drawn
def test_against_quadrature(name, data):
    case = data.draw(cases(name))
    y, m, v, w = case.rows()
    value, d_mean, d_var, d_params = case.likelihood.expected_log_prob(y, m, v, w)
    expected = reference.expected(*case)
    assert_allclose(value, expected.value, rtol=RTOL, atol=RTOL)
    assert_allclose(d_mean, expected.d_mean, rtol=RTOL, atol=RTOL)
    assert_allclose(d_var, expected.d_var, rtol=RTOL, atol=RTOL)
    assert_allclose(d_params[:, 0], expected.d_params, rtol=RTOL, atol=RTOL)


@pytest.mark.parametrize("name", NAMES)
def test_is_a_lower_bound_of_the_tilted_integral(name):
    # Jensen: E[ln p] <= ln E[p].
    rng = np.random.default_rng(1)
    y, m, v = rng.choice([-1.0, 1.0], 200), rng.normal(scale=3, size=200), 10 ** rng.uniform(-3, 2, 200)
    likelihood = sharp(name, 2.0)
    assert np.all(likelihood.expected_log_prob(y, m, v).value <= likelihood.tilted_moments(y, m, v).log_z + 1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_no_weight_means_one(name):
    y, m, v = np.array([1.0, -1.0]), np.array([0.3, 4.0]), np.array([0.5, 2.0])
    likelihood = sharp(name, 2.0)
    for a, b in zip(likelihood.expected_log_prob(y, m, v), likelihood.expected_log_prob(y, m, v, np.ones(2))):
        assert_array_equal(a, b)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_labels_are_symmetric(name):
    y, m, v = np.array([1.0, -1.0]), np.array([0.3, 4.0]), np.array([0.5, 2.0])
    likelihood = sharp(name, 2.0)
    here, mirrored = likelihood.expected_log_prob(y, m, v), likelihood.expected_log_prob(-y, -m, v)
    # Quadrature on a mirrored grid rounds differently.
    assert_allclose(mirrored.d_mean, -here.d_mean, rtol=1e-14)
    assert_allclose(mirrored.value, here.value, rtol=1e-14)
    assert_allclose(mirrored.d_var, here.d_var, rtol=1e-14)
