"""The normalised class probability as the loss of a classifier: Sollich 2002, eqs. 11 and 33."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from softmargin import BayesianSVC
from softmargin.evidence import log_evidence
from softmargin.likelihoods import Link, SquaredLink

from .cases import three_classes, two_classes

KERNEL = ConstantKernel(2.0, "fixed") * RBF(1.0, "fixed")
ROWS, LABELS = np.array([[0.0], [0.4], [1.0], [1.5]]), np.array([1, 1, -1, 1])
NEW = np.array([[-0.5], [0.7], [2.0]])


def by_draws(likelihood, n_draws=400_000):
    """P(+1 | x) at the new rows, averaged over draws from the prior with the likelihood as their weight."""
    K = KERNEL(np.vstack([ROWS, NEW]))
    f = np.random.default_rng(0).standard_normal((n_draws, 7)) @ np.linalg.cholesky(K + 1e-12 * np.eye(7)).T
    weight = np.exp(sum(likelihood.log_prob(np.full(n_draws, float(y)), f[:, i]) for i, y in enumerate(LABELS)))
    return [np.average(likelihood.prob(1.0, f[:, 4 + j]), weights=weight) for j in range(3)]


@pytest.mark.parametrize("likelihood", [Link(0.5), Link(5.0), SquaredLink(2.0)], ids=str)
def test_evidence_and_probabilities_of_four_rows_are_those_of_brute_force(likelihood):
    model = BayesianSVC(KERNEL, loss=likelihood, search=None).fit(ROWS, LABELS)
    exact = log_evidence(KERNEL(ROWS), LABELS, loss=likelihood, method="exact").value
    # What EP lacks on so few rows; the draws' own error is below 0.003.
    assert model.log_evidence_ == pytest.approx(exact, abs=0.03)
    assert_allclose(model.predict_proba(NEW)[:, 1], by_draws(likelihood), atol=0.01)


def test_normalised_evidences_are_the_naive_one():
    model = BayesianSVC(KERNEL, loss="link", search=None).fit(ROWS, LABELS)
    assert {model.log_evidence(kind) for kind in ("naive", "conditional", "joint")} == {model.log_evidence_}


@pytest.mark.parametrize("inference", ["ep", "laplace", "variational", "map"])
@pytest.mark.parametrize("loss", ["link", "squared_link"])
def test_every_inference_learns_it(loss, inference):
    X, y = two_classes(30)
    model = BayesianSVC(loss=loss, inference=inference, criterion="evidence", max_iter=5).fit(X, y)
    assert model.likelihood_ == type(model.likelihood_)(model.C_) and model.likelihood_.name == loss
    assert model.score(X, y) > 0.8 and len({row["C"] for row in model.search_path_}) > 1


def test_its_evidence_search_is_the_link_evidence_of_the_hinge():
    X, y = two_classes(30)
    link = BayesianSVC(loss="link", criterion="evidence").fit(X, y)
    hinge = BayesianSVC(loss="hinge", criterion="link_evidence").fit(X, y)
    assert_allclose(link.C_, hinge.C_, rtol=1e-3)
    assert_allclose(link.kernel_.theta, hinge.kernel_.theta, atol=1e-3)


def test_many_rows_inducing_points_and_classes():
    X, y = two_classes(510)
    for settings in ({}, {"inference": "sparse", "n_inducing": 40}):
        assert BayesianSVC(loss="link", max_iter=3, random_state=0, **settings).fit(X, y).score(X, y) > 0.75
    X, y = three_classes()
    model = BayesianSVC(loss="link", max_iter=3).fit(X, y)
    assert model.predict_proba(X).shape == (60, 3)
    assert_array_equal(model.predict(X), np.argmax(model.predict_proba(X), axis=1))


@pytest.mark.parametrize("C", [1e-6, 300.0, 1e3, 1e6])
@pytest.mark.parametrize("loss", ["link", "squared_link"])
def test_laplace_bears_a_kink_that_underflows(loss, C):
    # The jump of the link's slope at the margin is C sigmoid(-2 C): zero in double precision above C = 372.
    X, y = two_classes(12)
    model = BayesianSVC(loss=loss, C=C, inference="laplace", criterion="evidence", max_iter=2).fit(X, y)
    assert np.isfinite(model.log_evidence_) and np.all(np.isfinite(model.predict_proba(X)))


@pytest.mark.filterwarnings("ignore:Newton's method did not converge")
def test_a_singular_newton_step_is_left_out():
    # Far inputs and a power of their kernel: one function of amplitude 1e24 in effect, whose I + T K has no inverse.
    rng = np.random.default_rng(52829)
    X, y = 1e6 + rng.standard_normal((8, 1)), np.tile([0, 1], 4)
    kernel = ConstantKernel(1e24) * RBF(1e6)
    for C in (1e-2, 1e-3, 1e-4):
        model = BayesianSVC(kernel, loss="squared_link", inference="map", C=C, search=None).fit(X, y)
        assert np.all(np.isfinite(model.predict_proba(X)))
