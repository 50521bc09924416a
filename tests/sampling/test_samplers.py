"""Every sampler against integration at n = 3, and the printed algorithm, which fails the same test."""

from dataclasses import replace
from math import ceil

import numpy as np
import pytest

from softmargin.likelihoods import Hinge
from softmargin.sampling import (
    SAMPLERS,
    Leapfrog,
    Reference,
    Rotation,
    Settings,
    get_sampler,
    gram_gradient,
    paper,
    rotation,
    sample,
)

from .cases import REFERENCES, TARGETS, K, exact, gram_gradient_by_differences

N_CHAINS = 64


def deviations(draws, truth):
    """Deviations from the truth in standard errors; chains are independent, so their means give the error."""
    chains = [draws.f, draws.f**2, draws.d_params.transpose(1, 2, 0)]
    found = []
    for values, true in zip(chains, (truth.mean, truth.square, truth.d_params), strict=True):
        means = values.mean(axis=0)
        found.append((means.mean(axis=0) - true) / (means.std(axis=0, ddof=1) / np.sqrt(len(means))))
    return np.concatenate(found)


@pytest.mark.parametrize("reference", REFERENCES)
@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("name", TARGETS)
def test_averages_agree_with_integration(name, sampler, reference):
    draws = sample(
        np.random.default_rng(3),
        REFERENCES[reference],
        TARGETS[name],
        Settings(sampler, n_chains=N_CHAINS, n_warmup=100, n_draws=200),
    )
    # 64 chains: Student's t with 63 degrees of freedom. |t| > 4.5 has probability 3e-5 for each of some 300 numbers.
    assert np.max(np.abs(deviations(draws, exact(TARGETS[name])))) < 4.5
    np.testing.assert_allclose(draws.f, draws.z @ REFERENCES[reference].spectrum.root, atol=1e-8)


@pytest.mark.parametrize("name", TARGETS)
def test_gradient_agrees_with_differences(name):
    groups = []
    for seed in range(8):
        settings = Settings(n_chains=32, n_warmup=40, n_draws=60)
        draws = sample(np.random.default_rng(seed), REFERENCES["sites"], TARGETS[name], settings)
        z, slope = draws.z.reshape(-1, 3), draws.slope.reshape(-1, 3)
        groups.append(gram_gradient(draws.spectrum, z, slope))
    W, error = np.mean(groups, axis=0), np.std(groups, axis=0, ddof=1) / np.sqrt(8)
    # Student's t with 7 degrees of freedom: |t| > 8 has probability 1e-4; 0.002 covers the finite differences.
    assert np.all(np.abs(W - gram_gradient_by_differences(TARGETS[name])) < 8 * error + 2e-3)
    np.testing.assert_array_equal(W, W.T)


def _long_run_of_the_papers_sampler(flip):
    """Deviations of <f> in standard errors, with steps so large that a third is rejected."""
    target = TARGETS["hinge"]
    rng = np.random.default_rng(0)
    state = paper.init(K, np.zeros((512, 3)))
    total = np.zeros((512, 3))
    for i in range(1100):
        state, _ = paper.step(rng, state, K, target, 0.5, n_leapfrog=2, flip=flip)
        if i >= 100:
            total += state.f
    means = total / 1000
    return (means.mean(axis=0) - exact(target).mean) / (means.std(axis=0, ddof=1) / np.sqrt(512))


def test_papers_sampler_needs_the_momentum_flip():
    assert np.max(np.abs(_long_run_of_the_papers_sampler(flip=True))) < 4.5
    # The bias of one or two percent is more than ten standard errors of this run.
    assert np.max(np.abs(_long_run_of_the_papers_sampler(flip=False))) > 10


def test_power_zero_samples_the_reference():
    reference, rng = REFERENCES["sites"], np.random.default_rng(0)
    state = rotation.init(reference, TARGETS["hinge"], reference.sample(rng, 4096)[0])
    for _ in range(3):
        state, info = rotation.step(rng, state, reference, TARGETS["hinge"], 0.5, power=0.0)
    # No force: rotation is exact and never rejected.
    assert np.all(info.accepted)
    assert np.max(np.abs(info.energy_error)) < 1e-12
    error = np.sqrt(np.diag(reference.covariance) / 4096)
    assert np.all(np.abs(state.f.mean(axis=0) - reference.mean) < 4.5 * error)


