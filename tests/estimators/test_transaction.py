"""A fit is a transaction: whatever ends it early leaves the estimator as it was, fitted or not."""

from dataclasses import dataclass

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from softmargin import BayesianSVC, BayesianSVR
from softmargin.inference import EP, Sparse
from softmargin.machines.classification import fit as classification
from softmargin.machines.classification import pairwise
from softmargin.machines.regression import fit as regression
from softmargin.search import watching

from .cases import three_classes, two_classes

X, Y = two_classes(40)
OTHER = two_classes(30, d=2, seed=1)
"""Rows with other columns: a fit that went too far would be seen in n_features_in_."""
DENSE = {"max_iter": 2, "random_state": 0}
SPARSE = {**DENSE, "inference": "sparse", "n_inducing": 10}
ERRORS = [RuntimeError("no disk"), KeyboardInterrupt()]
WAYS = [(BayesianSVC, DENSE), (BayesianSVC, SPARSE), (BayesianSVR, DENSE), (BayesianSVR, SPARSE)]
NAMES = ["svc", "svc sparse", "svr", "svr sparse"]


@dataclass
class Fuse:
    """Raises an error at the given call."""

    error: BaseException
    count: int = 1
    calls: int = 0

    def __call__(self, *_):
        self.calls += 1
        if self.calls == self.count:
            raise self.error


def blow(monkeypatch, owner, name, fuse):
    """Let a function raise, instead of returning, when the fuse says so."""
    real = getattr(owner, name)

    def failing(*args, **kwargs):
        result = real(*args, **kwargs)
        fuse()
        return result

    monkeypatch.setattr(owner, name, failing)


def fitted_names(model):
    return sorted(name for name in vars(model) if name.endswith("_") or name == "_fit")


def target(estimator, rows, labels):
    return labels if estimator is BayesianSVC else rows[:, 0] + 0.1 * labels


def check_untouched(model, fit, error):
    """Run a fit that fails: nothing may change, not even by an equal copy."""
    before, answers = dict(vars(model)), model.predict(X) if fitted_names(model) else None
    with pytest.raises(type(error)) as caught:
        fit()
    assert caught.value is error
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is value for name, value in before.items())
    if answers is not None:
        assert_array_equal(model.predict(X), answers)


@pytest.fixture(params=[False, True], ids=["unfitted", "fitted"])
def is_fitted(request):
    return request.param


def make(estimator, settings, is_fitted):
    model = estimator(**settings)
    if is_fitted:
        model.fit(X, target(estimator, X, Y))
        assert "n_features_in_" in fitted_names(model)
    else:
        assert fitted_names(model) == []
    return model


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize(("estimator", "settings"), WAYS, ids=NAMES)
def test_an_error_in_the_search(estimator, settings, is_fitted, error):
    model, fuse = make(estimator, settings, is_fitted), Fuse(error, 2)

    def fit():
        with watching(fuse):
            model.fit(OTHER[0], target(estimator, *OTHER))

    check_untouched(model, fit, error)
    # The next fit is that of a new estimator.
    model.fit(*(rows := (OTHER[0], target(estimator, *OTHER))))
    assert_array_equal(model.predict(OTHER[0]), estimator(**settings).fit(*rows).predict(OTHER[0]))
    assert model.n_features_in_ == 2


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize(("estimator", "settings"), WAYS, ids=NAMES)
def test_an_error_in_the_inference(estimator, settings, is_fitted, error, monkeypatch):
    settings = {**settings, "search": None}
    model, fuse = make(estimator, settings, is_fitted), Fuse(error)
    owner, name = (Sparse, "infer_rows") if settings.get("inference") else (EP, "infer")
    blow(monkeypatch, owner, name, fuse)
    check_untouched(model, lambda: model.fit(OTHER[0], target(estimator, *OTHER)), error)
    assert fuse.calls == 1


