"""The sampled posterior: moments and predictions against integration, diagnostics, and agreement with EP."""

import sys

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.exceptions import ConvergenceWarning

from softmargin.inference import EP, HMC, MAP
from softmargin.likelihoods import EpsilonInsensitive, Hinge, Logistic, SquaredHinge
from softmargin.sampling import Leapfrog, Spectrum

from .cases import NOISE, TARGETS, K, X, Y, exact

NEW = np.array([0.2, 0.9, 3.0])
K_STAR = 1.7 * np.exp(-((NEW[:, None] - X) ** 2) / 2) + 0.3
K_DIAG = np.full(3, 2.0)


@pytest.fixture(scope="module", name="posterior")
def _posterior():
    return HMC(n_draws=400, check=False).infer(K, Y, Hinge(2.0))


def test_moments_agree_with_integration(posterior):
    truth = exact(TARGETS["hinge"])
    # About 64 x 400 / 2 independent draws of variables with sd below 1.2: standard error below 0.011.
    np.testing.assert_allclose(posterior.mean, truth.mean, atol=0.04)
    np.testing.assert_allclose(posterior.latent_mean(K), truth.mean, atol=0.04)
    np.testing.assert_allclose(posterior.beta, np.linalg.solve(K, truth.mean), atol=0.04)
    np.testing.assert_allclose(posterior.variance, truth.square - truth.mean**2, atol=0.08)
    np.testing.assert_allclose(posterior.d_params, truth.d_params, atol=0.04)
    assert abs(posterior.log_evidence - truth.log_z) < 3 * posterior.log_evidence_error


def test_new_rows_agree_with_integration(posterior):
    f = NOISE @ Spectrum.of(K).root
    share = np.exp(TARGETS["hinge"].log_weight(f))
    share /= share.sum()
    weights = np.linalg.solve(K, K_STAR.T)
    variance = K_DIAG - np.sum(K_STAR.T * weights, axis=0)
    means = f @ weights
    mean = share @ means
    assert np.allclose(posterior.latent_mean(K_STAR), mean, atol=0.04)
    expected = variance + share @ means**2 - mean**2
    # 1000 kept samples: relative error of a variance about 5 %.
    np.testing.assert_allclose(posterior.latent_variance(K_STAR, K_DIAG), expected, rtol=0.2)
    noise = norm.ppf((np.arange(64) + 0.5) / 64)
    for j in range(3):
        f = means[:4096, j, None] + np.sqrt(variance[j]) * noise
        truth = share[:4096] @ Hinge(2.0).normalised().prob(1.0, f).mean(axis=1) / share[:4096].sum()
        found = np.exp(posterior.log_predictive(Hinge(2.0), np.ones(3), K_STAR, K_DIAG)[j])
        # Class probabilities of 1000 samples: standard error below 0.5 / sqrt(1000) = 0.016.
        assert found == pytest.approx(truth, abs=0.05)


def test_the_papers_40000_samples_of_which_half_are_discarded():
    """Gold & Sollich 2003, section 4.2: one chain from the SVM; the averages of eqs. 18 and 20 come from 20,000."""
    sampler = Leapfrog(n_leapfrog=3, step_size=0.5)
    settings = {"n_chains": 1, "n_warmup": 20_000, "n_draws": 20_000, "thin": 1, "evidence": False, "check": False}
    found = HMC(sampler=sampler, initial="svm", reference="prior", **settings).infer(K, Y, Hinge(2.0))
    assert found.draws.f.shape == (20_000, 1, 3) and found.draws.step_size == 0.5
    truth = exact(TARGETS["hinge"])
    half = found.draws.f[:, 0].reshape(100, 200, 3).mean(axis=1)
    # Means of 100 pieces of 200 draws, hardly correlated: their spread is the standard error.
    assert np.all(np.abs(half.mean(axis=0) - truth.mean) < 4 * half.std(axis=0) / 10)
    np.testing.assert_allclose(found.d_params, truth.d_params, atol=0.05)


def test_discarded_are_the_first_samples():
    settings = {"sampler": Leapfrog(step_size=0.3), "n_chains": 2, "evidence": False, "check": False}
    half, whole = (
        HMC(n_warmup=w, n_draws=n, **settings).infer(K, Y, Hinge(2.0)).draws.f for w, n in ((30, 30), (0, 60))
    )
    np.testing.assert_array_equal(half, whole[30:])


def test_class_probabilities_add_up(posterior):
    plus = posterior.log_predictive(Hinge(2.0), np.ones(3), K_STAR, K_DIAG)
    minus = posterior.log_predictive(Hinge(2.0), -np.ones(3), K_STAR, K_DIAG)
    np.testing.assert_allclose(np.exp(plus) + np.exp(minus), 1, atol=1e-6)


def test_covariance_has_the_variances_on_its_diagonal(posterior):
    K_new = 1.7 * np.exp(-((NEW[:, None] - NEW) ** 2) / 2) + 0.3
    covariance = posterior.latent_covariance(K_STAR, K_new)
    np.testing.assert_allclose(np.diag(covariance), posterior.latent_variance(K_STAR, K_DIAG))
    assert np.linalg.eigvalsh(covariance)[0] > 0


