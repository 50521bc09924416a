"""Comparing criteria and models, and ensembles of trials."""

from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.datasets import make_moons
from sklearn.gaussian_process.kernels import ConstantKernel, DotProduct

import softmargin
from softmargin.comparison import (
    BaggedSelection,
    CriteriaComparisonDisplay,
    choose_C,
    compare_criteria,
    compare_models,
    criterion_estimator,
)
from softmargin.criteria import Problem, kwok_levels
from softmargin.inference import MAP
from softmargin.likelihoods import Hinge


@pytest.fixture(scope="module")
def moons():
    return make_moons(80, noise=0.2, random_state=0)


@pytest.fixture(scope="module")
def comparison(moons):
    X, y = moons
    criteria = {
        "GACV": criterion_estimator("gacv", "rbf", max_iter=8),
        "evidence": criterion_estimator("evidence", "rbf", max_iter=8),
    }
    return compare_criteria(X, y, criteria, n_trials=3, random_state=0)


@pytest.mark.parametrize("max_samples", [20, 0.5])
def test_trials_can_see_random_subsets(moons, max_samples):
    X, y = moons
    base = softmargin.BayesianSVC(search=None, inference="map")
    bag = BaggedSelection(base, n_trials=3, max_samples=max_samples, random_state=0).fit(X, y)
    rows = [model.support_vectors_ for model in bag.estimators_]
    wanted = max_samples if max_samples > 1 else max_samples * len(y)
    assert all(sum(model.n_support_) <= wanted + 1 for model in bag.estimators_)
    assert not any(a.shape == b.shape and np.array_equal(a, b) for a, b in pairwise(rows))
    assert bag.predict_proba(X).shape == (len(y), 2)
    again = BaggedSelection(base, n_trials=3, max_samples=max_samples, random_state=0).fit(X, y)
    np.testing.assert_array_equal(again.predict_proba(X), bag.predict_proba(X))


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"max_samples": 1.5}, "max_samples=1.5"), ({"max_samples": 5, "combine": "evidence"}, "same rows")],
)
def test_wrong_subsets_are_named(moons, settings, message):
    with pytest.raises(ValueError, match=message):
        BaggedSelection(n_trials=2, **settings).fit(*moons)


def test_comparison_of_criteria_is_tidy(comparison):
    frame = comparison.to_frame()
    assert len(frame) == 6
    assert set(frame["label"]) == {"GACV", "evidence"}
    summary = comparison.summary()
    assert [row["criterion"] for row in summary] == ["GACV", "evidence"]
    for row in summary:
        errors = frame.loc[frame["label"] == row["criterion"], "test_error"]
        assert row["mean_error"] == pytest.approx(errors.mean())
        assert row["sd_error"] == pytest.approx(errors.std())
        assert row["best_error"] == errors.min()
        assert 0 <= row["best_error"] < 0.5


def test_trials_differ_and_repeat(moons, comparison):
    ends = [trial.criterion for trial in comparison.trials if trial.label == "GACV"]
    assert len(set(ends)) == 3
    again = compare_criteria(
        *moons, {"GACV": criterion_estimator("gacv", "rbf", max_iter=8)}, n_trials=3, random_state=0
    )
    assert [trial.criterion for trial in again.trials] == ends


def test_display_draws_histograms_and_traces(comparison):
    display = CriteriaComparisonDisplay.from_comparison(comparison)
    assert len(display.axes_) == 2
    display.plot_traces("GACV", 1)
    assert len(display.axes_) > 2
    plt.close("all")


