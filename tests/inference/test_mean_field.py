"""The paper's own iteration against EP, whose fixed point it shares."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from softmargin.datasets import make_sinc
from softmargin.inference import EP, MeanField
from softmargin.likelihoods import EpsilonInsensitive


def sinc(n):
    """The paper's problem: evenly spaced inputs, K = exp(-|x - x'|^2/tau^2) with tau = 2."""
    X, y = make_sinc(n, spaced=True, random_state=0)
    return np.exp(-((X - X.T) ** 2) / 4), y


@pytest.mark.parametrize(("n", "settings"), [(8, {"order": "sequential"}), (30, {"order": "parallel", "eta": 0.02})])
def test_reaches_the_fixed_point_of_ep(n, settings):
    K, y = sinc(n)
    likelihood = EpsilonInsensitive(C=5.0, epsilon=0.1)
    ours = MeanField(**settings).infer(K, y, likelihood)
    ep = EP(tol=1e-10).infer(K, y, likelihood)
    assert ours.method == "mean_field" and ours.converged
    np.testing.assert_allclose(ours.mean, ep.mean, atol=1e-6)
    np.testing.assert_allclose(ours.variance, ep.variance, atol=1e-6)
    np.testing.assert_allclose(ours.log_evidence, ep.log_evidence, atol=1e-6)
    np.testing.assert_allclose(ours.d_params, ep.d_params, atol=1e-4)


def test_a_parallel_run_at_the_papers_rate_cycles_and_says_so():
    K, y = sinc(40)
    likelihood = EpsilonInsensitive(C=5.0, epsilon=0.1)
    with pytest.warns(ConvergenceWarning, match=r"eta=0\.05 did not converge.*it cycles.*inference='ep'"):
        posterior = MeanField(order="parallel").infer(K, y, likelihood)
    assert posterior.method == "variational"


def test_an_adaptive_rate_converges_where_the_papers_cycles():
    K, y = sinc(40)
    likelihood = EpsilonInsensitive(C=5.0, epsilon=0.1)
    ours = MeanField(order="parallel", adaptive=True).infer(K, y, likelihood)
    assert ours.method == "mean_field" and ours.n_iter < 1000
    np.testing.assert_allclose(ours.mean, EP(tol=1e-9).infer(K, y, likelihood).mean, atol=1e-6)


def test_noise_on_the_diagonal_is_part_of_the_model():
    K, y = sinc(8)
    likelihood = EpsilonInsensitive(C=5.0, epsilon=0.1)
    ours, ep = MeanField(jitter=0.1).infer(K, y, likelihood), EP(tol=1e-9).infer(K + 0.1 * np.eye(8), y, likelihood)
    np.testing.assert_allclose(ours.mean, ep.mean, atol=1e-6)


@pytest.mark.parametrize("wrong", [{"order": "random"}, {"eta": 0.0}, {"jitter": -1.0}])
def test_wrong_settings_are_named(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        MeanField(**wrong)


def test_warm_start_is_already_there():
    K, y = sinc(8)
    likelihood = EpsilonInsensitive(C=5.0, epsilon=0.1)
    first = EP(tol=1e-9).infer(K, y, likelihood)
    assert MeanField().infer(K, y, likelihood, start=first).n_iter == MeanField().n_inner


def test_weights_stand_for_repeated_rows():
    """A row of weight 2 is the same likelihood factor twice at one latent value."""
    K, y = sinc(8)
    likelihood = EpsilonInsensitive(C=5.0, epsilon=0.1)
    weight = np.array([1.0, 2.0, 1.0, 1.0, 3.0, 1.0, 1.0, 1.0])
    ours = MeanField(order="parallel", eta=0.02).infer(K, y, likelihood, weight)
    np.testing.assert_allclose(ours.mean, EP().infer(K, y, likelihood, weight).mean, atol=1e-5)


@pytest.mark.parametrize("C", [1.0, 5.0, 20.0])
def test_gaussian_start_saves_ep_a_sweep(C, monkeypatch):
    K, y = sinc(40)
    likelihood = EpsilonInsensitive(C=C, epsilon=0.1)
    with_start = EP().infer(K, y, likelihood)
    monkeypatch.setattr("softmargin.inference.ep.cold_sites", lambda y, likelihood, weight: np.zeros(2 * len(y)))
    without = EP().infer(K, y, likelihood)
    assert with_start.n_iter <= without.n_iter
    np.testing.assert_allclose(with_start.log_evidence, without.log_evidence, atol=1e-6)


def test_gaussian_start_ignores_gross_outliers():
    """A Gaussian site at 1e6 would cost EP dozens of sweeps."""
    K, y = sinc(40)
    y[3] = 1e6
    likelihood = EpsilonInsensitive(C=5.0, epsilon=0.1)
    tau, _ = likelihood.initial_sites(y)
    assert tau[3] == 0 and np.all(np.delete(tau, 3) > 0)
    assert EP().infer(K, y, likelihood).n_iter < 15
