"""Annealed values of ln Z against integration, and honest standard errors."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from softmargin.likelihoods import LIKELIHOODS
from softmargin.sampling import DataTarget, Reference, Schedule, Spectrum, anneal
from softmargin.sampling.annealing import MOST_LEVELS, _resample

from .cases import REFERENCES, TARGETS, exact

SCHEDULES = {"rotation": Schedule(), "slice": Schedule(n_moves=12, sampler="slice")}


@pytest.mark.parametrize("sampler", SCHEDULES)
@pytest.mark.parametrize("reference", REFERENCES)
@pytest.mark.parametrize("name", TARGETS)
def test_value_agrees_with_integration(name, reference, sampler):
    estimate = anneal(np.random.default_rng(8), REFERENCES[reference], TARGETS[name], SCHEDULES[sampler])
    # 16 islands: Student's t with 15 degrees of freedom; |t| > 4 has probability 1e-3, for 28 cases.
    assert abs(estimate.log_z - exact(TARGETS[name]).log_z) < 3 * estimate.standard_error
    assert estimate.standard_error < 0.12
    assert estimate.levels[-1] == 1


@pytest.mark.slow
@pytest.mark.parametrize("sampler", SCHEDULES)
@pytest.mark.parametrize("name", ["hinge", "conditional", "joint"])
def test_standard_error_is_honest(name, sampler):
    truth, schedule = exact(TARGETS[name]).log_z, SCHEDULES[sampler]
    runs = [anneal(np.random.default_rng(seed), REFERENCES["prior"], TARGETS[name], schedule) for seed in range(100)]
    deviation = np.array([(run.log_z - truth) / run.standard_error for run in runs])
    # Student's t with 15 degrees of freedom: 2.13 covers 95 %; 100 repeats have a binomial sd of 2.2 %.
    assert 0.88 <= np.mean(np.abs(deviation) < 2.13) <= 1.0
    # The mean deviation of 100 has sd 0.11.
    assert abs(deviation.mean()) < 0.4


def test_fixed_levels_are_kept():
    estimate = anneal(np.random.default_rng(0), REFERENCES["prior"], TARGETS["hinge"], Schedule(levels=(0.2, 0.6, 1.0)))
    assert estimate.levels == (0.2, 0.6, 1.0)


def test_remaining_particles_are_samples():
    target = TARGETS["hinge"]
    estimate = anneal(np.random.default_rng(0), REFERENCES["prior"], target, Schedule(16, 256, n_moves=6))
    means = estimate.f.reshape(16, 256, 3).mean(axis=1)
    error = means.std(axis=0, ddof=1) / 4
    assert np.all(np.abs(means.mean(axis=0) - exact(target).mean) < 4.5 * error)


def test_resampling_keeps_expected_counts():
    log_w = np.log(np.array([[0.1, 0.2, 0.3, 0.4], [0.25, 0.25, 0.25, 0.25]]))
    rng = np.random.default_rng(0)
    counts = np.zeros(8)
    for _ in range(4000):
        counts += np.bincount(_resample(rng, log_w), minlength=8)
    # Systematic counts vary by less than one: sd of the mean below 0.5 / sqrt(4000) = 0.008.
    np.testing.assert_allclose(counts / 4000, 4 * np.exp(log_w).ravel(), atol=0.035)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_islands": 1}, "n_islands"),
        ({"ess": 1.5}, "ess"),
        ({"levels": (0.5, 0.4, 1.0)}, "levels"),
        ({"sampler": "paper"}, "sampler"),
    ],
)
def test_wrong_schedules_are_named(settings, message):
    with pytest.raises(ValueError, match=message):
        Schedule(**settings)


def test_levels_are_bounded():
    # With such weights the residual varies by so much that each level goes a tiny part of the way.
    y, K = np.array([1.0, -1.0, 1.0]), 1.0 + np.eye(3)
    reference, target = Reference.prior(Spectrum.of(K)), DataTarget(y, LIKELIHOODS["logistic"](), np.full(3, 1e60))
    with pytest.warns(ConvergenceWarning, match="annealing needs more than"):
        found = anneal(np.random.default_rng(0), reference, target, Schedule(n_islands=2, n_particles=8))
    assert len(found.levels) <= MOST_LEVELS + 21


def test_levels_that_lose_all_particles_are_not_tried_again_and_again():
    # The smallest step is already too large at weights of 1e12; forty trials of each of twelve moves found nothing.
    class Counted(DataTarget):
        calls = 0

        def log_weight(self, f):
            Counted.calls += 1
            return super().log_weight(f)

    y, K = np.array([1.0, -1.0, 1.0]), 1.0 + np.eye(3)
    reference = Reference.prior(Spectrum.of(K))
    target = Counted(y, LIKELIHOODS["hinge"](), np.full(3, 1e12))
    schedule = Schedule(n_islands=2, n_particles=8, n_moves=12, sampler="slice")
    with pytest.warns(ConvergenceWarning, match="annealing needs more than"):
        anneal(np.random.default_rng(0), reference, target, schedule)
    assert Counted.calls < 400