def test_energy_error_shrinks_with_the_square_of_the_step():
    reference, target = REFERENCES["prior"], TARGETS["logistic"]
    z = reference.sample(np.random.default_rng(0), 64)[0]
    errors = []
    for size in (0.2, 0.1, 0.05):
        _, info = rotation.step(
            np.random.default_rng(1), rotation.init(reference, target, z), reference, target, size, jitter=0.0
        )
        errors.append(np.abs(info.energy_error).mean())
    assert errors[0] / errors[1] == pytest.approx(4, rel=0.2)
    assert errors[1] / errors[2] == pytest.approx(4, rel=0.1)


def test_same_seed_same_draws():
    runs = [
        sample(np.random.default_rng(5), REFERENCES["sites"], TARGETS["hinge"], Settings(n_draws=5)) for _ in range(2)
    ]
    np.testing.assert_array_equal(runs[0].f, runs[1].f)


@pytest.mark.parametrize("wrong", [{"sampler": "nuts"}, {"n_chains": 0}, {"n_draws": 0}])
def test_wrong_settings_are_named(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Settings(**wrong)


@pytest.mark.parametrize(
    "sampler",
    [Leapfrog(n_leapfrog=3, step_size=0.3), Leapfrog(trajectory=1.0, inverse_C=True), Rotation(step_size=0.2)],
    ids=repr,
)
def test_samplers_with_settings_of_their_own_agree_with_integration(sampler):
    settings = Settings(sampler, n_chains=N_CHAINS, n_warmup=100, n_draws=200)
    draws = sample(np.random.default_rng(4), REFERENCES["sites"], TARGETS["hinge"], settings)
    assert np.max(np.abs(deviations(draws, exact(TARGETS["hinge"])))) < 4.5
    if sampler.step_size is not None:
        assert draws.step_size == pytest.approx(sampler.step_size)


def test_a_trajectory_has_its_length_whatever_the_step():
    target = TARGETS["hinge"]
    assert Leapfrog(trajectory=1.0).plan(target, 0.1) == (10, 0.1)
    assert Leapfrog(trajectory=1.0).plan(target, 0.01) == (100, 0.01)
    assert Leapfrog(n_leapfrog=20, inverse_C=True).plan(target, 0.01) == (ceil(20 / target.likelihood.C), 0.01)


class Free:
    """No data: f~ swings as cos t, so that its end tells the time."""

    def __init__(self, C):
        self.likelihood = Hinge(C)

    def log_weight(self, f):
        return np.zeros(f.shape[:-1])

    def slope(self, f):
        return np.zeros_like(f)


@pytest.mark.parametrize("size", [0.05, 0.3])
@pytest.mark.parametrize("C", [0.2, 1.0, 3.0, 17.0, 400.0])
@pytest.mark.parametrize("sampler", [Leapfrog(trajectory=1.2), Leapfrog(n_leapfrog=4)], ids=repr)
def test_the_time_of_a_trajectory_goes_with_1_over_C(sampler, C, size):
    """Gold & Sollich 2003, section 5.3.1: "proportionally to 1/C for large C"."""
    sampler = replace(sampler, inverse_C=True, jitter=0.0)
    reference, rng = Reference.prior(np.eye(5)), np.random.default_rng(0)
    state = sampler.init(reference, Free(C), np.ones((1, 5)))
    end, _ = sampler.step(rng, state, reference, Free(C), size)
    # One momentum has been refreshed; the other four components started at rest.
    time = np.arccos(np.median(end.dual / state.dual))
    whole = 1.2 if sampler.trajectory is not None else 4 * size
    assert time == pytest.approx(whole / max(C, 1.0), rel=0.01)


@pytest.mark.parametrize("wrong", [{"n_leapfrog": 0}, {"step_size": -0.1}, {"trajectory": 0.0}])
def test_settings_that_move_nothing_are_refused(wrong):
    with pytest.raises(ValueError, match=f"{next(iter(wrong))} must be positive"):
        Leapfrog(**wrong)


@pytest.mark.parametrize("wrong", ["gibbs", Leapfrog, 3])
def test_what_is_no_sampler_is_refused(wrong):
    with pytest.raises(ValueError, match="sampler"):
        get_sampler(wrong)
