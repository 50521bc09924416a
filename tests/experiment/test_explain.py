"""What the report says of columns and classes, against counts and averages by hand."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from softmargin.experiment import (
    OURS,
    class_figures,
    column_importances,
    confusion,
    effects,
    fit_experiment,
    measure,
    rankings,
    support_count,
    thresholds,
)
from softmargin.tables import importance_by_column, read_table

RNG = np.random.default_rng(0)


def frame(n=90):
    table = pd.DataFrame({"x": RNG.normal(size=n), "noise": RNG.normal(size=n), "town": RNG.choice(["a", "b"], n)})
    table["number"] = 2 * table["x"] + (table["town"] == "b") + 0.2 * RNG.normal(size=n)
    table["class"] = np.where(table["number"] > 0.5, "up", "down")
    return table


@pytest.fixture(scope="module", params=["class", "number"])
def experiment(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("d") / "d.csv"
    other = {"class": "number", "number": "class"}[request.param]
    frame().drop(columns=other).to_csv(path, index=False)
    regression = request.param == "number"
    table = read_table(str(path), request.param, regression=regression)
    return measure(fit_experiment(table, regression=regression, max_iter=8), against_baseline=False)


def test_columns_are_ranked_by_importance(experiment):
    found = column_importances(experiment)
    assert found[0].name == "x" and found[-1].name == "noise"
    assert sum(entry.importance for entry in found) == pytest.approx(1)
    assert {entry.name: entry.importance for entry in found} == importance_by_column(experiment.model)
    rises = {entry.name: entry for entry in found}
    # Shuffling the column that matters hurts by far more than its error, shuffling noise does not.
    assert rises["x"].rise > 5 * rises["x"].error and rises["x"].rise > 0.3
    assert abs(rises["noise"].rise) < max(4 * rises["noise"].error, 0.1)


def test_effects_are_averages_of_predictions(experiment):
    curves = {effect.name: effect for effect in effects(experiment, column_importances(experiment))}
    effect = curves["x"]
    (curve,) = effect.curves.values()
    assert effect.is_number and np.all(np.diff(curve) > -0.02) and curve[-1] - curve[0] > 0.5
    ((lower, upper),) = effect.bands.values()
    assert np.all(lower < curve) and np.all(curve < upper)
    assert np.ptp(next(iter(curves["noise"].curves.values()))) < 0.2 * np.ptp(curve)
    town = curves["town"]
    assert sorted(town.values) == ["a", "b"] and not town.is_number
    # By hand: training rows in the order of the seed, the column set to a value.
    rows = experiment.table.X.iloc[experiment.train]
    rows = rows.iloc[np.sort(np.random.RandomState(0).permutation(len(rows))[:60])].assign(town="a")
    said = experiment.model.predict(rows) if experiment.regression else experiment.model.predict_proba(rows)[:, 1]
    assert next(iter(town.curves.values()))[town.values.index("a")] == pytest.approx(said.mean())


def test_nothing_is_shuffled_without_held_out_rows(experiment):
    found = column_importances(replace(experiment, test=experiment.test[:0]))
    assert all(entry.rise is None for entry in found)


def test_classes_are_counted(experiment):
    if experiment.regression:
        return
    p, truth = experiment.predictions[OURS], experiment.truth
    said = p.argmax(axis=1)
    table = confusion(experiment)
    assert table.sum() == len(truth) and table[0, 1] == np.sum((truth == 0) & (said == 1))
    up = class_figures(experiment)[1]
    assert up.name == "up" and up.rows == np.sum(truth == 1)
    assert up.recall == pytest.approx(np.mean(said[truth == 1] == 1))
    assert up.precision == pytest.approx(np.mean(truth[said == 1] == 1))
    assert up.log_loss == pytest.approx(-np.log(p[truth == 1, 1]).mean())


def test_thresholds_minimise_the_expected_cost(experiment):
    if experiment.regression:
        return
    p, truth = experiment.predictions[OURS][:, 1], experiment.truth
    for entry in thresholds(experiment):
        # At the threshold silence and a false alarm cost the same.
        assert entry.cost * entry.probability == pytest.approx(1 - entry.probability)
        assert entry.misses == np.sum((truth == 1) & (p < entry.probability))
        assert entry.false_alarms == np.sum((truth == 0) & (p >= entry.probability))
    three = replace(experiment, predictions={OURS: np.full((len(truth), 3), 1 / 3)})
    assert thresholds(three) == []


@pytest.fixture(scope="module")
def joint(tmp_path_factory):
    table = frame().drop(columns="class").assign(grade=lambda t: pd.cut(t["number"], 3, labels=["low", "mid", "top"]))
    path = tmp_path_factory.mktemp("d") / "d.csv"
    table.drop(columns="number").to_csv(path, index=False)
    return measure(fit_experiment(read_table(str(path), "grade"), max_iter=8), against_baseline=False)


def test_a_joint_machine_is_described_without_fitting_pairs(joint):
    fitted = joint.model._fit
    learnt = joint.summary()["learnt"]
    assert "Matern" in learnt["kernel"] and learnt["noise_std"] > 0 and "C" not in learnt
    assert support_count(joint.model) is None
    effects(joint, column_importances(joint))
    rankings(joint)
    assert "hinge" not in vars(fitted)


def test_effects_of_several_classes_have_bands(joint):
    effect = effects(joint, column_importances(joint))[0]
    assert effect.name == "x" and list(effect.bands) == list(effect.curves) == ["low", "mid", "top"]
    for name, curve in effect.curves.items():
        lower, upper = effect.bands[name]
        assert np.all((lower > 0) & (lower < curve) & (curve < upper) & (upper < 1))
    assert_allclose(sum(effect.curves.values()), 1)
