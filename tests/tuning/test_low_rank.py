"""The schedule on low-rank EP: exact gradients of its objective, and full EP's predictions on small data."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF

from softmargin.criteria import Evidence, LeaveOneOut, LinkEvidence
from softmargin.inference._inducing import inducing_points
from softmargin.kernels import diag, gram, make_kernel
from softmargin.likelihoods import Hinge
from softmargin.policy import LowRankPolicy, Rung
from softmargin.rows import LocalRows, spread_of
from softmargin.tuning import Coordinates, LogParameters, bind_prior, classifier_prior, plan_stages
from softmargin.tuning.large.low_rank import LowRankObjective, final_posterior, learn, predicted_sites

SMALL = LowRankPolicy(first=Rung(150, 30, 10, 0.1), second=Rung(300, 60, 10, 0.01), final_rank=120)


def problem(n=300, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = np.where(np.sin(2 * X[:, 0]) + X[:, 1] + 0.3 * rng.normal(size=n) > 0, 1.0, -1.0)
    spread = spread_of(X, np.ones(n))
    noise = LogParameters(Hinge(1.0), ("C",), ((1e-2, 1e3),))
    coordinates = Coordinates(make_kernel(None, 3, spread), noise, n_features=3)
    return X, y, spread, coordinates, bind_prior(classifier_prior(y, np.ones(n)), coordinates, spread, X)


@pytest.mark.parametrize("criterion", [Evidence(), LinkEvidence(), LeaveOneOut()], ids=lambda c: c.name)
def test_gradient_of_the_objective(criterion):
    X, y, _, coordinates, log_prior = problem(100)
    Z = inducing_points(X, coordinates.kernel, 20)

    def objective():
        return LowRankObjective(LocalRows(X, y, None), coordinates, Z, criterion, 1e-9, log_prior)

    z, step = coordinates.start, 1e-4
    gradient = objective()(z).gradient
    differences = [(objective()(z + e).value - objective()(z - e).value) / (2 * step) for e in step * np.eye(len(z))]
    # The adjoint of leave-one-out is solved to three digits.
    size = np.linalg.norm(gradient)
    np.testing.assert_allclose(gradient, differences, atol=(3e-3 if criterion == LeaveOneOut() else 1e-5) * size)


def test_schedule_learns_and_predicts():
    X, y, spread, coordinates, log_prior = problem()
    new, truth, *_ = problem(500, seed=1)
    learnt = learn(X, y, None, coordinates, plan_stages(None, coordinates, spread), log_prior, SMALL)
    posterior = final_posterior(LocalRows(X, y, None), learnt, X, SMALL)
    K, k_diag = gram(learnt.kernel, new, posterior.Z), diag(learnt.kernel, new)
    log_odds = posterior.log_odds(learnt.likelihood, K, k_diag)
    assert posterior.converged
    assert np.mean(np.logaddexp(0, -truth * log_odds)) < 0.35
    assert np.mean(np.sign(log_odds) != truth) < 0.15


def test_more_rows_than_the_search_saw():
    X, y, spread, coordinates, log_prior = problem()
    schedule = replace(SMALL, second=Rung(150, 30, 10, 0.1))
    learnt = learn(X, y, None, coordinates, plan_stages(None, coordinates, spread), log_prior, schedule)
    rows = LocalRows(X, y, None)
    assert len(learnt.index) == 150 and predicted_sites(rows, learnt).a.shape == (300,)
    warm = final_posterior(rows, learnt, X, replace(schedule, final_tol=1e-8))
    cold = final_posterior(
        rows, learnt._replace(index=np.arange(300)), X, replace(schedule, final_tol=1e-8)
    )  # sites of 150 rows do not fit 300: a cold start
    assert warm.n_iter <= cold.n_iter
    assert abs(warm.log_evidence - cold.log_evidence) < 1e-5


def test_a_hint_leads_to_a_basin_that_the_start_misses():
    X, _, spread, coordinates, log_prior = problem()
    y = np.where(np.sin(4 * X[:, 0]) * np.sin(4 * X[:, 1]) > 0, 1.0, -1.0)
    stages = plan_stages(None, coordinates, spread)[:1]
    hint = coordinates.hinted(coordinates.start, RBF([0.4, 0.4, 20.0]))
    np.testing.assert_allclose(np.exp(hint[1:4]), [0.4, 0.4, 20.0])
    without, with_hint = (learn(X, y, None, coordinates, stages, log_prior, SMALL, hint=h) for h in (None, hint))
    assert with_hint.value > without.value + 10
    # A bad hint costs a climb and nothing else.
    bad = coordinates.hinted(coordinates.start, RBF([100.0, 100.0, 0.1]))
    assert learn(X, y, None, coordinates, stages, log_prior, SMALL, hint=bad).value >= without.value - 1e-6


def test_a_classifier_climbs_on_by_the_bound_and_a_given_criterion_by_ep():
    X, y, spread, coordinates, log_prior = problem()
    found = {}
    for criterion in (None, Evidence()):
        path = []
        learn(X, y, None, coordinates, plan_stages(criterion, coordinates, spread), log_prior, SMALL, path=path)
        stages = [row["stage"] for row in path]
        found[criterion] = [stage for i, stage in enumerate(stages) if i == 0 or stages[i - 1] != stage]
    # By EP at the end of the bound's climb, then leave-one-out.
    assert found == {None: ["link_evidence", "sparse", "link_evidence", "loo"], Evidence(): ["evidence"]}


def test_ep_climbs_itself_where_it_fails_at_the_end_of_the_bound(monkeypatch):
    X, y, spread, coordinates, log_prior = problem()
    stages = plan_stages(None, coordinates, spread)
    evaluate, refused = LowRankObjective._evaluate, []

    def refuse_once(self, z, kernel, likelihood):
        value, gradient, posterior = evaluate(self, z, kernel, likelihood)
        if len(self.rows.y) == 300 and not refused:
            refused.append(z)
            return -1e10, None, posterior
        return value, gradient, posterior

    monkeypatch.setattr(LowRankObjective, "_evaluate", refuse_once)
    path = []
    learnt = learn(X, y, None, coordinates, stages, log_prior, SMALL, path=path)
    after = [row["stage"] for row in path if row["stage"] != "loo"]
    assert len(refused) == 1 and after[-2:] == ["link_evidence"] * 2
    assert np.isfinite(learnt.value) and learnt.value > -1e9