@pytest.mark.parametrize("likelihood", [Hinge(1.5), SquaredHinge(1.5), Logistic(1.5), EpsilonInsensitive(4.0, 0.1)])
@pytest.mark.parametrize("sampler", ["rotation", "slice"])
def test_agrees_with_ep_at_forty_rows(likelihood, sampler):
    rng = np.random.default_rng(0)
    x = np.sort(rng.uniform(0, 3, 40))
    gram = 1.5 * np.exp(-((x[:, None] - x) ** 2) / 0.5) + 0.2
    signal = np.sin(3 * x) + 0.3 * rng.normal(size=40)
    y = np.sign(signal) if likelihood.is_classifier else signal
    ep = EP().infer(gram, y, likelihood)
    hmc = HMC(sampler=sampler, n_draws=200, thin=2, check=False).infer(gram, y, likelihood)
    scale = np.sqrt(ep.variance)
    # EP's means are good to a few percent of a standard deviation; its variances of skewed margins are too small.
    assert np.max(np.abs(hmc.mean - ep.mean) / scale) < 0.12
    assert np.max(np.abs(hmc.latent_mean(gram) - ep.mean) / scale) < 0.15
    assert np.all((hmc.variance / ep.variance > 0.85) & (hmc.variance / ep.variance < 1.6))
    assert abs(hmc.log_evidence - ep.log_evidence) < 0.15 + 4 * hmc.log_evidence_error
    np.testing.assert_allclose(hmc.d_params, ep.d_params, atol=0.3, rtol=0.1)
    assert np.sum(hmc.d_gram * gram) == pytest.approx(np.sum(ep.d_gram * gram), abs=0.3)


def test_singular_gram_matrix_needs_no_jitter():
    twice = np.repeat(np.arange(3), 2)
    posterior = HMC(n_draws=100, check=False).infer(K[np.ix_(twice, twice)], Y[twice], Hinge(1.0))
    np.testing.assert_allclose(posterior.draws.f[..., ::2], posterior.draws.f[..., 1::2], atol=1e-6)
    merged = HMC(n_draws=100, check=False).infer(K, Y, Hinge(1.0), weight=np.full(3, 2.0))
    np.testing.assert_allclose(posterior.mean[::2], merged.mean, atol=0.1)


def test_warm_start_continues_the_chains():
    first = HMC(n_draws=5, check=False, evidence=False).infer(K, Y, Hinge(2.0))
    settings = HMC(n_draws=1, n_warmup=0, check=False, evidence=False)
    cold, warm = settings.infer(K, Y, Hinge(2.0)), settings.infer(K, Y, Hinge(2.0), start=first)
    assert not np.array_equal(cold.draws.z, warm.draws.z)
    assert np.isnan(warm.log_evidence_error)
    assert warm.log_evidence == pytest.approx(EP().infer(K, Y, Hinge(2.0)).log_evidence)


def test_diagnostics_pass_and_fail_with_a_remedy():
    posterior = HMC().infer(K, Y, Hinge(2.0))
    assert posterior.converged
    assert posterior.diagnostics.passed
    assert posterior.diagnostics.names == ("loss", "d_log_amplitude", "d_C")
    with pytest.warns(ConvergenceWarning, match="Raise n_draws"):
        poor = HMC(sampler="paper", n_chains=4, n_warmup=0, n_draws=20).infer(K, Y, Hinge(2.0))
    assert not poor.converged


def test_to_arviz_has_chains_and_draws():
    tree = HMC(n_chains=4, n_draws=6, check=False, evidence=False).infer(K, Y, Hinge(2.0)).to_arviz()
    assert dict(tree["posterior"].sizes)["chain"] == 4
    assert dict(tree["posterior"].sizes)["draw"] == 6
    assert "energy" in tree["sample_stats"]


def test_missing_extra_is_named(monkeypatch, posterior):
    from softmargin.sampling import diagnose

    monkeypatch.setitem(sys.modules, "arviz_stats.base", None)
    monkeypatch.setitem(sys.modules, "arviz_base", None)
    with pytest.raises(ImportError, match=r"softmargin\[diagnostics\]"):
        diagnose(posterior.draws, ("C",))
    with pytest.raises(ImportError, match=r"softmargin\[diagnostics\]"):
        posterior.to_arviz()


def test_unknown_reference_is_named():
    with pytest.raises(ValueError, match="laplace"):
        HMC(reference="laplace").infer(K, Y, Hinge(2.0))


def test_chains_can_start_at_the_support_vector_machine():
    """Without a warm-up and with steps that hardly move, the first draw is the SVM itself, at every call."""
    still = HMC(
        sampler=Leapfrog(n_leapfrog=1, step_size=1e-9), initial="svm", n_chains=3, n_warmup=0, n_draws=1,
        evidence=False, check=False,
    )  # fmt: skip
    svm = MAP().infer(K, Y, Hinge(2.0)).mean
    first = still.infer(K, Y, Hinge(2.0))
    for posterior in (first, still.infer(K, Y, Hinge(2.0), start=first)):
        np.testing.assert_allclose(posterior.draws.f[0], np.tile(svm, (3, 1)), atol=1e-6)
    with pytest.raises(ValueError, match="unknown initial 'prior'"):
        HMC(initial="prior").infer(K, Y, Hinge(2.0))
