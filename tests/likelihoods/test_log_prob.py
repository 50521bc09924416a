"""Slope, curvature and parameter derivatives of every log_prob, against finite differences away from kinks."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from .cases import CLASSIFIERS, NAMES, drawn, likelihoods, targets, with_parameter
from .reference import central_difference, find_kinks

STEP = 1e-6
# Of central differences: rounding 2e-16 |log_prob| / STEP, with |log_prob| up to 2,000, and curvature STEP^2 C^3 / 6.
TOLERANCE = 2e-6


@st.composite
def points(draw, name):
    """A likelihood, targets and latent values that are not at a kink, both of shape (n,)."""
    likelihood, y = draw(likelihoods(name)), draw(targets(name))
    f = np.linspace(-5, 5, 60) + draw(st.floats(-0.1, 0.1))
    kinks = find_kinks(likelihood, y)
    f = f[np.all(np.abs(f[:, None] - kinks) > 1e-3, axis=1)]
    return likelihood, np.full_like(f, y), f


@pytest.mark.parametrize("name", NAMES)
@given(data=st.data())
@settings(drawn, max_examples=15)
def test_slope(name, data):
    likelihood, y, f = data.draw(points(name))
    slope = likelihood.derivatives(y, f).slope
    expected = central_difference(partial(likelihood.log_prob, y), f, STEP)
    assert_allclose(slope, expected, rtol=TOLERANCE, atol=TOLERANCE)


@pytest.mark.parametrize("name", NAMES)
@given(data=st.data())
@settings(drawn, max_examples=15)
def test_curvature(name, data):
    likelihood, y, f = data.draw(points(name))
    curvature = likelihood.derivatives(y, f).curvature
    expected = central_difference(lambda f: likelihood.derivatives(y, f).slope, f, STEP)
    assert_allclose(curvature, expected, rtol=TOLERANCE, atol=TOLERANCE)


@pytest.mark.parametrize("name", NAMES)
@given(data=st.data())
@settings(drawn, max_examples=15)
def test_derivatives_with_respect_to_parameters(name, data):
    likelihood, y, f = data.draw(points(name))
    gradient = likelihood.d_log_prob_d_params(y, f)
    assert gradient.shape == (len(likelihood.param_names), len(f))
    for parameter, slope in zip(likelihood.param_names, gradient):
        value = getattr(likelihood, parameter)
        changed = central_difference(
            lambda x, p=parameter: with_parameter(likelihood, p, x).log_prob(y, f), value, 1e-5 * value
        )
        # The squared hinge sets the tolerance: d2 ln kappa/dC2 jumps at C = 1, which costs a step's width.
        assert_allclose(value * slope, value * changed, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", NAMES)
@given(data=st.data(), w=st.sampled_from([0.0, 0.3, 1.0, 7.0]))
@settings(drawn, max_examples=15)
def test_weight_is_a_power(name, data, w):
    likelihood, y, f = data.draw(points(name))
    weight = np.full_like(f, w)
    assert_allclose(likelihood.log_prob(y, f, weight), w * likelihood.log_prob(y, f), rtol=1e-13)
    for weighted, plain in zip(likelihood.derivatives(y, f, weight), likelihood.derivatives(y, f)):
        # Subnormal numbers have fewer digits.
        assert_allclose(weighted, w * plain, rtol=1e-13, atol=np.finfo(float).tiny)
    assert_allclose(likelihood.d_log_prob_d_params(y, f, weight), w * likelihood.d_log_prob_d_params(y, f), rtol=1e-14)


@pytest.mark.parametrize("name", CLASSIFIERS)
@given(data=st.data())
@settings(drawn, max_examples=15)
def test_labels_are_symmetric(name, data):
    likelihood, y, f = data.draw(points(name))
    assert_array_equal(likelihood.log_prob(y, f), likelihood.log_prob(-y, -f))
    slope, curvature = likelihood.derivatives(y, f)
    mirrored = likelihood.derivatives(-y, -f)
    assert_array_equal(mirrored.slope, -slope)
    assert_array_equal(mirrored.curvature, curvature)
