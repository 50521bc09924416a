"""The normalised evidence as a criterion: value, gradient, common random numbers."""

import numpy as np
import pytest

from softmargin.criteria import ConditionalEvidence, JointEvidence, Problem, get_criterion
from softmargin.evidence import Schedule, log_evidence
from softmargin.inference import EP
from softmargin.likelihoods import Hinge

X = np.linspace(0, 2, 12)
Y = np.sign(np.sin(4 * X) + 0.1)


def evaluate(criterion, C=1.5, amplitude=2.0):
    K = amplitude * np.exp(-((X[:, None] - X) ** 2) / 0.5)
    likelihood = Hinge(C)
    posterior = EP().infer(K, Y, likelihood)
    return K, criterion(posterior, Problem(K, Y, likelihood))


@pytest.mark.parametrize(("criterion", "kind"), [(ConditionalEvidence, "conditional"), (JointEvidence, "joint")])
def test_value_is_that_of_log_evidence(criterion, kind):
    K, found = evaluate(criterion(Schedule(16, 64)))
    expected = log_evidence(K, Y, 1.5, kind=kind, random_state=3, schedule=Schedule(16, 64))
    assert abs(found.value - expected.value) < 6 * expected.standard_error
    assert get_criterion(f"{kind}_evidence") is criterion


@pytest.mark.parametrize("criterion", [ConditionalEvidence, JointEvidence])
def test_gradients_agree_with_differences(criterion):
    settings = criterion(Schedule(16, 128, n_moves=4))
    K, found = evaluate(settings)
    h = 0.2
    by_C = (evaluate(settings, C=1.5 + h)[1].value - evaluate(settings, C=1.5 - h)[1].value) / (2 * h)
    by_k = (
        evaluate(settings, amplitude=2 * np.exp(h))[1].value - evaluate(settings, amplitude=2 * np.exp(-h))[1].value
    ) / (2 * h)
    # 2048 particles: values to about 0.03, differences over 0.4 to about 0.07 in spite of common random numbers.
    assert found.d_params[0] == pytest.approx(by_C, abs=0.25)
    assert np.sum(found.d_gram * K) == pytest.approx(by_k, abs=0.25)


@pytest.mark.parametrize("criterion", [ConditionalEvidence, JointEvidence])
def test_resolution_is_about_the_monte_carlo_error(criterion):
    values = [evaluate(criterion(seed=seed))[1].value for seed in range(20)]
    assert 0.2 * criterion.resolution < np.std(values) < 2 * criterion.resolution


def test_same_point_same_value():
    assert evaluate(ConditionalEvidence())[1].value == evaluate(ConditionalEvidence())[1].value


def test_nearby_points_have_nearby_values():
    values = [evaluate(ConditionalEvidence(), C=C)[1].value for C in (1.5, 1.5 + 1e-9)]
    assert values[0] == pytest.approx(values[1], abs=1e-4)
