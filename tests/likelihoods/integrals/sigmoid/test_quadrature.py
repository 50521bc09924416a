"""Panels along rows whose Gaussian is as wide as numbers can be, or whose weight outweighs it."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from softmargin.likelihoods import LIKELIHOODS


@pytest.mark.parametrize("name", ["logistic", "link"])
@pytest.mark.parametrize("m", [-6.5e19, 0.0, 6.5e19])
def test_tiny_weight_and_huge_variance(name, m):
    # The mode was sought up to v w C |m| = 1e61, not reached, and the panels walked there for seconds.
    v, w, C = 1.3e40, 1e-12, 1e-6
    found = LIKELIHOODS[name](C=C).tilted_moments(np.ones(1), np.array([m]), np.array([v]), np.array([w]))
    # P^w is exp(w C z) for z < 0 on this scale, where the kinks and the bend are a point: E[exp(a min(z, 0))].
    s, a = np.sqrt(v), w * C
    z = np.linspace(-12, 12, 400_001) * s + m
    density = np.exp(-0.5 * ((z - m) / s) ** 2 + a * np.minimum(z, 0))
    wanted = np.log(np.sum(density) * (z[1] - z[0]) / np.sqrt(2 * np.pi * v))
    assert_allclose(found.log_z, wanted, rtol=1e-6)


@pytest.mark.parametrize(
    ("name", "m", "v", "w", "C"),
    [
        # Powers of P underflow where e^-top overflows: nan for every link at even odds.
        ("logistic", 0.0, 0.5, 1e6, 1e-3),
        ("link", 0.0, 0.5, 1e6, 1e-3),
        ("squared_hinge", 0.0, 0.5, 1e6, 5e-7),
        # Beyond 1 w ln P bends upwards. The mode was sought too near to zero, and the panels climbed 10^5 nats to it.
        ("squared_hinge", 0.0, 30.0, 1e6, 5e-7),
        ("squared_hinge", -30.0, 100.0, 1e6, 5e-7),
        # Two modes beyond 1, of which the far one was not seen.
        ("squared_hinge", -200.0, 30.0, 1e3, 1e-3),
        ("squared_hinge", -200.0, 30.0, 1e6, 5e-7),
        # A start .05/C or .05 sd away from the mode is hundreds of nats lower.
        ("squared_hinge", -1e8, 1e4, 1e6, 1e-2),
        # Where all was well.
        ("squared_hinge", -3.0, 1e3, 1.0, 1.0),
        ("squared_hinge", 40.0, 1e3, 1e3, 1e-3),
    ],
)
def test_weights_that_outweigh_the_gaussian(name, m, v, w, C):
    likelihood = LIKELIHOODS[name](C=C).normalised()
    found = likelihood.tilted_moments(np.ones(1), np.array([m]), np.array([v]), np.array([w]))

    def log_density(z):
        return -0.5 * (z - m) ** 2 / v + likelihood.log_prob(np.ones_like(z), z, np.full_like(z, w))

    # u (1 - P) < 0.28, u the log-odds, bounds the slope of ln P and with it the mode.
    low, high = m - 12 * np.sqrt(v), max(m, 1) + 2 * np.sqrt(v * w) + 12 * np.sqrt(v)
    for _ in range(4):
        z, step = np.linspace(low, high, 400_001, retstep=True)
        log = log_density(z)
        mass = z[log > log.max() - 80]
        low, high = mass[0] - step, mass[-1] + step
    density = np.exp(log - log.max())
    wanted = log.max() + np.log(density.sum() * step) - 0.5 * np.log(2 * np.pi * v)
    assert_allclose(found.log_z, wanted, rtol=1e-7)
    assert_allclose(found.d_mean, np.average(z - m, weights=density) / v, rtol=1e-5)
