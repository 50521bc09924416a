"""Class probabilities sum to one, kappa is the largest constant that keeps v(f) below one, and its derivatives."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import minimize_scalar
from scipy.special import expit

from softmargin.likelihoods import LIKELIHOODS, Hinge, Link, Logistic, SquaredHinge, SquaredLink

from .cases import CLASSIFIERS, UNNORMALISED, drawn, likelihoods, log_uniform
from .reference import central_difference

F = np.linspace(-6, 6, 97)[1:-1]
PLUS, MINUS = np.ones_like(F), -np.ones_like(F)
AWAY_FROM_KINKS = np.abs(np.abs(F) - 1) > 1e-3


@pytest.mark.parametrize("name", CLASSIFIERS)
@given(data=st.data())
@drawn
def test_normalised_sums_to_one(name, data):
    normalised = data.draw(likelihoods(name)).normalised()
    total = np.exp(normalised.log_prob(PLUS, F)) + np.exp(normalised.log_prob(MINUS, F))
    assert_allclose(total, 1, rtol=1e-13)
    assert_allclose(normalised.prob(PLUS, F), np.exp(normalised.log_prob(PLUS, F)), rtol=1e-12, atol=1e-300)
    assert normalised.normalised() == normalised


@pytest.mark.parametrize("name", UNNORMALISED)
@given(data=st.data())
@drawn
def test_normalised_is_q_over_v(name, data):
    likelihood = data.draw(likelihoods(name))
    v = np.exp(likelihood.log_prob(PLUS, F)) + np.exp(likelihood.log_prob(MINUS, F))
    for y in (PLUS, MINUS):
        # In logs, where a probability of 1e-200 still counts.
        assert_allclose(
            likelihood.normalised().log_prob(y, F),
            likelihood.log_prob(y, F) - likelihood.log_v(F),
            rtol=1e-9,
            atol=1e-12,
        )
    assert_allclose(np.exp(likelihood.log_v(F)), v, rtol=1e-13)


@pytest.mark.parametrize("name", UNNORMALISED)
@given(C=log_uniform(1e-3, 300))
@example(C=1.0)
@example(C=1 + 1e-6)
@example(C=1 - 1e-6)
@drawn
def test_v_reaches_one_and_no_more(name, C):
    likelihood = LIKELIHOODS[name](C=C)
    f = np.linspace(0, 4, 4001)
    log_v = likelihood.log_v(f)
    assert np.all(log_v <= 1e-13)
    best = f[np.argmax(log_v)]
    peak = minimize_scalar(
        lambda x: -likelihood.log_v(np.array([x]))[0], bounds=(best - 1e-3, best + 1e-3), options={"xatol": 1e-12}
    )
    # A kink of v (hinge) is found by the grid, a smooth maximum (squared hinge) between its points.
    assert_allclose(max(-peak.fun, log_v.max()), 0, atol=1e-11)


@given(C=log_uniform(1e-3, 300))
@drawn
def test_kappa_of_the_hinge(C):
    assert_allclose(Hinge(C).log_kappa, -np.log1p(np.exp(-2 * C)), rtol=1e-12)


@pytest.mark.parametrize("name", UNNORMALISED)
def test_kappa_is_a_half_without_noise_information(name):
    # C -> 0: each label has probability 1/2 whatever f; C -> infinity: kappa -> 1.
    assert_allclose(LIKELIHOODS[name](C=1e-12).log_kappa, -np.log(2), rtol=1e-11)
    assert_allclose(LIKELIHOODS[name](C=1e3).log_kappa, 0, atol=1e-12)


@pytest.mark.parametrize("name", UNNORMALISED)
@given(C=log_uniform(1e-2, 100))
@drawn
def test_kappa_slope(name, C):
    step = 1e-6 * C
    expected = central_difference(lambda C: LIKELIHOODS[name](C=C).log_kappa, C, step)
    # Rounding of ln kappa, and the jump of its second derivative at C = 1 (squared hinge).
    assert_allclose(LIKELIHOODS[name](C=C).d_log_kappa, expected, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("name", UNNORMALISED)
@given(data=st.data())
@drawn
def test_slopes_of_log_v(name, data):
    likelihood = data.draw(likelihoods(name))
    f, C = F[AWAY_FROM_KINKS], likelihood.C
    d_f, d_C = likelihood.d_log_v(f)
    scale = 1 + C * np.abs(f)
    assert_allclose(d_f / scale, central_difference(likelihood.log_v, f, 1e-6) / scale, atol=1e-6)
    expected = central_difference(lambda C: type(likelihood)(C).log_v(f), C, 1e-6 * C)
    assert_allclose(d_C / scale, expected / scale, atol=1e-6)


def test_links_as_published():
    # Sollich 2002, eq. 11, and its square: sigmoid of C times the difference of the two losses.
    for C in (0.1, 1.0, 20.0):
        assert_allclose(Link(C).prob(PLUS, F), expit(C * (F + np.clip(F, -1, 1))), rtol=1e-13)
        squared = 0.5 * (np.maximum(1 + F, 0) ** 2 - np.maximum(1 - F, 0) ** 2)
        assert_allclose(SquaredLink(C).prob(PLUS, F), expit(C * squared), rtol=1e-10)
        assert_allclose(Logistic(C).prob(MINUS, F), expit(-C * F), rtol=1e-13)
    assert Hinge(2.0).normalised() == Link(2.0)
    assert SquaredHinge(2.0).normalised() == SquaredLink(2.0)
