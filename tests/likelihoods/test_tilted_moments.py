"""Every tilted_moments against brute-force quadrature, and its conventions."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from softmargin.likelihoods.defaults import LikelihoodDefaults

from . import reference
from .cases import CLASSIFIERS, NAMES, WITH_SLOPES, cases, drawn, sharp

RTOL = 1e-8


@pytest.mark.parametrize("name", NAMES)
@given(data=st.data())
@drawn
def test_against_quadrature(name, data):
    case = data.draw(cases(name))
    y, m, v, w = case.rows()
    log_z, d_mean, d2_mean, d_params = case.likelihood.tilted_moments(y, m, v, w)
    expected = reference.tilted(*case)
    assert_allclose(log_z, expected.log_z, rtol=RTOL, atol=RTOL)
    # Moments in their natural unit: the mean moves by v d_mean, and what counts is that over the cavity's sd.
    assert_allclose(d_mean, expected.d_mean, rtol=RTOL, atol=RTOL / np.sqrt(case.v))
    assert_allclose(d2_mean, expected.d2_mean, rtol=RTOL, atol=RTOL / max(case.v, 1.0))
    assert_allclose(d_params[:, 0], expected.d_params, rtol=RTOL, atol=RTOL)
    # EP divides by 1 + v d2_mean, so the tilted variance must keep digits of its own where it is far below v.
    assert_allclose(v + v * v * d2_mean, expected.variance, rtol=1e-5, atol=1e-14 * case.v)


@pytest.mark.parametrize("name", NAMES)
def test_rows_do_not_mix(name):
    rng = np.random.default_rng(0)
    n = 40
    y, m = rng.choice([-1.0, 1.0], n), rng.normal(scale=10, size=n)
    v, w = 10 ** rng.uniform(-6, 4, n), rng.uniform(0.1, 3, n)
    together = sharp(name, 3.0).tilted_moments(y, m, v, w)
    for i in range(n):
        alone = sharp(name, 3.0).tilted_moments(*(a[i : i + 1] for a in (y, m, v, w)))
        for a, b in zip(together, alone):
            assert_allclose(a[..., i], b[..., 0], rtol=1e-11)


@pytest.mark.parametrize("name", NAMES)
def test_no_weight_means_one(name):
    y, m, v = np.array([1.0, -1.0]), np.array([0.3, 4.0]), np.array([0.5, 2.0])
    likelihood = sharp(name, 2.0)
    for a, b in zip(likelihood.tilted_moments(y, m, v), likelihood.tilted_moments(y, m, v, np.ones(2))):
        assert_array_equal(a, b)


@pytest.mark.parametrize("name", CLASSIFIERS)
@given(data=st.data())
@drawn
def test_labels_are_symmetric(name, data):
    case = data.draw(cases(name))
    y, m, v, w = case.rows()
    log_z, d_mean, d2_mean, d_params = case.likelihood.tilted_moments(y, m, v, w)
    mirrored = case.likelihood.tilted_moments(-y, -m, v, w)
    assert_array_equal(mirrored.log_z, log_z)
    assert_array_equal(mirrored.d_mean, -d_mean)
    assert_array_equal(mirrored.d2_mean, d2_mean)
    assert_array_equal(mirrored.d_params, d_params)


@pytest.mark.parametrize("name", WITH_SLOPES)
@given(data=st.data())
@drawn
def test_slopes_against_differences(name, data):
    case = data.draw(cases(name))
    y, m, v, w = case.rows()
    d3, d4, g_C, h_C = (np.ravel(a)[0] for a in case.likelihood.tilted_slopes(y, m, v, w))
    s, C = np.sqrt(case.v), case.likelihood.C

    def moments(shift=0.0, factor=1.0):
        z = sharp(name, C * factor).tilted_moments(y, m + shift, v, w)
        return np.array([z.d_mean[0], z.d2_mean[0]])

    # ln Z is smooth on the scale of s, and of the width 1/(w C) of the slope's exponential where that is smaller.
    step, part = 1e-2 * min(s, 1 / (case.w * C)), 1e-3
    by_m = (8 * (moments(step) - moments(-step)) - moments(2 * step) + moments(-2 * step)) / (12 * step)
    by_C = 8 * (moments(0, 1 + part) - moments(0, 1 - part)) - moments(0, 1 + 2 * part) + moments(0, 1 - 2 * part)
    # Differences lose digits; what is lost is relative to the moments in units of s.
    size = np.array([1 / s, 1 / case.v]) * 1e-5
    assert_allclose([d3, d4], [by_m[1], _second(moments, step)], rtol=1e-4, atol=max(size[1] / step * 1e-2, 1e-12))
    assert_allclose([g_C, h_C], by_C / (12 * part * C), rtol=1e-4, atol=size.max() / C)


@dataclass(frozen=True)
class Sharpened(LikelihoodDefaults):
    """ln p = -(1 + a)(y - f)^2/2 for a >= 0, and a warning below."""

    a: float = 0.0

    name = "sharpened"
    param_names = ("a",)
    is_classifier = False

    def log_prob(self, y, f, weight=None):
        return -0.5 * (1 + np.sqrt(self.a) ** 2) * (y - f) ** 2

    def d_log_prob_d_params(self, y, f, weight=None):
        return -0.5 * ((y - f) ** 2)[None]


def test_slopes_at_the_end_of_a_parameters_range():
    """A parameter of zero has no neighbours below: d ln Z/dm = (1 + a)(y - m)/(1 + (1 + a) v), differentiated in a."""
    y, m, v = np.array([0.3, -1.0]), np.array([0.1, 0.4]), np.array([0.5, 2.0])
    found = Sharpened().tilted_slopes(y, m, v)
    assert_allclose(found.d_mean_d_params[0], (y - m) / (1 + v) ** 2, rtol=1e-6)


def _second(moments, step):
    """Fourth-order second difference of d2_mean."""
    near, far = moments(step) + moments(-step), moments(2 * step) + moments(-2 * step)
    return ((16 * near - far - 30 * moments()) / (12 * step**2))[1]
