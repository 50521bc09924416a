"""scikit-learn's callbacks: one task for the fit and one for each evaluation of its searches."""

import numpy as np
import pytest

from softmargin import BayesianSVC, BayesianSVR

from .cases import three_classes, two_classes

X, Y = two_classes(n=60)


class Recorder:
    """Counts tasks; asks to stop at the end of one of them."""

    def __init__(self, stop_at=None):
        self.begun, self.ended, self.stop_at, self.torn_down = [], [], stop_at, 0

    def setup(self, estimator, context):
        self.estimator = estimator

    def teardown(self, estimator, context):
        self.torn_down += 1

    def on_fit_task_begin(self, estimator, context):
        self.begun.append(context.task_name)

    def on_fit_task_end(self, estimator, context, *, X, y, fitted_estimator):
        self.ended.append((context.task_name, None if fitted_estimator is None else fitted_estimator.score(X, y)))
        return context.task_name == "evaluation" and len(self.ended) == self.stop_at


@pytest.fixture
def callbacks():
    return pytest.importorskip("sklearn.callback")


@pytest.mark.usefixtures("callbacks")
def test_one_task_per_evaluation():
    recorder = Recorder()
    model = BayesianSVC(max_iter=3, stack=False).set_callbacks(recorder).fit(X, Y)
    assert recorder.begun == ["fit"] + ["evaluation"] * len(model.search_path_)
    assert [name for name, _ in recorder.ended] == ["evaluation"] * len(model.search_path_) + ["fit"]
    # The estimator as if the search had ended there can predict.
    scores = [score for _, score in recorder.ended]
    assert all(0.5 < score <= 1 for score in scores)
    assert recorder.torn_down == 1


@pytest.mark.usefixtures("callbacks")
@pytest.mark.parametrize("stop_at", [1, 4])
def test_a_callback_can_end_the_search(stop_at):
    recorder = Recorder(stop_at)
    model = BayesianSVC(stack=False).set_callbacks(recorder).fit(X, Y)
    # Each later search (a second stage, its second start) ends after one evaluation.
    assert stop_at <= len(model.search_path_) <= stop_at + 2
    assert np.all(np.isfinite(model.predict_proba(X)))


@pytest.mark.usefixtures("callbacks")
def test_sparse_fits_have_tasks_and_can_be_ended():
    recorder = Recorder()
    model = BayesianSVC(inference="sparse", n_inducing=15, max_iter=2).set_callbacks(recorder).fit(X, Y)
    assert recorder.begun == ["fit"] + ["evaluation"] * len(model.search_path_)
    assert all(0.5 < score <= 1 for _, score in recorder.ended)
    recorder = Recorder(stop_at=2)
    model = BayesianSVC(inference="sparse", n_inducing=15).set_callbacks(recorder).fit(X, Y)
    # Each later search (the second stage of EP, its second start, the sparse bound's) ends after one evaluation.
    assert 2 <= len(model.search_path_) <= 5
    recorder = Recorder()
    BayesianSVR(inference="sparse", n_inducing=15, max_iter=1).set_callbacks(recorder).fit(X, X[:, 0] + 0.1 * X[:, 1])
    assert recorder.begun.count("evaluation") > 1 and recorder.begun.count("fit") == 1


def test_scikit_learns_own_callbacks(callbacks, capsys):
    monitor = callbacks.ScoringMonitor(scoring="neg_log_loss")
    model = BayesianSVC(max_iter=2).set_callbacks(monitor, callbacks.ProgressBar()).fit(X, Y)
    assert len(monitor.get_logs().data) >= len(model.search_path_)
    capsys.readouterr()


@pytest.mark.usefixtures("callbacks")
def test_three_classes_and_regression_have_tasks_too():
    recorder = Recorder()
    model = BayesianSVC(max_iter=1).set_callbacks(recorder).fit(*three_classes(30))
    assert recorder.begun.count("evaluation") == len(model.search_path_)
    recorder = Recorder()
    regressor = BayesianSVR(max_iter=1, stack=False).set_callbacks(recorder).fit(X, X[:, 0] + 0.1 * X[:, 1])
    assert recorder.begun.count("evaluation") == len(regressor.search_path_)


@pytest.mark.usefixtures("callbacks")
def test_teardown_happens_after_an_error():
    class Failing(Recorder):
        def on_fit_task_end(self, estimator, context):
            raise RuntimeError("no disk")

    recorder = Failing()
    with pytest.raises(RuntimeError, match="no disk"):
        BayesianSVC().set_callbacks(recorder).fit(X, Y)
    assert recorder.torn_down == 1
