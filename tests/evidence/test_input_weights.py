"""Note 6 of Sollich 2002: the weights of the inputs that maximise the joint evidence, against integration."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import log_softmax, logsumexp, ndtri
from scipy.stats import qmc

from softmargin.evidence import Schedule, input_weights
from softmargin.likelihoods import Hinge
from softmargin.sampling import Spectrum

X = np.array([0.0, 0.3, 2.5])
K = 1.5 * np.exp(-0.5 * (X[:, None] - X) ** 2)


@pytest.mark.parametrize("likelihood", [Hinge(2.0), Hinge(4.0)], ids=repr)
def test_weights_and_gain_agree_with_direct_maximisation(likelihood):
    f = ndtri(qmc.Sobol(3, seed=0).random_base2(15)) @ Spectrum.of(K).root
    log_v = likelihood.log_v(f)

    def log_joint(u):
        """Sum of ln w minus ln Nhat(w), by integration, at w = softmax(u, 0)."""
        log_w = log_softmax(np.append(u, 0.0))
        return log_w.sum() - logsumexp(3 * logsumexp(log_w + log_v, axis=1)) + np.log(len(f))

    best = minimize(lambda u: -log_joint(u), np.zeros(2), tol=1e-8)
    truth = np.exp(log_softmax(np.append(best.x, 0.0)))
    assert np.ptp(truth) > 0.005
    found = input_weights(K, likelihood, tol=0.005, schedule=Schedule(16, 512), random_state=0)
    np.testing.assert_allclose(found.weight, truth, atol=0.006)
    assert found.gain == pytest.approx(log_joint(best.x) - log_joint(np.zeros(2)), abs=0.002)
    assert found.residual <= 0.005


def test_equivalent_inputs_have_equal_weights_at_once():
    found = input_weights(2 * np.eye(4) + 0.5, Hinge(2.0), tol=0.1, random_state=0)
    assert found.n_iter == 0 and found.gain == pytest.approx(0, abs=1e-12)
    np.testing.assert_array_equal(found.weight, 0.25)
