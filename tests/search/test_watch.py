"""A watcher sees every evaluation and can end a fit at its best point so far."""

import numpy as np
import pytest

from softmargin import BayesianSVC
from softmargin.search import LBFGS, Evaluation, GradientAscent, RandomWalk, StopSearch, notify, watching


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, 2))
    return X, (X[:, 0] + 0.5 * rng.normal(size=40) > 0).astype(int)


def test_watcher_sees_the_path(data):
    seen = []
    with watching(seen.append):
        model = BayesianSVC(max_iter=3, stack=False).fit(*data)
    assert [e.value for e in seen] == [row["objective"] for row in model.search_path_]
    BayesianSVC(max_iter=3, stack=False).fit(*data)
    assert len(seen) == len(model.search_path_)


@pytest.mark.parametrize("after", [1, 2, 5])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_stopping_completes_the_fit(data, after, n_classes):
    X, _ = data
    y = np.arange(len(X)) % n_classes
    seen = []

    def stop(evaluation):
        seen.append(evaluation)
        if len(seen) >= after:
            raise StopSearch

    with watching(stop):
        model = BayesianSVC().fit(X, y)
    assert np.isfinite(model.predict_proba(X)).all()
    # After the stop every further search (stages, starts, pairs) makes one evaluation and no more.
    assert len(seen) <= after + 3 * n_classes


def test_stopping_keeps_the_best_of_the_stage(data):
    values = []

    def stop(evaluation):
        values.append(evaluation.value)
        if len(values) == 6:
            raise StopSearch

    with watching(stop):
        model = BayesianSVC(criterion="link_evidence").fit(*data)
    # The evaluation that stopped the search counts too.
    best = max(model.search_path_, key=lambda row: row["objective"])
    assert pytest.approx(best["C"]) == model.C_


@pytest.mark.parametrize("search", [RandomWalk(max_iter=3), GradientAscent(max_iter=3), LBFGS(max_iter=3)])
def test_a_stop_at_any_evaluation_ends_with_one(search):
    # The first evaluation of a walk, and the last one of an ascent, raised it out of the fit.
    def objective(z):
        evaluation = Evaluation(z, -float(z @ z), -2 * z, 0.0, None)
        notify(evaluation, stop)
        return evaluation

    def stop(evaluation):
        raise StopSearch

    result = search.maximise(objective, np.ones(2), np.array([[-5.0, 5.0]] * 2))
    assert result.best.value == -2.0
