"""Kwok's three levels: against their formulas."""

import numpy as np
import pytest
from scipy.special import expit

from softmargin.criteria import kwok_levels
from softmargin.criteria.kwok import curvature
from softmargin.likelihoods import Hinge


def test_curvature_is_the_second_derivative_of_the_smoothed_slack():
    u, h, eta = np.linspace(-1.5, 1.5, 61), 1e-4, 5.0

    def slack(u):
        return u * expit(eta * u)

    numeric = (slack(u + h) - 2 * slack(u) + slack(u - h)) / h**2
    r, slope = curvature(u, eta)
    assert np.allclose(r, np.maximum(numeric, 0), atol=1e-5)
    assert np.any(numeric < -0.01)
    inside = np.abs(u) < 0.4
    numeric = (curvature(u + h, eta)[0] - curvature(u - h, eta)[0]) / (2 * h)
    assert np.allclose(slope[inside], numeric[inside], atol=1e-5)


def test_levels_follow_the_eigenvalues(make_case, svm):
    problem = make_case(Hinge).problem(C=3.0)
    posterior = svm(problem)
    levels = kwok_levels(posterior, problem, eta=4.0)
    f, C = posterior.mean, 3.0
    r, _ = curvature(1 - problem.y * f, 4.0)
    rho = np.linalg.eigvals(r[:, None] * problem.K).real
    norm2 = posterior.beta @ problem.K @ posterior.beta
    slack = np.maximum(1 - problem.y * f, 0).sum()
    level_2 = -norm2 / (2 * C) - slack - 0.5 * np.sum(np.log1p(C * rho))
    gamma = np.sum(rho / (1 / C + rho))
    assert levels.level_2 == pytest.approx(level_2, abs=1e-6)
    assert levels.gamma == pytest.approx(gamma, abs=1e-6)
    assert levels.next_C == pytest.approx(norm2 / gamma, rel=1e-6)
    assert levels.level_3 == pytest.approx(level_2 - 0.5 * np.log(gamma), abs=1e-6)


def test_separable_case_takes_the_largest_alpha(make_case, svm):
    case = make_case(Hinge)
    case.y = np.ones(60)
    case.y[case.distance[0] > np.median(case.distance[0])] = -1.0
    problem = case.problem((1.0, -0.5), C=1e4)
    posterior = svm(problem)
    assert np.abs(posterior.beta).max() < 1e4
    levels = kwok_levels(posterior, problem)
    largest = np.abs(posterior.beta).max()
    assert np.isclose(levels.C, largest)
    wider = case.problem((1.0, -0.5), C=1e5)
    assert kwok_levels(svm(wider), wider).level_2 == pytest.approx(levels.level_2, rel=1e-6)


def test_moderated_outputs_agree_with_each_other_and_with_the_decision(make_case, svm):
    problem = make_case(Hinge).problem()
    posterior = svm(problem)
    levels = kwok_levels(posterior, problem)
    mackay = levels.moderated_output(problem.K, np.diag(problem.K))
    average = levels.moderated_output(problem.K, np.diag(problem.K), average=True)
    sure = np.abs(posterior.mean) > 1e-9
    assert np.array_equal((mackay > 0.5)[sure], (posterior.mean > 0)[sure])
    assert np.corrcoef(mackay, average)[0, 1] > 0.99
    # Moderation pulls towards one half.
    assert np.all(np.abs(mackay - 0.5) <= np.abs(expit(2 * posterior.mean) - 0.5) + 1e-12)
