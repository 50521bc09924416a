"""Panels along rows whose Gaussian is as wide as numbers can be."""

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
