"""What a fit through inducing points cannot honour is refused, however the fit came to go through them."""

import numpy as np
import pytest

from softmargin import BayesianSVC, BayesianSVR
from softmargin.criteria import Evidence, LeaveOneOut, LinkEvidence, Span
from softmargin.inference import EP, MAP, Sparse
from softmargin.likelihoods import SquaredHinge
from softmargin.search import LBFGS, GradientAscent, RandomWalk

from .cases import two_classes

X, Y = two_classes(60)
T = X[:, 0] + 0.1 * Y
WAYS = ["sparse", "object", "automatic", "dask"]
REFUSED = [
    ({"criterion": "span", "loss": "squared_hinge"}, "for which criterion='span' is not defined; use criterion='auto'"),
    ({"criterion": Span(), "loss": SquaredHinge()}, r"for which criterion=Span\(\) is not defined"),
    ({"criterion": "gacv", "search": None}, "for which criterion='gacv' is not defined"),
    ({"criterion": "conditional_evidence"}, "for which criterion='conditional_evidence' is not defined"),
    ({"search": "random_walk"}, "search='random_walk' cannot be used. Use search='lbfgs' or None"),
    ({"search": RandomWalk()}, r"search=RandomWalk\(\) cannot be used"),
    ({"search": "gradient_ascent", "criterion": "evidence"}, "search='gradient_ascent' cannot be used"),
    ({"search": GradientAscent(), "criterion": "evidence"}, r"search=GradientAscent\(\) cannot be used"),
    ({"validation_fraction": 0.2}, "have no held-out rows; use validation_fraction=None"),
    ({"probability": "map"}, "probability='map' needs the SVM itself"),
]


@pytest.fixture(params=WAYS)
def way(request, set_policy):
    """Parameters and rows that lead through inducing points, and what the error calls them."""
    if request.param == "automatic":
        set_policy("size", sparse_above=50)
        return {}, X, "a fit of 60 rows"
    if request.param == "dask":
        da = pytest.importorskip("dask.array")
        return {}, da.from_array(X, chunks=(20, 3)), "a fit of a Dask collection"
    return {"inference": "sparse" if request.param == "sparse" else Sparse()}, X, "inference='sparse'"


@pytest.mark.parametrize(("settings", "message"), REFUSED, ids=[str(settings) for settings, _ in REFUSED])
def test_settings_that_cannot_be_honoured(way, settings, message):
    through, rows, why = way
    model = BayesianSVC(**through, **settings)
    with pytest.raises(ValueError, match=message) as caught:
        model.fit(rows, Y)
    if "probability" not in settings:
        assert str(caught.value).startswith(f"{why} goes through inducing points")
    assert not [name for name in vars(model) if name.endswith("_")]


@pytest.mark.parametrize("settings", [{"search": "random_walk"}, {"validation_fraction": 0.2}], ids=str)
def test_a_regression_refuses_them_too(way, settings):
    through, rows, why = way
    with pytest.raises(ValueError, match=f"{why} goes through inducing points"):
        BayesianSVR(**through, **settings).fit(rows, T)


@pytest.mark.parametrize(
    "criterion", ["auto", "evidence", "link_evidence", "loo", Evidence(), LinkEvidence(), LeaveOneOut()], ids=str
)
def test_what_can_be_honoured_is(way, criterion):
    through, rows, _ = way
    model = BayesianSVC(**through, criterion=criterion, search=LBFGS(max_iter=1), n_inducing=10).fit(rows, Y)
    assert model.inference_ == "sparse" and np.all(np.isfinite(model.predict_proba(X)))


def test_few_rows_honour_everything():
    for settings, _ in REFUSED:
        if settings.get("search") == "gradient_ascent" or isinstance(settings.get("search"), GradientAscent):
            settings = {**settings, "search": GradientAscent(max_iter=1)}
        if settings.get("criterion") in ("gacv", "conditional_evidence"):
            settings = {**settings, "search": None}
        assert BayesianSVC(**settings, max_iter=1).fit(X, Y).inference_ == "ep"


def test_a_chosen_inference_never_switches(set_policy):
    """EP() is a choice, "ep" is the default; so is every other name."""
    set_policy("size", sparse_above=50)
    for inference in (EP(), MAP(), "map", "laplace"):
        assert BayesianSVC(inference=inference, search=None).fit(X, Y).posterior_.method != "sparse"
    assert BayesianSVC(search=None, n_inducing=10).fit(X, Y).inference_ == "sparse"
    assert BayesianSVC(search=None).fit(X[:50], Y[:50]).inference_ == "ep"
    kernel = np.exp(-0.5 * ((X[:, None] - X) ** 2).sum(-1))
    assert BayesianSVC("precomputed", search=None).fit(kernel, Y).inference_ == "ep"


def test_a_stream_needs_inducing_points(set_policy):
    set_policy("size", sparse_above=50)
    with pytest.raises(AttributeError, match="partial_fit"):
        _ = BayesianSVC().partial_fit
    assert hasattr(BayesianSVC(inference="sparse"), "partial_fit")
    assert hasattr(BayesianSVR(inference=Sparse()), "partial_fit")
    with pytest.raises(ValueError, match="goes through inducing points"):
        BayesianSVC(inference="sparse", validation_fraction=0.2).partial_fit(X, Y)
