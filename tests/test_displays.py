"""Every display draws with the attributes that scikit-learn's displays have, and its numbers are right."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from softmargin import BayesianSVC, BayesianSVR
from softmargin.displays import (
    CoverageDisplay,
    EvidenceSurfaceDisplay,
    IntervalDisplay,
    LatentDisplay,
    MarginDisplay,
    PriorSampleDisplay,
    RelevanceDisplay,
    SearchPathDisplay,
)


@pytest.fixture(scope="module")
def classes():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(50, 2)), columns=["a", "b"])
    y = np.where(X["a"] + 0.5 * rng.normal(size=50) > 0, "up", "down")
    return X, y, BayesianSVC(max_iter=8).fit(X, y)


@pytest.fixture(scope="module")
def numbers():
    rng = np.random.default_rng(1)
    X = np.sort(rng.uniform(-3, 3, size=(50, 1)), axis=0)
    y = 100 + 50 * np.sin(X[:, 0]) + 5 * rng.normal(size=50)
    return X, y, BayesianSVR(max_iter=8).fit(X, y)


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def every_display(classes, numbers):
    X, y, svc = classes
    U, v, svr = numbers
    return {
        "surface": lambda ax: EvidenceSurfaceDisplay.from_estimator(svc, resolution=3, ax=ax),
        "surface of a regressor": lambda ax: EvidenceSurfaceDisplay.from_estimator(svr, resolution=3, ax=ax),
        "relevance": lambda ax: RelevanceDisplay.from_estimator(svc, ax=ax),
        "path": lambda ax: SearchPathDisplay.from_estimator(svc, ax=ax),
        "latent line": lambda ax: LatentDisplay.from_estimator(svc, X, y, ax=ax),
        "latent plane": lambda ax: LatentDisplay.from_estimator(svc, X, y, features=(0, 1), resolution=10, ax=ax),
        "latent of a regressor": lambda ax: LatentDisplay.from_estimator(svr, U, v, ax=ax),
        "interval": lambda ax: IntervalDisplay.from_estimator(svr, U, v, ax=ax),
        "coverage": lambda ax: CoverageDisplay.from_estimator(svr, U, v, ax=ax),
        "prior": lambda ax: PriorSampleDisplay.from_estimator(svc, X, ax=ax),
        "prior of a regressor": lambda ax: PriorSampleDisplay.from_estimator(svr, U, ax=ax),
        "margin": lambda ax: MarginDisplay.from_estimator(svc, ax=ax),
    }


def test_displays_draw_where_they_are_told(classes, numbers):
    for name, draw in every_display(classes, numbers).items():
        ax = Figure().subplots()
        display = draw(ax)
        assert display.ax_ is ax and display.figure_ is ax.figure, name
        assert ax.get_xlabel(), name
        ax.figure.savefig("/dev/null", format="png")


def test_displays_make_their_own_axes(classes, numbers):
    for name, draw in every_display(classes, numbers).items():
        display = draw(None)
        again = Figure().subplots()
        assert display.plot(again).ax_ is again, name
        plt.close("all")


def test_surface_has_the_evidence_at_the_learnt_point(classes, numbers):
    for *_, model in (classes, numbers):
        surface = EvidenceSurfaceDisplay.from_estimator(model, resolution=3, ax=Figure().subplots())
        assert surface.C[1] == pytest.approx(model.C_) and surface.learnt[0] == pytest.approx(model.C_)
        # The middle of the grid is the learnt point itself.
        assert surface.value[1, 1] == pytest.approx(model.log_evidence_, rel=1e-4)


def test_surface_of_a_regressor_is_highest_where_it_was_learnt(numbers):
    surface = EvidenceSurfaceDisplay.from_estimator(numbers[2], resolution=3, ax=Figure().subplots())
    assert surface.value.argmax() == 4


def test_latent_is_the_estimators(classes):
    X, y, model = classes
    display = LatentDisplay.from_estimator(model, X, y, features=(1,), resolution=5, ax=Figure().subplots())
    points = np.column_stack([np.full(5, X["a"].median()), display.axes[0]])
    np.testing.assert_allclose(
        display.mean, model.latent_mean_and_variance(pd.DataFrame(points, columns=["a", "b"]))[0]
    )


def test_latent_takes_the_names_of_inputs(classes):
    X, y, model = classes
    by_name, by_number = (
        LatentDisplay.from_estimator(model, X, y, features=f, resolution=5, ax=Figure().subplots())
        for f in (("b", "a"), (1, 0))
    )
    assert by_name.names == by_number.names == ("b", "a")
    np.testing.assert_array_equal(by_name.mean, by_number.mean)
    np.testing.assert_array_equal(by_name.points, X[["b", "a"]])


def test_margins_and_path(classes):
    _, _, model = classes
    display = MarginDisplay.from_estimator(model, ax=Figure().subplots())
    assert np.sort(display.margins) == pytest.approx(np.sort(model.margins_))
    path = SearchPathDisplay.from_estimator(model, ax=Figure().subplots())
    assert path.objective.max() == max(row["objective"] for row in model.search_path_)
    assert {line.get_label() for line in path.ax_.lines} >= {"link evidence"}


def test_prior_samples_have_the_prior_variance(numbers):
    X, _, model = numbers
    display = PriorSampleDisplay.from_estimator(model, X, n_samples=4000, resolution=3, ax=Figure().subplots())
    expected = model.members_[0].predictive.smooth.kernel.diag(np.zeros((1, 1)))[0] * model.y_scale_**2
    # The relative standard error of a variance from 4000 draws is sqrt(2/4000) = 2.2 %; five of them.
    assert display.samples[0].var() == pytest.approx(expected, rel=0.12)


def test_coverage_counts(numbers):
    display = CoverageDisplay.from_predictions(np.array([0.5, 0.5, 0.0, 1.0]), ax=Figure().subplots())
    assert display.coverage[display.level > 0.5][0] == 0.5
    X, y, model = numbers
    curve = CoverageDisplay.from_estimator(model, X, y, ax=Figure().subplots()).coverage
    assert (np.diff(curve) >= 0).all() and curve[-1] > 0.9


def test_more_than_two_classes():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 2)), np.arange(30) % 3
    model = BayesianSVC(max_iter=2, multi_class="ovo").fit(X, y)
    for pair in range(3):
        assert LatentDisplay.from_estimator(model, X, y, pair=pair, ax=Figure().subplots()).classes is None
        assert len(SearchPathDisplay.from_estimator(model, pair=pair, ax=Figure().subplots()).objective) > 0
    with pytest.raises(ValueError, match="pair=3"):
        MarginDisplay.from_estimator(model, pair=3)


def test_names_that_would_break_a_figure(classes):
    display = RelevanceDisplay(np.array([1.0, 0.5]), ["$\\frac{", "x" * 10**6]).plot(Figure().subplots())
    display.figure_.savefig("/dev/null", format="png")
    assert max(len(t.get_text()) for t in display.ax_.get_yticklabels()) < 40


def test_clear_errors(classes, numbers):
    X, y, svc = classes
    svr = numbers[2]
    with pytest.raises(ValueError, match="no length scales"):
        RelevanceDisplay.from_estimator(BayesianSVC("linear", C=1.0, search=None).fit(X, y))
    with pytest.raises(ValueError, match="no search"):
        SearchPathDisplay.from_estimator(BayesianSVC(C=1.0, search=None).fit(X, y))
    with pytest.raises(ValueError, match="classifiers"):
        MarginDisplay.from_estimator(svr)
    with pytest.raises(ValueError, match="regressors"):
        IntervalDisplay.from_estimator(svc, X)
    with pytest.raises(ValueError, match="one or two"):
        LatentDisplay.from_estimator(svc, X, features=(0, 1, 1))
    with pytest.raises(ValueError, match="between 0 and 1"):
        LatentDisplay.from_estimator(svc, X, features=(5,))
    with pytest.raises(ValueError, match="no input 'c'; choose from 'a', 'b'"):
        LatentDisplay.from_estimator(svc, X, features=("c",))
    with pytest.raises(Exception, match="not fitted"):
        MarginDisplay.from_estimator(BayesianSVC())
