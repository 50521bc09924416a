"""Draws from the model: the prior's covariance, the effective prior by reweighting, annealing against rejection."""

import numpy as np
import pytest
from scipy.stats import chi2_contingency, ks_2samp
from sklearn.gaussian_process.kernels import RBF

from softmargin.generative import sample_datasets, sample_effective_prior, sample_prior
from softmargin.likelihoods import EpsilonInsensitive, Gaussian, Hinge, Logistic
from softmargin.sampling import Schedule

KERNEL = 1.25 * RBF(0.2)
POOL = np.linspace(0, 1, 12)[:, None]
LIKELIHOOD = Hinge(2.0)


def test_prior_has_the_kernel_as_covariance():
    f = sample_prior(KERNEL, POOL, 20000, random_state=0)
    # Relative error of a covariance from 20,000 draws: about 1/sqrt(10,000), times 1.25; 5 standard errors.
    np.testing.assert_allclose(f.T @ f / 20000, KERNEL(POOL), atol=0.07)


def test_effective_prior_equals_the_reweighted_prior():
    n_examples = 6
    f = sample_prior(KERNEL, POOL, 200_000, random_state=0)
    share = np.mean(np.exp(LIKELIHOOD.log_v(f)), axis=1) ** n_examples
    share /= share.sum()
    expected = share @ f**2
    found = sample_effective_prior(
        KERNEL, POOL, LIKELIHOOD, n_examples, 2048, schedule=Schedule(16, 128, n_moves=5), random_state=1
    )
    # f^2 has sd about 1.5 times its mean: standard error 0.05 from some 1500 effective samples; 4.5 of them.
    np.testing.assert_allclose(np.mean(found**2, axis=0), expected, atol=0.25)
    # The effect itself is much larger than that.
    assert np.all(expected > 1.25 + 0.3)


def test_a_sample_of_inputs_far_away_does_not_matter_here():
    far = POOL + 100
    found = sample_effective_prior(KERNEL, POOL, LIKELIHOOD, 20, 1024, inputs=far, random_state=0)
    # Uncorrelated with the inputs: the prior, with variance 1.25.
    assert np.mean(found**2) == pytest.approx(1.25, abs=0.15)


@pytest.mark.parametrize("n_examples", [0, 5])
def test_normalised_likelihood_leaves_the_prior(n_examples):
    found = sample_effective_prior(KERNEL, POOL, Logistic(2.0), n_examples, 3, random_state=4)
    np.testing.assert_array_equal(found, sample_prior(KERNEL, POOL, 3, random_state=4))


def test_annealing_agrees_with_rejection():
    options = {"n_examples": 4, "n_datasets": 1500, "random_state": 0}
    drawn = sample_datasets(KERNEL, POOL, LIKELIHOOD, schedule=Schedule(16, 256, n_moves=5), **options)
    rejected = sample_datasets(KERNEL, POOL, LIKELIHOOD, method="rejection", **options)
    size = [np.array([np.mean(np.abs(d.f)) for d in sets]) for sets in (drawn, rejected)]
    assert ks_2samp(*size).pvalue > 1e-3
    ups = [np.bincount([int(np.sum(d.y > 0)) for d in sets], minlength=5) for sets in (drawn, rejected)]
    assert chi2_contingency(np.array(ups)).pvalue > 1e-3


def test_labels_follow_the_class_probability():
    sets = sample_datasets(KERNEL, POOL, LIKELIHOOD, 50, 40, random_state=0)
    y, f = np.concatenate([d.y for d in sets]), np.concatenate([d.f for d in sets])
    p = LIKELIHOOD.normalised().prob(1.0, f)
    # 2000 labels: the deviation from the sum of their probabilities has this standard deviation.
    assert abs(np.sum(y > 0) - p.sum()) < 4 * np.sqrt(np.sum(p * (1 - p)))
    assert all(d.X.shape == (50, 1) and d.pool_f.shape == (12,) for d in sets)


def test_hopeless_rejection_says_so(monkeypatch):
    monkeypatch.setattr("softmargin.generative.MAX_BATCHES", 2)
    with pytest.raises(RuntimeError, match="use method='annealing'"):
        sample_datasets(KERNEL, POOL, LIKELIHOOD, 200, method="rejection", random_state=0)


def test_wrong_methods_are_named():
    with pytest.raises(ValueError, match="magic"):
        sample_datasets(KERNEL, POOL, LIKELIHOOD, 5, method="magic")


@pytest.mark.parametrize("noise", [EpsilonInsensitive(5.0, 0.2), Gaussian(0.3)], ids=repr)
def test_regression_targets_are_the_function_plus_noise(noise):
    sets = sample_datasets(KERNEL, POOL, noise, 50, 40, random_state=0)
    residual = np.concatenate([d.y - d.f for d in sets])
    d = np.linspace(-2, 2, 41)
    # 2000 draws: the largest deviation of the distribution function stays below 1.95/sqrt(2000) with probability 0.999.
    found = np.mean(residual[:, None] <= d, axis=0)
    assert np.max(np.abs(found - noise.noise_cdf(d, np.full(41, 1e-9)))) < 1.95 / np.sqrt(2000)
    functions = np.array([s.pool_f for s in sets])
    assert np.mean(functions**2) == pytest.approx(1.25, abs=0.3)
    assert all(np.all(np.isin(s.f, s.pool_f)) for s in sets)