@pytest.mark.parametrize("combine", ["average", "evidence", "vote"])
def test_bagged_selection(moons, combine):
    X, y = moons
    names = np.array(["no", "yes"])[y]
    base = criterion_estimator("gacv", "rbf", max_iter=5, inference="laplace")
    bag = BaggedSelection(base, n_trials=3, combine=combine, random_state=0).fit(X, names)
    assert set(bag.predict(X)) == {"no", "yes"}
    assert bag.score(X, names) > 0.85
    single = [model.predict(X) for model in bag.estimators_]
    if combine == "vote":
        assert not hasattr(bag, "predict_proba")
        assert np.array_equal(bag.predict(X) == "yes", np.mean(single, axis=0) > 0.5)
    else:
        expected = np.average([model.predict_proba(X) for model in bag.estimators_], axis=0, weights=bag.weights_)
        assert np.allclose(bag.predict_proba(X), expected)
    if combine == "evidence":
        evidence = np.array([model.log_evidence_ for model in bag.estimators_])
        assert np.allclose(np.diff(np.log(bag.weights_)), np.diff(evidence), atol=1e-6)


def test_bagged_selection_refuses_an_unknown_rule(moons):
    with pytest.raises(ValueError, match="combine='best' is not allowed"):
        BaggedSelection(combine="best").fit(*moons)


def polynomial(degree):
    """(1 + x'x')^degree, nothing to learn."""
    return (ConstantKernel(1.0, "fixed") * DotProduct(1.0, "fixed")) ** degree


def test_models_are_ranked_in_nats(moons):
    X, y = moons
    result = compare_models(
        X, np.array(["a", "b"])[y], {f"degree {d}": polynomial(d) for d in (1, 3)}, evidence=("kwok", "laplace", "ep")
    )
    assert len(result.to_frame()) == 6
    for evidence in ("kwok", "laplace", "ep"):
        factors = result.log_bayes_factors(evidence)
        assert result.best(evidence) == "degree 3"
        assert factors["degree 3"] == 0
        rows = {row["kernel"]: row["log_evidence"] for row in result.table if row["evidence"] == evidence}
        assert factors["degree 1"] == pytest.approx(rows["degree 1"] - rows["degree 3"])
    with pytest.raises(ValueError, match="no kernel was compared"):
        result.best("variational")


def test_models_errors_name_the_options(moons):
    X, y = moons
    with pytest.raises(ValueError, match="unknown evidence 'bic'"):
        compare_models(X, y, ["rbf"], evidence=["bic"])
    with pytest.raises(ValueError, match="two classes; y has 3"):
        compare_models(X, np.arange(len(y)) % 3, ["rbf"])


def test_learning_everything_is_at_least_as_good(moons):
    X, y = moons
    few, all_ = (compare_models(X, y, ["rbf"], evidence=["ep"], learn=learn).table[0] for learn in ("C", "all"))
    assert all_["log_evidence"] > few["log_evidence"]


def test_direct_choice_of_C_is_the_maximum_and_the_fixed_point_is_fixed(moons):
    X, y = moons
    K, labels = (1 + X @ X.T) ** 3, np.where(y == 1, 1.0, -1.0)

    def level_2(C):
        posterior = MAP(tol=1e-10).infer(K, labels, Hinge(C))
        return kwok_levels(posterior, Problem(K, labels, Hinge(C)))

    direct = choose_C(K, labels)
    assert all(direct.level_2 >= level_2(C).level_2 - 1e-6 for C in np.logspace(-3, 3, 40))
    fixed = choose_C(K, labels, method="fixed_point")
    assert level_2(fixed.C).next_C == pytest.approx(fixed.C, rel=1e-3)


def test_public_names():
    assert softmargin.compare_models is compare_models
    assert softmargin.compare_criteria is compare_criteria
    assert softmargin.BaggedSelection is BaggedSelection


def test_a_search_by_gradients_starts_where_it_is_told():
    starts = []

    def draw(kernel, rng):
        starts.append(kernel.clone_with_theta(rng.uniform(-1, 1, len(kernel.theta))))
        return starts[-1]

    X, y = make_moons(40, noise=0.2, random_state=0)
    result = compare_criteria(X, y, ["loo", "gacv"], n_trials=2, kernel="rbf", draw=draw, random_state=0)
    firsts = [trial.path[0] for trial in result.trials if trial.label == "loo"]
    # The random walk of GACV draws nothing: its start is the paper's.
    assert len(starts) == 2
    assert [first["amplitude"] for first in firsts] == pytest.approx([np.exp(kernel.theta[0]) for kernel in starts])
