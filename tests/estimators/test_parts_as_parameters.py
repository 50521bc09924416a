"""Loss, inference, criterion and search as objects: the same as their names, set and cloned like any parameter."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from softmargin import BayesianSVC, BayesianSVR
from softmargin.criteria import Evidence, LeaveOneOut, LinkEvidence, Span
from softmargin.inference import EP, HMC, MAP, MeanField, Sparse, Variational
from softmargin.least_squares import LeastSquares
from softmargin.likelihoods import EpsilonInsensitive, Hinge, Link, Logistic, SquaredHinge
from softmargin.persistence import TRUSTED_TYPES, load, save
from softmargin.sampling import Leapfrog, Schedule
from softmargin.search import LBFGS, SEARCHES, GradientAscent, PaperRule, RandomWalk

from .cases import two_classes

X, Y = two_classes(30)
T = X[:, 0] + 0.1 * Y
SAMPLER = HMC(sampler="paper", n_chains=4, n_warmup=5, n_draws=20, evidence=False, check=False)
CASES = {
    "ep": (BayesianSVC, {"inference": EP(tol=1e-8), "max_iter": 2}),
    "loss": (BayesianSVC, {"loss": Hinge(C=2.0), "search": None}),
    "span": (BayesianSVC, {"criterion": Span(eta=0.5), "search": LBFGS(max_iter=3), "loss": SquaredHinge()}),
    "walk": (BayesianSVC, {"search": RandomWalk(max_iter=2, step=0.2, acceptance=0.48), "criterion": LinkEvidence()}),
    "sampler": (
        BayesianSVC,
        {"inference": SAMPLER, "criterion": Evidence(), "search": GradientAscent(max_iter=2, rule="paper")},
    ),
    # Gold & Sollich 2003, sections 4.2, 4.3 and 5.3.1, with few samples.
    "paper": (
        BayesianSVC,
        {
            "inference": HMC(
                sampler=Leapfrog(step_size=0.05, trajectory=0.5, inverse_C=True),
                reference="prior",
                initial="svm",
                n_chains=2,
                n_warmup=20,
                n_draws=20,
                evidence=False,
                check=False,
            ),
            "criterion": Evidence(),
            "search": GradientAscent(max_iter=2, rule=PaperRule(growth=3.0), linear=("C",)),
        },
    ),
    "least squares": (BayesianSVC, {"loss": LeastSquares()}),
    "mean field": (
        BayesianSVR,
        {"inference": MeanField(order="parallel", adaptive=True), "loss": EpsilonInsensitive(1.0, 0.5), "search": None},
    ),
    "regression": (BayesianSVR, {"inference": Variational(tol=1e-5), "search": LBFGS(max_iter=3)}),
    "noise": (BayesianSVR, {"loss": EpsilonInsensitive(C=5.0, epsilon=0.2), "search": None}),
    "sparse": (BayesianSVR, {"inference": Sparse(), "n_inducing": 10, "search": LBFGS(max_iter=1)}),
}


@pytest.fixture(params=CASES, scope="module")
def fitted(request):
    estimator, settings = CASES[request.param]
    given = estimator(**settings, random_state=0)
    return clone(given).fit(X, Y if estimator is BayesianSVC else T), given


def test_a_clone_a_pickle_and_a_file_agree(fitted, tmp_path):
    model, given = fitted
    again = clone(model).fit(X, Y if isinstance(model, BayesianSVC) else T)
    copies = [again, pickle.loads(pickle.dumps(model)), load(save(model, tmp_path / "model.skops"))]
    for copy in copies:
        assert_array_equal(copy.predict(X), model.predict(X))
        assert repr(copy) == repr(given)
        assert copy.get_params(deep=False).keys() == given.get_params(deep=False).keys()
    for name in ("loss", "inference", "criterion", "search"):
        value = getattr(model, name)
        assert value == getattr(given, name) and (isinstance(value, str | None) or value is not getattr(given, name))


def test_what_is_set_is_used():
    assert BayesianSVC(loss=Hinge(C=2.0), search=None).fit(X, Y).C_ == 2.0
    assert BayesianSVC(loss=Hinge(C=2.0), C=3.0, search=None).fit(X, Y).C_ == 3.0
    start = BayesianSVC(loss=Hinge(C=2.0), max_iter=1).fit(X, Y).search_path_[0]
    assert start["C"] == pytest.approx(2.0)
    noise = BayesianSVR(loss=EpsilonInsensitive(C=5.0, epsilon=0.2), search=None).fit(X, T)
    assert (noise.C_, noise.epsilon_) == (pytest.approx(5.0), pytest.approx(0.2))
    rough, fine = (BayesianSVC(inference=EP(tol=tol), search=None).fit(X, Y).posterior_ for tol in (1e-1, 1e-10))
    assert rough.n_iter < fine.n_iter
    sampled = BayesianSVC(inference=SAMPLER, search=None).fit(X, Y).posterior_
    assert sampled.draws.f.shape[:2] == (20, 4)
    assert len(BayesianSVC(search=RandomWalk(max_iter=1), criterion="loo").fit(X, Y).search_path_) <= 1 + 6
    # A search given as an object has its own cap, not the estimator's.
    short, long = (BayesianSVC(search=LBFGS(max_iter=n), max_iter=50).fit(X, Y).n_iter_ for n in (1, 30))
    assert short < long


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("ep", {"inference": EP()}),
        ("variational", {"inference": Variational()}),
        ("lbfgs", {"search": LBFGS(max_iter=60, tol=BayesianSVC().tol)}),
        ("squared_hinge", {"loss": SquaredHinge()}),
        ("loo", {"criterion": LeaveOneOut()}),
    ],
)
def test_a_default_object_is_its_name(name, settings):
    [(parameter, part)] = settings.items()
    named, given = (BayesianSVC(**{parameter: value}, stack=False).fit(X, Y) for value in (name, part))
    assert_array_equal(given.predict_proba(X), named.predict_proba(X))
    assert given.search_path_ == named.search_path_


def test_nested_parameters_can_be_read_and_set():
    model = BayesianSVC(inference=EP(tol=1e-8), search=LBFGS(), criterion=Span(), loss=Hinge())
    params = model.get_params()
    assert params["inference__tol"] == 1e-8 and params["search__max_iter"] == 60 and params["loss__C"] == 1.0
    other = clone(model)
    other.set_params(inference__tol=1e-5, search__max_iter=3, criterion__eta=0.25, loss__C=4.0)
    assert (other.inference, other.search) == (EP(tol=1e-5), LBFGS(max_iter=3))
    assert other.criterion == Span(eta=0.25) and other.loss == Hinge(C=4.0)
    assert model.inference == EP(tol=1e-8) and model.search == LBFGS()
    sampler = BayesianSVR(inference=HMC()).set_params(inference__schedule__n_moves=5)
    assert sampler.inference == HMC(schedule=Schedule(n_moves=5))
    with pytest.raises(ValueError, match="invalid parameter 'tool' for EP"):
        model.set_params(inference__tool=1)
    with pytest.raises(ValueError, match="unknown rule 'newton'"):
        BayesianSVC(search=GradientAscent()).set_params(search__rule="newton")


def test_a_grid_reaches_into_parts():
    grid = GridSearchCV(
        BayesianSVC(loss=Hinge(), search=None), {"loss__C": [0.5, 5.0], "inference": [EP(), MAP()]}, cv=2
    ).fit(X, Y)
    assert {p["loss__C"] for p in grid.cv_results_["params"]} == {0.5, 5.0}
    assert grid.best_estimator_.C_ in (0.5, 5.0)


def test_repr_shows_what_was_set():
    model = BayesianSVC(inference=EP(tol=1e-8), search=LBFGS(max_iter=3), criterion=Span(eta=0.5), loss=Hinge(C=2.0))
    assert "".join(repr(model).split()) == (
        "BayesianSVC(criterion=Span(eta=0.5),inference=EP(tol=1e-08),loss=Hinge(C=2.0),search=LBFGS(max_iter=3))"
    )
    assert repr(GradientAscent(rule="paper")) == "GradientAscent(rule='paper')" and repr(RandomWalk()) == "RandomWalk()"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"inference": EP}, r"inference=EP is a class; give an object, EP\(\), or a name"),
        ({"search": LBFGS}, r"search=LBFGS is a class; give an object, LBFGS\(\), or a name"),
        ({"criterion": Span}, r"criterion=Span is a class; give an object, Span\(\), or a name"),
        ({"loss": Hinge}, r"loss=Hinge is a class; give an object, Hinge\(\), or a name"),
        ({"inference": "vb"}, r"inference='vb' is not allowed; choose one of 'ep'.*'sparse', 'variational'"),
        ({"search": "grid"}, r"search='grid' is not allowed; choose one of None, 'gradient_ascent', 'lbfgs'"),
        ({"criterion": "cv"}, r"criterion='cv' is not allowed; choose one of 'auto', "),
        ({"inference": 3}, r"inference=3 is not allowed; choose one of"),
        ({"criterion": None}, r"criterion=None is not allowed; choose one of 'auto'"),
        ({"inference": Hinge()}, r"inference=Hinge\(C=1.0\) is not allowed"),
        ({"search": EP()}, r"search=EP\(\) is not allowed"),
        ({"criterion": EP()}, r"criterion=EP\(\) is not allowed"),
        ({"loss": EP()}, r"loss=EP\(\) is not allowed"),
    ],
    ids=str,
)
@pytest.mark.parametrize("estimator", [BayesianSVC, BayesianSVR])
def test_what_is_no_part_is_refused(estimator, settings, message):
    with pytest.raises(ValueError, match=message):
        estimator(**settings).fit(X, Y)


def test_parts_of_the_other_kind_of_target_are_refused():
    with pytest.raises(
        ValueError, match="no loss of a support vector machine for classes; choose one of 'hinge', 'least"
    ):
        BayesianSVC(loss=EpsilonInsensitive()).fit(X, Y)
    with pytest.raises(ValueError, match="no loss of a support vector machine for numbers; choose one of 'epsilon_i"):
        BayesianSVR(loss=Logistic()).fit(X, T)
    with pytest.raises(ValueError, match=r"loss=Link\(C=1.0\) is no loss of a support vector machine for numbers"):
        BayesianSVR(loss=Link()).fit(X, T)
    with pytest.raises(ValueError, match="criterion='span' is not allowed; choose one of 'auto', 'evidence'"):
        BayesianSVR(criterion="span").fit(X, T)
    with pytest.raises(
        ValueError, match=r"criterion=Span\(\) is defined for classes only; choose one of 'auto', 'evidence', "
    ):
        BayesianSVR(criterion=Span()).fit(X, T)


def test_a_search_without_the_gradient_that_it_needs_is_refused():
    for search, criterion in (("lbfgs", "gacv"), (LBFGS(), "gacv"), (GradientAscent(), "gacv")):
        with pytest.raises(ValueError, match="use search='random_walk'"):
            BayesianSVC(search=search, criterion=criterion).fit(X, Y)


def test_every_registered_search_can_be_saved():
    assert {f"{part.__module__}.{part.__qualname__}" for part in SEARCHES.values()} <= set(TRUSTED_TYPES)


def test_the_given_objects_are_not_changed():
    parts = {"inference": EP(tol=1e-8), "criterion": LeaveOneOut(), "search": LBFGS(max_iter=2), "loss": Hinge(C=2.0)}
    model = BayesianSVC(**parts).fit(X, Y)
    assert all(getattr(model, name) is part for name, part in parts.items())
    assert parts["loss"] == Hinge(C=2.0) and model.C_ != 2.0 and np.isfinite(model.C_)
