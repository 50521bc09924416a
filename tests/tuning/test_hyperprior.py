"""The hyperprior: exact gradients, and the same in every unit."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from softmargin.kernels import make_kernel
from softmargin.likelihoods import Hinge
from softmargin.policy import POLICY
from softmargin.tuning import Coordinates, HyperPrior, LogParameters, NoiseShape

SPREAD = np.array([1.0, 20.0, 0.3])
LEARNT_C = LogParameters(Hinge(1.0), ("C",), (POLICY.likelihood.C,))


def coordinates(spread=SPREAD, likelihood=LEARNT_C, kernel=None):
    chosen = make_kernel(kernel, len(spread), spread) if kernel is None else kernel
    return Coordinates(chosen, likelihood, len(spread))


@pytest.mark.parametrize("likelihood", [LEARNT_C, NoiseShape()], ids=["classifier", "regressor"])
@pytest.mark.parametrize("prior", [HyperPrior(), HyperPrior.for_regression(), HyperPrior(shrinkage=None)], ids=str)
@pytest.mark.parametrize("kernel", [None, ConstantKernel() * RBF(1.0)], ids=["ard", "isotropic"])
def test_gradient(prior, likelihood, kernel):
    c = coordinates(likelihood=likelihood, kernel=kernel)
    log_density = prior.bind(c, SPREAD)
    z = c.start + np.random.default_rng(0).standard_normal(len(c.start))
    numeric = [(log_density(z + 1e-5 * e)[0] - log_density(z - 1e-5 * e)[0]) / 2e-5 for e in np.eye(len(z))]
    assert_allclose(log_density(z)[1], numeric, rtol=1e-6, atol=1e-8)


def test_maximum_is_at_the_means():
    c = coordinates()
    z = np.concatenate([[0.0], 0.5 + np.log(SPREAD) + 0.5 * np.log(3), [-1.5], [0.0]])
    value, gradient = HyperPrior().bind(c, SPREAD)(z)
    assert value == pytest.approx(0, abs=1e-12)
    assert_allclose(gradient, 0, atol=1e-12)


def test_the_unit_of_an_input_does_not_matter():
    unit = np.array([1e6, 1.0, 1e-6])
    z = coordinates().start + np.random.default_rng(0).standard_normal(6)
    moved = z.copy()
    moved[1:4] += np.log(unit)
    here = HyperPrior().bind(coordinates(), SPREAD)(z)
    there = HyperPrior().bind(coordinates(SPREAD * unit), SPREAD * unit)(moved)
    assert here[0] == pytest.approx(there[0], rel=1e-12)
    assert_allclose(here[1], there[1], rtol=1e-10)


def test_the_order_of_the_inputs_does_not_matter():
    z = coordinates().start + np.random.default_rng(0).standard_normal(6)
    order = np.array([0, 3, 1, 2, 4, 5])
    here = HyperPrior().bind(coordinates(), SPREAD)(z)
    there = HyperPrior().bind(coordinates(SPREAD[[2, 0, 1]]), SPREAD[[2, 0, 1]])(z[order])
    assert here[0] == pytest.approx(there[0])
    assert_allclose(here[1][order], there[1])


def test_constant_inputs_get_no_prior_and_change_nothing():
    z = coordinates().start + np.random.default_rng(0).standard_normal(6)
    spread = np.array([1.0, 20.0, 0.0, 0.3])
    longer = np.insert(z, 3, 123.0)
    here = HyperPrior().bind(coordinates(), SPREAD)(z)
    there = HyperPrior().bind(coordinates(spread), spread)(longer)
    assert here[0] == pytest.approx(there[0])
    assert_allclose(np.insert(here[1], 3, 0.0), there[1])


def test_nothing_varies():
    spread = np.zeros(2)
    c = coordinates(spread)
    value, gradient = HyperPrior().bind(c, spread)(c.start)
    assert np.isfinite(value)
    assert_allclose(gradient[1:3], 0)


def test_none_is_flat():
    flat = HyperPrior(C=None, amplitude=None, offset=None, length_scale=None, shrinkage=None)
    c = coordinates()
    value, gradient = flat.bind(c, SPREAD)(c.start + 3)
    assert value == 0
    assert_allclose(gradient, 0)


def test_the_strength_of_the_shrinkage_is_learnt():
    # Heavy tails: the pull towards the common scale is weaker, not stronger, once one input differs a lot.
    log_density = HyperPrior(length_scale=None, amplitude=None).bind(coordinates(), SPREAD)
    z = coordinates().start

    def pull(delta):
        return -log_density(z + delta * np.array([0, 1, 0, 0, 0, 0]))[1][1]

    assert 0 < pull(0.05) < pull(0.5)
    assert pull(5.0) < pull(1.0)


def test_is_its_multivariate_t():
    # -(d - 1 + nu)/2 ln(1 + |delta|^2/(nu s^2))
    log_density = HyperPrior(length_scale=None, amplitude=None).bind(coordinates(), SPREAD)
    z = coordinates().start
    z[1:4] += [0.4, -0.1, 0.0]
    delta = np.array([0.4, -0.1, 0.0]) - 0.1
    expected = -(3 - 1 + 4) / 2 * np.log(1 + delta @ delta / (4 * 0.3**2))
    assert log_density(z)[0] == pytest.approx(expected)
