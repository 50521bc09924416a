"""The most probable class without variances: the same as by the probabilities, in every composition."""

import numpy as np
import pytest
from sklearn.datasets import make_moons

from softmargin import BayesianSVC
from softmargin.tuning import LatentModel


@pytest.fixture(scope="module")
def rows():
    X, y = make_moons(120, noise=0.3, random_state=0)
    return X, y, np.random.default_rng(1).uniform(-2, 3, size=(3000, 2))


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"stack": False},
        {"stack": False, "probability": "mean"},
        {"stack": False, "probability": "map"},
        {"class_weight": {0: 1.0, 1: 9.0}},
        {"inference": "laplace"},
        {"loss": "probit"},
        {"loss": "least_squares"},
        {"inference": "sparse", "n_inducing": 40},
    ],
    ids=str,
)
def test_predict_is_the_most_probable_class(settings, rows):
    X, y, new = rows
    model = BayesianSVC(**settings, random_state=0).fit(X, y)
    p = model.predict_proba(new)
    np.testing.assert_array_equal(model.predict(new), model.classes_[p.argmax(axis=1)])
    assert 0.05 < model.predict(new).mean() < 0.95


def test_rows_on_which_all_members_agree_need_no_variance(rows, monkeypatch):
    X, y, new = rows
    model, asked = BayesianSVC().fit(X, y), []
    original = LatentModel.log_odds
    monkeypatch.setattr(
        LatentModel, "log_odds", lambda self, X, probability: asked.append(len(X)) or original(self, X, probability)
    )
    model.predict(new)
    assert sum(asked) < 0.2 * len(new)
