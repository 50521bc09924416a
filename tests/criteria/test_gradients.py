"""Every smooth criterion of the SVM's solution: its gradient against central differences, its path for jumps."""

import numpy as np
import pytest

from softmargin.criteria import CRITERIA, Kwok, LaplaceEvidence, RadiusMargin, Span
from softmargin.inference import MAP, Laplace
from softmargin.likelihoods import Hinge, SquaredHinge

SMOOTH = [
    (Span(), SquaredHinge),
    (Span(c1=3.0, c2=0.5, eta=0.1), SquaredHinge),
    (RadiusMargin(), SquaredHinge),
    (RadiusMargin(), Hinge),
    (Kwok(), Hinge),
    (LaplaceEvidence(), Hinge),
    (LaplaceEvidence(), SquaredHinge),
]


@pytest.mark.parametrize(("criterion", "loss"), SMOOTH, ids=str)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("C", [0.7, 6.0])
def test_gradient(make_case, criterion, loss, weighted, C):
    case = make_case(loss, weighted=weighted)
    theta, h = np.array([1.0, 0.1]), 1e-6
    base, _ = case.evaluate(criterion, case.problem(theta, C))

    def slope(up, down, step=h):
        ends = [case.evaluate(criterion, case.problem(*end)) for end in (up, down)]
        supports = [(p.beta != 0, np.abs(p.beta) == np.abs(p.beta).max()) for _, p in ends]
        assert np.array_equal(supports[0][0], supports[1][0]), "the support set changed: choose another point"
        return (ends[0][0].value - ends[1][0].value) / (2 * step)

    for direction in np.eye(2):
        up, down = theta + h * direction, theta - h * direction
        dK = (case.problem(up, C).K - case.problem(down, C).K) / (2 * h)
        assert np.sum(base.d_gram * dK) == pytest.approx(slope((up, C), (down, C)), rel=1e-5, abs=1e-7)
    assert base.d_params[0] == pytest.approx(slope((theta, C + h), (theta, C - h)), rel=1e-5, abs=1e-7)


@pytest.mark.parametrize(("criterion", "loss"), SMOOTH, ids=str)
def test_continuous_where_the_support_set_changes(make_case, criterion, loss):
    case = make_case(loss)
    path = np.linspace(-0.2, 0.2, 401)
    problems = [case.problem([1.0, s]) for s in path]
    results = [case.evaluate(criterion, problem) for problem in problems]
    support = np.array([posterior.beta != 0 for _, posterior in results])
    assert np.count_nonzero(np.any(np.diff(support, axis=0), axis=1)) > 3
    values = np.array([result.value for result, _ in results])
    slopes = [
        np.sum(result.d_gram * (case.problem([1.0, s + 1e-6]).K - case.problem([1.0, s - 1e-6]).K)) / 2e-6
        for (result, _), s in zip(results, path)
    ]
    # A continuous curve moves by at most its steepest slope times the spacing.
    assert np.abs(np.diff(values)).max() <= 1.3 * np.abs(slopes).max() * (path[1] - path[0])


def test_smooth_says_whether_there_is_a_gradient(make_case):
    for name, cls in CRITERIA.items():
        if cls.inference not in (MAP, Laplace):
            continue
        loss = SquaredHinge if name == "span" else Hinge
        case = make_case(loss)
        result, _ = case.evaluate(cls(), case.problem())
        assert (result.d_gram is not None) == cls.smooth, name
        assert np.isfinite(result.value)


def test_a_loss_it_is_not_defined_for_is_refused():
    with pytest.raises(ValueError, match="defined for loss 'squared_hinge'; got 'hinge'"):
        Span().likelihood(Hinge())
    with pytest.raises(ValueError, match="defined for loss 'hinge'"):
        CRITERIA["gacv"]().likelihood(SquaredHinge())
