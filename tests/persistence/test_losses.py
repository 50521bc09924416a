"""Every loss that an estimator accepts can be saved, by name and as an object."""

import numpy as np
import pytest
from sklearn.datasets import make_moons

from softmargin import BayesianSVC, BayesianSVR, load, save
from softmargin.likelihoods import LIKELIHOODS

NAMES = sorted(name for name, loss in LIKELIHOODS.items() if "link" not in name)


@pytest.mark.parametrize("as_object", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_a_model_of_every_loss_comes_back(name, as_object, tmp_path):
    X, y = make_moons(30, noise=0.3, random_state=0)
    kind = LIKELIHOODS[name]
    cls, target = (BayesianSVC, y) if kind.is_classifier else (BayesianSVR, X[:, 0])
    model = cls(loss=kind() if as_object else name, max_iter=2).fit(X, target)
    again = load(save(model, tmp_path / "model.skops"))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert type(again.likelihood_) is type(model.likelihood_)
