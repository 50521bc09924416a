"""The stack of a classifier: weights, warp, and how its members combine."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.sparse import csr_array
from scipy.special import softmax
from scipy.stats import norm, rankdata

from softmargin import BayesianSVC
from softmargin.machines import Warp, stacking_weights
from softmargin.machines.classification import Member, Stack


@pytest.mark.parametrize("count", [1.0, 10.0])
def test_weights_maximise_the_penalised_score(count):
    rng = np.random.default_rng(0)
    log_p, weight = np.log(rng.uniform(0.05, 1, (40, 3))), rng.choice([1.0, 2.0], 40)

    def loss(u):
        w = softmax(u)
        return -(weight @ np.log(np.exp(log_p) @ w)) - count * np.log(w).sum()

    best = softmax(minimize(loss, np.zeros(3), tol=1e-10).x)
    np.testing.assert_allclose(stacking_weights(log_p, weight, count), best, atol=1e-4)


def test_weights_of_machines_that_hardly_differ():
    """The score is nearly flat, yet its maximum is found: n weights of one machine against pseudo-counts."""
    log_p = np.tile(np.log([0.5, 0.499]), (100_000, 1))
    w = stacking_weights(log_p, np.ones(100_000), 1.0)
    # d/dw [n ln(0.499 + 0.001 w) + ln w + ln(1 - w)] = 0
    assert abs(100_000 * 0.001 / (0.499 + 0.001 * w[0]) + 1 / w[0] - 1 / (1 - w[0])) < 1e-2
    certain = stacking_weights(np.log([[0.9, 1e-300], [1e-300, 0.2]]), np.array([30.0, 10.0]), 1e-3)
    np.testing.assert_allclose(certain, [0.75, 0.25], atol=1e-3)


def test_many_rows_decide_for_themselves():
    """A machine that is worse by .02 nats on every row keeps little weight where there are many of them."""
    better, worse = np.log([[0.7, 0.3]]), np.log([[0.686, 0.314]])
    shares = []
    for n in (100, 800, 20_000):
        tables = [np.tile(log_p, (n, 1)) for log_p in (better, worse)]
        shares.append(Stack.of([Member("a", None), Member("b", None)], tables, np.zeros(n, int), np.ones(n)).weights[1])
    assert shares[0] > shares[1] > 0.3 > 0.01 > shares[2]


@pytest.mark.parametrize("count", [1e-17, 0.0])
def test_machines_that_agree_get_equal_weights_whatever_the_weights_of_the_rows(count):
    log_p = np.log(np.tile(np.array([[0.9], [0.2], [0.6]]), 3))
    # The score does not depend on the weights: rounding alone moves them.
    np.testing.assert_allclose(stacking_weights(log_p, np.full(3, 1e12), count), 1 / 3, rtol=1e-3)


def test_warp_gives_normal_scores_to_skewed_columns_alone():
    rng = np.random.default_rng(1)
    X = np.column_stack([rng.normal(size=60), np.exp(2 * rng.normal(size=60)), np.arange(60) % 2])
    warp = Warp.of(X, np.ones(60))
    warped = warp(X)
    np.testing.assert_array_equal(warped[:, [0, 2]], X[:, [0, 2]])
    np.testing.assert_allclose(warped[:, 1], norm.ppf(rankdata(X[:, 1]) / 61))
    # Constant outside the training rows.
    assert warp(X[:1] * [1, 1e9, 1])[0, 1] == warped[:, 1].max()
    assert Warp.of(X[:, [0, 2]], np.ones(60)) is None


def test_gross_errors_to_both_sides_are_drawn_in():
    column = np.random.default_rng(1).normal(size=100)
    assert Warp.of(column[:, None], np.ones(100)) is None
    column[[0, 1]] = -15.0, 15.0  # hardly a skew, a kurtosis of about 45
    warp = Warp.of(column[:, None], np.ones(100))
    assert warp is not None
    assert np.abs(warp(column[:, None])).max() < 2.4  # the normal score of the last of 100 is 2.33


def test_a_weight_is_so_many_rows_of_a_warp():
    values = np.exp(np.linspace(0, 5, 20))
    weight = np.arange(20) % 3 + 1.0
    copies = Warp.of(np.repeat(values, weight.astype(int))[:, None], np.ones(int(weight.sum())))
    np.testing.assert_allclose(Warp.of(values[:, None], weight)(values[:, None]), copies(values[:, None]))


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(2)
    X = np.column_stack([rng.normal(size=70), np.exp(2 * rng.normal(size=70))])
    y = (X[:, 0] + np.log(X[:, 1]) + 0.5 * rng.normal(size=70) > 0).astype(int)
    return BayesianSVC(random_state=0).fit(X, y), X


def test_predictions_are_the_members_mixture(fitted):
    model, X = fitted
    assert [member.name for member in model.members_] == ["hinge", "least_squares", "least_squares_additive"]
    mixture = sum(w * np.exp(member.log_proba(X)) for w, member in zip(model.weights_, model.members_))
    np.testing.assert_allclose(model.predict_proba(X), mixture, rtol=1e-10)


def test_prediction_probability_and_odds_agree(fitted):
    model, X = fitted
    p, odds = model.predict_proba(X), model.decision_function(X)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    np.testing.assert_allclose(odds, np.log(p[:, 1] / p[:, 0]), rtol=1e-8)
    np.testing.assert_array_equal(model.predict(X), model.classes_[p.argmax(axis=1)])


def names_of(model):
    return [member.name for member in model.members_]


def test_the_additive_member_gives_way_to_a_chosen_kernel_to_sparse_rows_and_to_many_rows(fitted, set_policy):
    _, X = fitted
    y = (X[:, 0] > 0).astype(int)
    plain, tailed = X[:, :1], X
    assert names_of(BayesianSVC().fit(plain, y)) == ["hinge", "least_squares", "least_squares_additive"]
    assert names_of(BayesianSVC("matern52").fit(tailed, y)) == ["hinge", "least_squares", "least_squares_warped"]
    assert names_of(BayesianSVC().fit(csr_array(tailed), y)) == ["hinge", "least_squares"]
    set_policy("stack", additive_rows=60)
    assert names_of(BayesianSVC().fit(plain, y)) == ["hinge", "least_squares"]
    assert names_of(BayesianSVC().fit(tailed, y)) == ["hinge", "least_squares", "least_squares_warped"]


def test_inputs_that_act_one_by_one_are_learnt_from_few_rows_by_the_additive_member():
    rng = np.random.default_rng(7)
    X = rng.uniform(-2, 2, size=(2150, 8))
    y = (np.sin(2 * X[:, :4]).sum(axis=1) + 0.5 * rng.normal(size=2150) > 0).astype(int)
    model = BayesianSVC().fit(X[:150], y[:150])
    truth = np.arange(2000), y[150:]
    losses = {member.name: -member.log_proba(X[150:])[truth] for member in model.members_}
    gap = losses["least_squares"] - losses["least_squares_additive"]
    # Four standard errors of the mean over the rows.
    assert gap.mean() > 4 * gap.std() / np.sqrt(len(gap))
