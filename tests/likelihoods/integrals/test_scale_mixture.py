"""Student's t as a mixture over the scale, against adaptive quadrature that knows nothing of it."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from softmargin.likelihoods import LikelihoodDefaults, StudentT
from softmargin.likelihoods.defaults import NoiseDefaults

N = 24


def rows(seed):
    rng = np.random.default_rng(seed)
    y, m = rng.normal(size=(2, N)) * 10 ** rng.uniform(-2, 2, (2, 1))
    return y, m, 10 ** rng.uniform(-4, 4, N), 10 ** rng.uniform(-0.2, 1.2, N)


@pytest.mark.parametrize(("scale", "df"), [(0.4, 4.0), (1e-3, 2.1), (20.0, 95.0)])
@pytest.mark.parametrize("seed", range(3))
def test_moments(scale, df, seed):
    noise, (y, m, v, w) = StudentT(scale, df), rows(seed)
    w[:2] = 1e-9, 1e6  # not by the mixture
    units = (1.0, np.sqrt(v), v, 1.0)
    for found, wanted in (
        (noise.tilted_moments(y, m, v, w), LikelihoodDefaults.tilted_moments(noise, y, m, v, w)),
        (noise.expected_log_prob(y, m, v, w), LikelihoodDefaults.expected_log_prob(noise, y, m, v, w)),
    ):
        for one, other, unit in zip(found, wanted, units):
            assert_allclose(one * unit, other * unit, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("scale", "df"), [(0.4, 4.0), (1e-3, 1.0), (20.0, 95.0)])
def test_cdf_in_both_tails(scale, df):
    noise = StudentT(scale, df)
    d, s = scale * np.array([-1e5, -300.0, -3.0, 0.0, 0.5, 40.0]), scale * np.array([1e-8, 1.0, 1e3, 2.0, 0.1, 5.0])
    assert_allclose(noise.noise_cdf(d, s), NoiseDefaults.noise_cdf(noise, d, s), rtol=1e-8, atol=1e-30)
