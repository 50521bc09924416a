"""Where the members of a regression's stack start, what they leave out, and what their weights are."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from softmargin import BayesianSVR
from softmargin.inference import EP
from softmargin.kernels import gram
from softmargin.machines import stacking_weights
from softmargin.policy import POLICY
from softmargin.tuning import fit_latent

RNG = np.random.default_rng(3)
X = RNG.lognormal(0, 0.8, (40, 1))
Y = np.exp(np.sin(2 * np.log(X[:, 0])) + 0.3 * RNG.normal(size=40))


@pytest.fixture(scope="module")
def model():
    return BayesianSVR(max_iter=8).fit(X, Y)


def left_out_by_refitting(member):
    """ln p(y_i | the others) of every row at the member's hyperparameters, from a multivariate normal."""
    machine, units = member.predictive.model, member.predictive.units
    K = machine.kernel(machine.rows.X) + machine.likelihood.sigma**2 * np.eye(40)
    out = np.empty(40)
    for i in range(40):
        rest = np.arange(40) != i
        gain = K[i, rest] @ np.linalg.inv(K[np.ix_(rest, rest)])
        sd = np.sqrt(K[i, i] - gain @ K[rest, i])
        out[i] = stats.norm(gain @ machine.rows.y[rest], sd).logpdf(machine.rows.y[i]) - np.log(units.scale)
    return out


def left_out_by_cavities(member):
    """The same from a tube machine's cavities, in the units of y."""
    predictive = getattr(member.predictive, "inner", member.predictive)
    machine = predictive.model
    m, v = machine.posterior.cavities()
    log_p = machine.likelihood.tilted_moments(machine.rows.y, m, v).log_z - np.log(predictive.units.scale)
    warp = getattr(member.predictive, "warp", None)
    if warp is None:
        return log_p
    y = warp.inverse(predictive.units.center + predictive.units.scale * machine.rows.y)
    return log_p + warp.log_slope(y)


def test_weights_are_those_of_exact_leave_one_out(model):
    tube, warped, *gaussians = model.members_
    table = [left_out_by_cavities(tube), left_out_by_cavities(warped), *map(left_out_by_refitting, gaussians)]
    weights = stacking_weights(np.stack(table, axis=1), np.ones(40), POLICY.stack.target_pseudo_count)
    assert_allclose(model.weights_, weights, rtol=1e-6)
    mixed = np.log(np.exp(np.stack(table, axis=1)) @ weights).mean()
    assert model.loo_log_density_ == pytest.approx(mixed, rel=1e-8)


def test_members_only_predict(model):
    for member in model.members_[1:]:
        machine = getattr(member.predictive, "inner", member.predictive).model
        assert machine.svm is None
        assert len(machine.path) <= 24
    assert model.members_[0].predictive.model.svm is not None


def test_a_search_starts_where_another_ended(model):
    tube, warped, gaussian, on_warped = (getattr(m.predictive, "inner", m.predictive).model for m in model.members_)
    amplitude = np.exp(tube.z[0])
    for machine in (warped, gaussian):
        assert machine.path[0]["amplitude"] == pytest.approx(amplitude, rel=1e-9)
    spread = [np.std(machine.rows.X) for machine in (gaussian, on_warped)]
    names = [name for name in gaussian.path[0] if name.startswith("length_scale")]
    end = np.exp(gaussian.z[1])
    assert on_warped.path[0][names[0]] == pytest.approx(end * spread[1] / spread[0], rel=1e-6)


@pytest.mark.parametrize("stack", [True, False])
def test_only_the_searches_of_a_stack_ask_for_fewer_digits(monkeypatch, stack):
    fits = []

    def spy(*arguments):
        fits.append((arguments[4], fit_latent(*arguments)))
        return fits[-1][1]

    monkeypatch.setattr("softmargin.machines.regression.fit.fit_latent", spy)
    BayesianSVR(stack=stack, noise="constant").fit(X, Y)
    asked, tube = fits[0]
    assert asked.search.tol == pytest.approx(1e-4 * (POLICY.stack.target_relaxed if stack else 1))
    assert asked.rougher == (EP(tol=POLICY.stack.target_ep_tol) if stack else None)
    # What predicts has all digits all the same.
    exact = EP(tol=1e-9).infer(gram(tube.kernel, tube.rows.X), tube.rows.y, tube.likelihood, tube.rows.weight)
    assert_allclose(tube.posterior.mean, exact.mean, atol=1e-5)
