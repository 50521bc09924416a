"""What every registered likelihood promises: the protocol, exact zeros for zero weights, finite extremes."""

import inspect
from dataclasses import FrozenInstanceError, fields

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from softmargin.likelihoods import Likelihood, get_likelihood

from .cases import NAMES, sharp

INTEGRALS = ("tilted_moments", "expected_log_prob")


@pytest.mark.parametrize("name", NAMES)
def test_satisfies_the_protocol(name):
    likelihood = get_likelihood(name)()
    assert isinstance(likelihood, Likelihood)
    assert isinstance(likelihood.normalised(), Likelihood)
    assert likelihood.name == name
    assert set(likelihood.param_names) <= {field.name for field in fields(likelihood)}
    with pytest.raises(FrozenInstanceError):
        setattr(likelihood, likelihood.param_names[0], 2.0)
    assert set(likelihood.param_bounds) >= set(likelihood.param_names) >= set(likelihood.param_start)


@pytest.mark.parametrize("name", ["probit", "student_t"])
def test_a_likelihood_is_one_short_file(name):
    assert len(inspect.getsource(inspect.getmodule(get_likelihood(name))).splitlines()) < 60


def test_unknown_name_lists_the_choices():
    with pytest.raises(ValueError, match=r"unknown loss 'hing'; choose one of .*'hinge'"):
        get_likelihood("hing")


def grid(*axes):
    """All combinations, flattened, as float arrays."""
    return [a.ravel() for a in np.meshgrid(*(np.array(axis, float) for axis in axes))]


@pytest.mark.parametrize("integral", INTEGRALS)
@pytest.mark.parametrize("name", NAMES)
def test_weight_zero_is_a_removed_row(name, integral):
    y, m, v = grid([-1, 1], [-1e6, -50, -1, 0, 0.5, 1, 1e6], [1e-12, 1e-6, 1, 1e10])
    for C in (1e-8, 1.0, 1e4):
        for values in getattr(sharp(name, C), integral)(y, m, v, np.zeros_like(m)):
            assert_array_equal(values, np.zeros_like(values))


@pytest.mark.parametrize("integral", INTEGRALS)
@pytest.mark.parametrize("name", NAMES)
def test_weight_zero_leaves_other_rows_alone(name, integral):
    y, m, v = grid([-1, 1], [-3, -1, 0.5], [1e-3, 1, 100])
    w = np.where(np.arange(len(m)) % 3 == 0, 0.0, 1.5)
    method = getattr(sharp(name, 2.0), integral)
    for mixed, plain in zip(method(y, m, v, w), method(y[w > 0], m[w > 0], v[w > 0], w[w > 0])):
        np.testing.assert_allclose(mixed[..., w > 0], plain, rtol=1e-11)
        assert_array_equal(mixed[..., w == 0], 0.0)


@pytest.mark.parametrize("C", [1e-8, 1e-3, 1.0, 100.0, 1e4])
@pytest.mark.parametrize("name", NAMES)
def test_extremes_stay_finite(name, C):
    # Warnings are errors here, so overflow inside is caught too.
    y, m, v, w = grid(
        [-1, 1], [-1e6, -1e3, -50, -1, 0, 0.5, 1, 1e3, 1e6], [1e-12, 1e-6, 1e-3, 1, 1e4, 1e10], [1e-3, 1, 7]
    )
    keep = C * np.sqrt(v) <= 1e5
    y, m, v, w = (a[keep] for a in (y, m, v, w))
    likelihood = sharp(name, C)
    tilted = likelihood.tilted_moments(y, m, v, w)
    outputs = [
        likelihood.log_prob(y, m, w),
        *likelihood.derivatives(y, m, w),
        likelihood.d_log_prob_d_params(y, m, w),
        *tilted,
        *likelihood.expected_log_prob(y, m, v, w),
    ]
    assert all(np.all(np.isfinite(values)) for values in outputs)
    # The tilted variance is v (1 + v d2_mean).
    assert np.all(1 + v * tilted.d2_mean >= 0)


@pytest.mark.parametrize("name", ["hinge", "squared_hinge", "epsilon_insensitive"])
def test_log_concave_in_closed_form_never_gains_variance(name):
    # EP's site precision -d2_mean / (1 + v d2_mean) must not turn negative by rounding.
    y, m, v = grid([-1, 1], [-1e6, -50, -1, 0, 0.9, 1, 1.1, 1e6], [1e-12, 1e-6, 1, 1e4, 1e10])
    for C in (1e-8, 1.0, 100.0):
        assert np.all(sharp(name, C).tilted_moments(y, m, v).d2_mean <= 0)
