"""Coordinates: round trips, and gradients in z against finite differences."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from softmargin.likelihoods import EpsilonInsensitive, Hinge, SquaredHinge
from softmargin.policy import POLICY
from softmargin.tuning import Coordinates, FixedLikelihood, LogParameters, NoiseShape

LIMITS = (POLICY.likelihood.C,)


def slopes(function, u, step=1e-5):
    return np.array([(function(u + step * e) - function(u - step * e)) / (2 * step) for e in np.eye(len(u))])


def some_function(likelihood):
    """Anything smooth in the parameters, with its gradient."""
    C, epsilon = likelihood.C, getattr(likelihood, "epsilon", 0.5)
    return np.sin(C) + C * epsilon**2, np.array([np.cos(C) + epsilon**2, 2 * C * epsilon])


@pytest.mark.parametrize("sigma", [1e-3, 0.4, 50.0])
@pytest.mark.parametrize("q", [0.02, 2.2, 25.0])
def test_noise_shape_round_trip(sigma, q):
    likelihood = NoiseShape().at(np.log([sigma, q]))
    assert_allclose(np.sqrt(likelihood.noise_variance), sigma, rtol=1e-12)
    assert_allclose(likelihood.epsilon * likelihood.C, q, rtol=1e-12)


@pytest.mark.parametrize("q", [0.02, 0.7, 2.2, 25.0])
def test_noise_shape_gradient(q):
    noise, u = NoiseShape(), np.log([0.4, q])
    chained = noise.chain(u, some_function(noise.at(u))[1])
    assert_allclose(chained, slopes(lambda u: some_function(noise.at(u))[0], u), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("loss", [Hinge, SquaredHinge])
def test_log_parameter(loss):
    noise, u = LogParameters(loss(1.0), ("C",), LIMITS), np.log([2.5])
    assert noise.at(u) == loss(pytest.approx(2.5))
    assert noise.names == ("C",) and noise.start == [0.0]
    chained = noise.chain(u, some_function(noise.at(u))[1][:1])
    assert_allclose(chained, slopes(lambda u: some_function(noise.at(u))[0], u), rtol=1e-6)


@pytest.mark.parametrize(("learnt", "other"), [("C", "epsilon"), ("epsilon", "C")])
def test_log_parameter_of_two(learnt, other):
    noise, u = LogParameters(EpsilonInsensitive(**{learnt: 1.0, other: 0.3}), (learnt,), LIMITS), np.log([0.8])
    likelihood = noise.at(u)
    assert_allclose([getattr(likelihood, learnt), getattr(likelihood, other)], [0.8, 0.3])
    chained = noise.chain(u, some_function(likelihood)[1])
    assert_allclose(chained, slopes(lambda u: some_function(noise.at(u))[0], u), rtol=1e-6)


def test_a_fixed_likelihood_has_no_coordinates():
    noise = FixedLikelihood(Hinge(3.0))
    assert noise.at(noise.start) == Hinge(3.0)
    assert noise.chain(noise.start, np.ones(1)).shape == (0,) and noise.bounds.shape == (0, 2)


def test_coordinates_join_kernel_and_likelihood():
    kernel = ConstantKernel(2.0, (1e-2, 1e2)) * RBF([1.0, 3.0], (1e-1, 1e3)) + ConstantKernel(0.5, "fixed")
    c = Coordinates(kernel, LogParameters(Hinge(4.0), ("C",), LIMITS), 2)
    assert c.names == ["amplitude", "length_scale_0", "length_scale_1", "C"]
    assert_allclose(np.exp(c.start), [2, 1, 3, 4])
    assert_allclose(np.exp(c.bounds), [[1e-2, 1e2], [1e-1, 1e3], [1e-1, 1e3], [1e-2, 1e3]])
    model = c.model(np.log([5.0, 6.0, 7.0, 8.0]))
    assert_allclose(np.exp(model.kernel.theta), [5, 6, 7])
    assert pytest.approx(8) == model.likelihood.C
    assert_allclose(c.chain(c.start, np.array([1.0, 2.0, 3.0]), np.array([10.0])), [1, 2, 3, 40])


def test_a_kernel_without_free_parameters_leaves_the_likelihood():
    c = Coordinates(RBF(1.0, "fixed"), LogParameters(Hinge(4.0), ("C",), LIMITS), 2)
    assert c.names == ["C"] and c.bounds.shape == (1, 2)
    assert c.model(np.log([3.0])).kernel == RBF(1.0, "fixed")