@pytest.mark.parametrize(
    ("estimator", "settings", "owner", "name"),
    [
        (BayesianSVC, DENSE, classification, "_stacked"),
        (BayesianSVC, SPARSE, pairwise, "leave_rows_out"),
        (BayesianSVR, DENSE, regression, "_with_rows"),
        (BayesianSVR, SPARSE, regression, "leave_rows_out"),
    ],
    ids=NAMES,
)
def test_an_error_in_the_last_step(estimator, settings, owner, name, is_fitted, monkeypatch):
    settings = {**settings, "search": None}
    model, error = make(estimator, settings, is_fitted), KeyboardInterrupt()
    blow(monkeypatch, owner, name, Fuse(error))
    check_untouched(model, lambda: model.fit(OTHER[0], target(estimator, *OTHER)), error)


def test_an_error_in_a_later_pair_of_classes(is_fitted):
    rows, labels = three_classes(30)
    settings = {**DENSE, "multi_class": "ovo"}
    model, error = make(BayesianSVC, settings, is_fitted), KeyboardInterrupt()
    seen = BayesianSVC(**settings).fit(rows, labels).search_path_
    fuse = Fuse(error, len(seen) - 1)

    def fit():
        with watching(fuse):
            model.fit(rows, labels)

    check_untouched(model, fit, error)
    assert seen[-2]["pair"] == (1, 2)


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("estimator", [BayesianSVC, BayesianSVR])
def test_an_error_in_a_batch_of_a_stream(estimator, error, monkeypatch):
    model = estimator(**{**SPARSE, "search": None})
    rows, labels = two_classes(40, seed=3)
    with monkeypatch.context() as patch:
        blow(patch, Sparse, "infer_rows", Fuse(error))
        check_untouched(model, lambda: model.partial_fit(X, target(estimator, X, Y)), error)
    model.partial_fit(X, target(estimator, X, Y))
    with monkeypatch.context() as patch:
        blow(patch, Sparse, "infer_rows", Fuse(error))
        check_untouched(model, lambda: model.partial_fit(rows, target(estimator, rows, labels)), error)
    # A batch that is refused changes nothing either, and the stream goes on as if it had not been offered.
    with pytest.raises(ValueError, match="features"):
        model.partial_fit(rows[:, :2], target(estimator, rows, labels))
    model.partial_fit(rows, target(estimator, rows, labels))
    undisturbed = estimator(**{**SPARSE, "search": None}).partial_fit(X, target(estimator, X, Y))
    undisturbed.partial_fit(rows, target(estimator, rows, labels))
    assert_array_equal(model.predict(X), undisturbed.predict(X))


@pytest.mark.parametrize(("estimator", "settings"), WAYS, ids=NAMES)
def test_rows_and_parameters_that_are_refused(estimator, settings, is_fitted):
    model = make(estimator, settings, is_fitted)
    before = dict(vars(model))
    bad = np.array(OTHER[0])
    bad[3, 1] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        model.fit(bad, target(estimator, *OTHER))
    with pytest.raises(ValueError, match="sample_weight must not be negative"):
        model.fit(OTHER[0], target(estimator, *OTHER), sample_weight=-np.ones(30))
    model.tol = -1.0
    with pytest.raises(ValueError, match=r"tol=-1.0 must be"):
        model.fit(OTHER[0], target(estimator, *OTHER))
    model.tol = before["tol"]
    assert vars(model) == before


def test_attributes_of_an_earlier_fit_do_not_linger():
    """Inducing points have no support vectors: after such a fit there is no attribute that says otherwise."""
    model = BayesianSVC(**DENSE).fit(X, Y)
    assert hasattr(model, "support_") and hasattr(model, "margins_")
    fresh = BayesianSVC(**SPARSE).fit(X, Y)
    model.set_params(**SPARSE).fit(X, Y)
    assert fitted_names(model) == fitted_names(fresh) and not hasattr(model, "support_")
