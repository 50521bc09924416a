"""ROC and precision-recall curves against scikit-learn's, and their bands against resampling by hand."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics import average_precision_score, precision_recall_curve, roc_auc_score, roc_curve

from softmargin.experiment import rank_events


@pytest.fixture(params=["distinct", "ties"])
def problem(request):
    rng = np.random.default_rng(1)
    event = rng.random(80) < 0.3
    score = rng.normal(size=80) + 1.2 * event
    return (np.round(score) if request.param == "ties" else score), event


def test_curves_are_those_of_scikit_learn(problem):
    score, event = problem
    found = rank_events(score, event)
    assert found.roc.area == pytest.approx(roc_auc_score(event, score))
    assert found.precision.area == pytest.approx(average_precision_score(event, score))
    assert found.share == event.mean()
    alarms, hits, _ = roc_curve(event, score, drop_intermediate=False)
    assert_allclose(found.roc.y, np.interp(found.roc.x, alarms, hits))
    precision, recall, _ = precision_recall_curve(event, score)
    # The fewest rows with at least so many of the events: the last point whose recall is large enough.
    wanted = [precision[np.flatnonzero(recall >= x - 1e-12)[-1]] for x in found.precision.x[1:]]
    assert_allclose(found.precision.y[1:], wanted)


def test_bands_are_those_of_resampled_rows(problem):
    score, event = problem
    rng, areas = np.random.default_rng(5), []
    for _ in range(400):
        rows = np.concatenate([rng.choice(np.flatnonzero(kind), kind.sum()) for kind in (event, ~event)])
        areas.append(roc_auc_score(event[rows], score[rows]))
    found = rank_events(score, event).roc
    assert_allclose([found.area_lower, found.area_upper], np.quantile(areas, [0.025, 0.975]), atol=0.03)
    assert np.all(found.lower <= found.y + 1e-12) and np.all(found.y <= found.upper + 1e-12)
    assert 0.05 < np.max(found.upper - found.lower) < 0.6


def test_a_perfect_score_has_no_spread():
    found = rank_events(np.array([3.0, 2.0, 1.0, 0.0]), np.array([True, True, False, False]))
    assert found.roc.area == found.roc.area_lower == found.precision.area == found.precision.area_lower == 1
    # Nor at no row found, whichever rows are drawn.
    assert found.precision.lower.min() == 1


def test_precision_begins_at_the_first_event():
    found = rank_events(np.array([4.0, 3.0, 2.0, 1.0]), np.array([False, True, True, False]))
    assert found.precision.y[0] == 0.5
