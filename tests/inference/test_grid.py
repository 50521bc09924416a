"""Every likelihood with every inference, from the registries: exact gradients."""

from dataclasses import fields, replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from softmargin.inference import EP, INFERENCES, Sparse, Variational, check_likelihood
from softmargin.kernels import evaluate
from softmargin.likelihoods import LIKELIHOODS

N = 14
KERNEL = ConstantKernel(3.0) * RBF([1.2, 2.5]) + ConstantKernel(0.3)
TIGHT = {"tol": 1e-9, "n_draws": 800}
"""Differences need the fixed point to more digits than a value does; heavy tails need long chains."""


def data(likelihood, weighted):
    rng = np.random.default_rng(4)
    X = rng.standard_normal((N, 2))
    f = 1.5 * X[:, 0] + 0.5 * rng.standard_normal(N)
    y = np.where(f > 0, 1.0, -1.0) if likelihood.is_classifier else f
    return X, y, rng.uniform(0.5, 2.5, N) if weighted else None


def is_sampler(cls):
    return any(f.name == "random_state" for f in fields(cls))


def make(cls):
    names = {f.name for f in fields(cls)}
    return cls(**{k: v for k, v in TIGHT.items() if k in names})


PAIRS = [(loss, method) for loss in LIKELIHOODS for method in INFERENCES]


def likelihood_of(loss):
    """An instance of moderate noise. Not at C = 1, where the squared hinge's kappa has a kink in its slope."""
    return LIKELIHOODS[loss](C=1.3) if "C" in LIKELIHOODS[loss].param_names else LIKELIHOODS[loss]()


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize(("loss", "method"), PAIRS)
def test_posterior_is_finite_and_gradients_are_exact(loss, method, weighted):
    inference, likelihood = make(INFERENCES[method]), likelihood_of(loss)
    X, y, weight = data(likelihood, weighted)
    posterior = inference.infer(evaluate(KERNEL, X).K, y, likelihood, weight)
    assert posterior.converged
    assert np.all(np.isfinite(posterior.mean)) and np.all(np.isfinite(posterior.beta))
    assert posterior.d_gram is not None and posterior.d_params is not None
    d_theta = evaluate(KERNEL, X).contract(posterior.d_gram)
    if is_sampler(type(inference)):
        # Monte Carlo: against EP's gradient, good to a per cent or two, with the sampling error on top.
        other = EP().infer(evaluate(KERNEL, X).K, y, likelihood, weight)
        assert_allclose(d_theta, evaluate(KERNEL, X).contract(other.d_gram), rtol=0.1, atol=0.1)
        assert_allclose(posterior.d_params, other.d_params, rtol=0.1, atol=0.1)
        return

    def value(theta, likelihood):
        K = evaluate(KERNEL.clone_with_theta(theta), X).K
        return inference.infer(K, y, likelihood, weight).log_evidence

    def differences(function, x, step=2e-4):
        """Fourth-order central differences."""
        f = [function(x + k * step) for k in (-2, -1, 1, 2)]
        return (8 * (f[2] - f[1]) - (f[3] - f[0])) / (12 * step)

    numeric = [
        differences(lambda t, a=a: value(KERNEL.theta + (np.arange(len(d_theta)) == a) * t, likelihood), 0.0)
        for a in range(len(d_theta))
    ]
    size = np.abs(numeric).max()
    assert_allclose(d_theta, numeric, rtol=1e-5, atol=1e-5 * size)
    numeric = [
        differences(
            lambda x, name=name: value(KERNEL.theta, replace(likelihood, **{name: x})), getattr(likelihood, name)
        )
        for name in likelihood.param_names
    ]
    assert_allclose(posterior.d_params, numeric, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("method", INFERENCES)
def test_a_mismatch_names_what_is_missing(method):
    class Useless:
        """Not a likelihood."""

    inference = INFERENCES[method]()
    with pytest.raises(TypeError, match=rf"{method}.*Useless does not implement {inference.requires[0]}"):
        check_likelihood(inference, Useless())


@pytest.mark.parametrize("method", INFERENCES)
def test_registered_under_its_own_name(method):
    assert INFERENCES[method].name == method


@pytest.mark.parametrize("loss", LIKELIHOODS)
def test_inducing_points_at_all_rows_give_the_variational_bound(loss):
    likelihood = likelihood_of(loss)
    X, y, weight = data(likelihood, True)
    full = Variational(tol=1e-9).infer(evaluate(KERNEL, X).K, y, likelihood, weight)
    sparse = Sparse(tol=1e-10).infer_inputs(X, y, likelihood, KERNEL, weight, Z=X)
    assert sparse.log_evidence == pytest.approx(full.log_evidence, abs=1e-5)
