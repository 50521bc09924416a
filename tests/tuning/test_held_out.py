"""Early stopping on held-out rows, and scikit-learn's callbacks."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from softmargin import BayesianSVC, BayesianSVR
from softmargin.datasets import make_sinc
from softmargin.kernels import gram
from softmargin.rows import merge_rows
from softmargin.tuning.held_out import PATIENCE, hold_out

from .cases import log_loss, three_classes, two_classes

X, Y = two_classes(n=60)


def flat(**kwargs):
    """The criterion that overfits: the evidence without a hyperprior."""
    return BayesianSVC(criterion="evidence", hyperprior=None, random_state=0, **kwargs)


def test_hold_out_is_stratified():
    y = np.repeat([-1.0, 1.0], [40, 20])
    rows = merge_rows(np.arange(60.0)[:, None], y, None)
    held = hold_out(rows, 0.25, seed=0, stratify=True, precomputed=False)
    assert np.sum(held.y > 0) == 5 and np.sum(held.y < 0) == 10
    assert len(held.train.y) == 45
    both = np.concatenate([held.X, held.train.X])
    assert_array_equal(np.sort(both[:, 0]), np.arange(60))


def test_every_class_keeps_a_row():
    rows = merge_rows(np.arange(6.0)[:, None], np.array([-1.0, 1, 1, 1, 1, 1]), None)
    held = hold_out(rows, 0.9, seed=0, stratify=True, precomputed=False)
    assert set(held.train.y) == {-1, 1}
    with pytest.raises(ValueError, match=r"validation_fraction=0.5 leaves no row"):
        hold_out(merge_rows(np.eye(2), np.array([-1.0, 1]), None), 0.5, seed=0, stratify=True, precomputed=False)


def test_the_search_ends_at_the_lowest_held_out_log_loss():
    model = flat(validation_fraction=0.3).fit(X, Y)
    losses = [row["validation_log_loss"] for row in model.search_path_]
    best = model.search_path_[int(np.argmin(losses))]
    assert model.C_ == pytest.approx(best["C"])
    assert np.exp(model.kernel_.theta[0]) == pytest.approx(best["amplitude"])
    assert len(losses) <= np.argmin(losses) + PATIENCE + 1


def test_the_posterior_uses_all_rows():
    model = flat(validation_fraction=0.3).fit(X, Y)
    fixed = BayesianSVC(model.kernel_, C=model.C_, search=None).fit(X, Y)
    assert_allclose(model.predict_proba(X), fixed.predict_proba(X), atol=1e-6)
    assert len(model.posterior_.beta) == len(Y)


def test_held_out_log_loss_is_that_of_the_fit_without_the_rows():
    model = BayesianSVC(criterion="evidence", max_iter=1, validation_fraction=0.3, random_state=0).fit(X, Y)
    first = model.search_path_[0]
    rows = merge_rows(X, 2.0 * Y - 1, None)
    seed = int(np.random.RandomState(0).randint(2**31 - 1))
    held = hold_out(rows, 0.3, seed, stratify=True, precomputed=False)
    fresh = BayesianSVC(search=None)
    fresh.kernel = BayesianSVC(search=None).fit(X, Y).kernel_
    p = fresh.fit(held.train.X, held.train.y).predict_proba(held.X)
    assert first["validation_log_loss"] == pytest.approx(log_loss(p, (held.y > 0).astype(int)), abs=1e-5)


def test_precomputed_can_be_validated():
    kernel = ConstantKernel(3.0) * RBF(1.5) + ConstantKernel(0.3)
    by_matrix = BayesianSVC(
        "precomputed", criterion="evidence", validation_fraction=0.3, probability="mean", random_state=0
    )
    model = by_matrix.fit(gram(kernel, X), Y)
    assert np.isfinite([row["validation_log_loss"] for row in model.search_path_]).all()


def test_three_classes_and_restarts_can_be_validated():
    model = BayesianSVC(validation_fraction=0.3, max_iter=2, random_state=0).fit(*three_classes())
    assert all("validation_log_loss" in row for row in model.search_path_)
    model = flat(validation_fraction=0.3, n_restarts=1, max_iter=4).fit(X, Y)
    best = min(model.search_path_, key=lambda row: row["validation_log_loss"])
    assert model.C_ == pytest.approx(best["C"])


def test_the_same_seed_holds_the_same_rows_out():
    one, other = (
        flat(validation_fraction=0.3, max_iter=3).fit(X[o], Y[o]) for o in (slice(None), slice(None, None, -1))
    )
    assert one.C_ == other.C_


def test_regression_can_be_validated():
    X, y = make_sinc(60, random_state=0)
    model = BayesianSVR(hyperprior=None, validation_fraction=0.3, random_state=0).fit(X, 100 * y)
    losses = [row["validation_log_loss"] for row in model.search_path_]
    best = model.search_path_[int(np.argmin(losses))]
    assert model.noise_std_ == pytest.approx(best["sigma"])
    assert len(model.posterior_.mean) == 60 and len(losses) <= np.argmin(losses) + PATIENCE + 1
    # Everything is in the units of y: the first evaluation is a fit of the other rows at its hyperparameters.
    rows = merge_rows(X, 100 * y, None)
    seed = int(np.random.RandomState(0).randint(2**31 - 1))
    held = hold_out(rows, 0.3, seed, stratify=False, precomputed=False)
    ended = BayesianSVR(model.kernel_, C=model.C_, epsilon=model.epsilon_, search=None)
    # Its own centre is that of fewer rows.
    ended.fit(held.train.X, held.train.y)
    assert -np.mean(ended.log_predictive_density(held.X, held.y)) == pytest.approx(min(losses), abs=0.01)
    assert best["criterion"] == pytest.approx(ended.log_evidence_, abs=0.3)
    with pytest.raises(ValueError, match="validation_fraction=2 must be a number between 0 and 1"):
        BayesianSVR(validation_fraction=2).fit(X, y)


# -- scikit-learn's callbacks ------------------------------------------------------------------------------------------


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
    model = BayesianSVC(max_iter=3).set_callbacks(recorder).fit(X, Y)
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
    model = BayesianSVC().set_callbacks(recorder).fit(X, Y)
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
    regressor = BayesianSVR(max_iter=1).set_callbacks(recorder).fit(X, X[:, 0] + 0.1 * X[:, 1])
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
