"""The noise density of support vector regression: normalised over the target, with the stated variance."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from softmargin.likelihoods import EpsilonInsensitive

from .cases import drawn, likelihoods
from .reference import rule


def density_moments(likelihood, f):
    """Mass, mean and variance of y given f, by quadrature over y."""

    def log_density(y):
        return likelihood.log_prob(y, np.full_like(y, f))

    y, log_weight = rule(log_density, [f - likelihood.epsilon, f, f + likelihood.epsilon])
    p = np.exp(log_weight + log_density(y))
    return p.sum(), p @ y, p @ (y - f) ** 2


@given(likelihood=likelihoods("epsilon_insensitive"), f=st.floats(-10, 10))
@drawn
def test_density_over_the_target(likelihood, f):
    mass, mean, variance = density_moments(likelihood, f)
    assert_allclose(mass, 1, rtol=1e-10)
    assert_allclose(mean, f, rtol=1e-9, atol=1e-9 * np.sqrt(variance))
    assert_allclose(likelihood.noise_variance, variance, rtol=1e-9)


def test_normalised_is_itself():
    likelihood = EpsilonInsensitive(C=3.0, epsilon=0.2)
    assert likelihood.normalised() is likelihood


@given(likelihood=likelihoods("epsilon_insensitive"))
@drawn
def test_depends_on_the_residual_only(likelihood):
    y, m, v = np.array([-0.5, 0.25, 2.0]), np.array([0.5, 1.0, -4.0]), np.array([1e-4, 0.5, 30.0])
    here = likelihood.tilted_moments(y, m, v)
    moved = likelihood.tilted_moments(y + 8, m + 8, v)
    mirrored = likelihood.tilted_moments(-y, -m, v)
    for a, b in zip(here, moved):
        assert_allclose(a, b, rtol=1e-9, atol=1e-300)
    for a, b, sign in zip(here, mirrored, (1, -1, 1, 1)):
        assert_array_equal(a, sign * b)


@pytest.mark.parametrize("C", [0.1, 1.0, 100.0])
def test_without_a_flat_top_it_is_laplace_noise(C):
    laplace, narrow = EpsilonInsensitive(C=C, epsilon=0.0), EpsilonInsensitive(C=C, epsilon=1e-9)
    y, f = np.array([0.3]), np.array([-1.0])
    assert_allclose(laplace.log_prob(y, f), np.log(C / 2) - C * 1.3, rtol=1e-14)
    m, v = np.linspace(-3, 3, 13), np.full(13, 0.7)
    for a, b in zip(laplace.tilted_moments(y, m, v), narrow.tilted_moments(y, m, v)):
        assert_allclose(a, b, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(("C", "epsilon"), [(5.0, 0.2), (0.7, 2.0), (3.0, 0.0)])
def test_the_density_is_a_superposition_of_gaussians(C, epsilon):
    """Pontil, Mukherjee & Girosi 1998: the identity by quadrature over the means and the variances."""
    likelihood = EpsilonInsensitive(C, epsilon)
    parts = likelihood.superposition()

    def over_variances(d):
        """Of N(d; 0, s), with s = exp(2 x); the trapezoid rule is exact to rounding here."""
        s = np.exp(np.linspace(-40, 6, 2000))
        values = np.exp(-0.5 * d[:, None] ** 2 / s) / np.sqrt(2 * np.pi * s) * parts.variance_density(s) * s
        return values.sum(axis=1) * (46 / 1999)

    def density(d):
        edges = parts.edge * over_variances(np.array([d - epsilon, d + epsilon])).sum()
        # The means between the edges, in two pieces: the Laplace density has its kink at d.
        cut = float(np.clip(d, -epsilon, epsilon))
        flat = 0.0
        for low, high in ((-epsilon, cut), (cut, epsilon)):
            x, w = np.polynomial.legendre.leggauss(40)
            means = low + 0.5 * (high - low) * (1 + x)
            flat += 0.5 * (high - low) * (w @ over_variances(d - means))
        share = (1 - 2 * parts.edge) / (2 * epsilon) if epsilon > 0 else 0.0
        return edges + share * flat

    for d in (0.03, 0.5 * epsilon + 0.01, epsilon + 0.3, epsilon + 2.0):
        expected = np.exp(likelihood.log_prob(np.array([d]), np.zeros(1)))[0]
        assert density(d) == pytest.approx(expected, rel=1e-6)
    mean, variance = parts.sample((200_000,), np.random.RandomState(0))
    assert np.mean(variance) + np.var(mean) == pytest.approx(likelihood.noise_variance, rel=0.02)
    assert np.mean(np.abs(mean) == epsilon) == pytest.approx(1.0 if epsilon == 0 else 2 * parts.edge, abs=0.005)
