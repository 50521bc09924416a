"""Ratios of the normal cdf and density against quadrature and identities."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import log_ndtr
from scipy.stats import norm

from softmargin.likelihoods.integrals.gauss import log_phi, log_R, one_plus_x_rho, rho

# Around zero, around the change of method at -8, and far out.
X = np.concatenate([np.linspace(-40, 40, 81), [-8.001, -8.0, -7.999, -1e3, -1e6, -1e9, 1e3]])


def ratios(x):
    """ln R, R'/R and R''/R from R(x) = integral over u > 0 of exp(x u - u^2/2): a mass and two moments of u."""
    mode = max(x, 0.0)
    width = 1 / np.sqrt(1 + x * x) if x < 0 else 1.0
    nodes, weights = np.polynomial.legendre.leggauss(200)
    low, high = max(mode - 12 * width, 0), mode + 40 * width if x < 0 else mode + 12
    u = 0.5 * (low + high) + 0.5 * (high - low) * nodes
    log_density = x * u - 0.5 * u * u
    top = log_density.max()
    p = 0.5 * (high - low) * weights * np.exp(log_density - top)
    return top + np.log(p.sum()), p @ u / p.sum(), p @ u**2 / p.sum()


@pytest.mark.parametrize("x", X)
def test_against_quadrature(x):
    at = np.array([x])
    log_ratio, first, second = ratios(x)
    assert_allclose(log_R(at), log_ratio, rtol=1e-12, atol=1e-12)
    assert_allclose(rho(at), first, rtol=1e-12)
    assert_allclose(one_plus_x_rho(at), second, rtol=1e-11)


def test_against_scipy():
    x = np.linspace(-30, 30, 121)
    assert_allclose(log_phi(x), norm.logpdf(x), rtol=1e-14)
    assert_allclose(log_R(x), log_ndtr(x) - norm.logpdf(x), rtol=1e-12, atol=1e-12)


def test_input_is_left_alone():
    x = X.copy()
    rho(x), one_plus_x_rho(x), log_R(x)
    assert np.array_equal(x, X)
