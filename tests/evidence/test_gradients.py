"""Sampled gradients of ln Q, ln N(X) and ln Nhat against finite differences of exact integrals."""

import numpy as np
import pytest

from softmargin.evidence import Schedule, naive_evidence, normaliser
from softmargin.likelihoods import Hinge, Logistic, SquaredHinge
from softmargin.sampling import ConditionalNormaliser, DataTarget, JointNormaliser, Spectrum

from .cases import K4, Y4, toy

K, Y = K4[:3, :3], Y4[:3]
SCHEDULE = Schedule(16, 64, n_moves=4)


def _log_z(target, gram):
    from scipy.special import logsumexp, ndtri
    from scipy.stats import qmc

    f = ndtri(qmc.Sobol(3, seed=0).random_base2(16)) @ Spectrum.of(gram).root
    return float(logsumexp(target.log_weight(f)) - 16 * np.log(2))


def _target(kind, C, loss):
    likelihood = loss(C)
    if kind == "naive":
        return DataTarget(Y, likelihood)
    return ConditionalNormaliser(likelihood) if kind == "conditional" else JointNormaliser(likelihood, 3.0)


def _estimate(kind, loss, seed, gram=K, schedule=SCHEDULE):
    if kind == "naive":
        return naive_evidence(gram, Y, loss(2.0), schedule=schedule, random_state=seed)
    return normaliser(gram, loss(2.0), kind, schedule=schedule, random_state=seed)


@pytest.mark.parametrize("loss", [Hinge, SquaredHinge])
@pytest.mark.parametrize("kind", ["naive", "conditional", "joint"])
def test_gradients_agree_with_differences(kind, loss):
    h = 1e-2
    rng = np.random.default_rng(0)
    direction = rng.normal(size=(3, 3))
    direction = direction + direction.T
    target = _target(kind, 2.0, loss)
    by_gram = (_log_z(target, K + h * direction) - _log_z(target, K - h * direction)) / (2 * h)
    by_C = (_log_z(_target(kind, 2.0 + h, loss), K) - _log_z(_target(kind, 2.0 - h, loss), K)) / (2 * h)
    runs = [_estimate(kind, loss, seed) for seed in range(12)]
    for found, truth in (
        ([np.sum(run.d_gram * direction) for run in runs], by_gram),
        ([run.d_params[0] for run in runs], by_C),
    ):
        error = np.std(found, ddof=1) / np.sqrt(12)
        # Student's t with 11 degrees of freedom: |t| > 5 has probability 4e-4; 0.003 covers the differences.
        assert abs(np.mean(found) - truth) < 5 * error + 3e-3


def test_normalised_likelihood_has_no_normaliser():
    found = normaliser(K, Logistic(2.0), "conditional")
    assert found.value == 0
    assert not found.d_gram.any()
    assert found.d_params.shape == (1,)


def test_low_variance_beats_the_plain_estimate():
    """Mirroring the quieter triangle must reduce the noise of a length-scale gradient on an ill-conditioned K."""
    gram, _ = toy(30)
    x = np.sort(np.random.default_rng(0).random(30))
    d_scale = gram * (x[:, None] - x) ** 2 / 0.05**2
    spectrum = Spectrum.of(gram)
    target = ConditionalNormaliser(Hinge(2.0))
    plain, mirrored = [], []
    from softmargin.sampling import Reference, anneal, gram_gradient

    for seed in range(10):
        particles = anneal(np.random.default_rng(seed), Reference.prior(spectrum), target, Schedule(8, 32))
        slope = target.slope(particles.f)
        z = (particles.z @ spectrum.vectors * spectrum.inverse_root_values) @ spectrum.vectors.T
        plain.append(0.5 * np.sum((z.T @ slope / len(z)) * d_scale))
        mirrored.append(np.sum(gram_gradient(spectrum, particles.z, slope) * d_scale))
    # Ratio of two standard deviations from 10 values each, the same particles in both: 0.73 at this seed.
    assert np.std(mirrored) < 0.85 * np.std(plain)


def test_unknown_normaliser_is_named():
    with pytest.raises(ValueError, match="naive"):
        normaliser(K, Hinge(1.0), "naive")
