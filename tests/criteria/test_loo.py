"""EP's leave-one-out: close to refitting without each row, and its gradient through the adjoint is exact."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from softmargin.criteria import LeaveOneOut, Problem, leave_one_out
from softmargin.criteria.loo import cavities
from softmargin.inference import EP, MAP, Variational
from softmargin.kernels import evaluate
from softmargin.likelihoods import EpsilonInsensitive, Hinge, Logistic, SquaredHinge

KERNEL = ConstantKernel(4.0) * RBF([1.0, 2.0]) + ConstantKernel(0.3)
LIKELIHOODS = [Hinge(0.6), Hinge(3.0), SquaredHinge(1.7), Logistic(2.0), EpsilonInsensitive(3.0, 0.2)]


def data(likelihood, n=40, seed=0, weighted=False):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2))
    f = 1.5 * X[:, 0] + np.sin(2 * X[:, 1]) + 0.5 * rng.standard_normal(n)
    weight = rng.integers(1, 4, n).astype(float) if weighted else None
    return X, np.where(f > 0, 1.0, -1.0) if likelihood.is_classifier else f, weight


def value(X, y, likelihood, weight, theta=KERNEL.theta):
    K = evaluate(KERNEL.clone_with_theta(theta), X).K
    posterior = EP(tol=1e-10).infer(K, y, likelihood, weight)
    return LeaveOneOut()(posterior, Problem(K, y, likelihood, weight))


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("likelihood", LIKELIHOODS, ids=str)
def test_close_to_refitting_without_the_row(likelihood, weighted):
    X, y, weight = data(likelihood, weighted=weighted)
    K = evaluate(KERNEL, X).K
    free = leave_one_out(EP().infer(K, y, likelihood, weight), Problem(K, y, likelihood, weight)).log_z
    refitted = np.empty(len(y))
    for i in range(len(y)):
        keep = np.arange(len(y)) != i
        rest = EP().infer(K[np.ix_(keep, keep)], y[keep], likelihood, None if weight is None else weight[keep])
        refitted[i] = rest.log_predictive(likelihood, y[[i]], K[[i]][:, keep], K[[i], [i]])[0]
    # A cavity ignores how the other sites would move: a second-order effect, larger for heavy rows.
    assert np.corrcoef(free, refitted)[0, 1] > (0.97 if weighted else 0.995)
    assert abs(free.sum() - refitted.sum()) < (0.15 if weighted else 0.04) * abs(refitted.sum())
    assert np.median(np.abs(free - refitted)) < 0.02


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("likelihood", LIKELIHOODS, ids=str)
def test_gradient_is_exact(likelihood, weighted):
    X, y, weight = data(likelihood, n=25, weighted=weighted)
    here = value(X, y, likelihood, weight)
    d_theta = evaluate(KERNEL, X).contract(here.d_gram)

    def differences(function, step=1e-3):
        f = [function(k * step) for k in (-2, -1, 1, 2)]
        return (8 * (f[2] - f[1]) - (f[3] - f[0])) / (12 * step)

    numeric = [
        differences(lambda t, a=a: value(X, y, likelihood, weight, KERNEL.theta + t * np.eye(len(d_theta))[a]).value)
        for a in range(len(d_theta))
    ]
    assert_allclose(d_theta, numeric, rtol=1e-5, atol=1e-5 * np.abs(numeric).max())
    for name, slope in zip(likelihood.param_names, here.d_params):
        x = getattr(likelihood, name)
        numeric = differences(lambda t, name=name, x=x: value(X, y, replace(likelihood, **{name: x + t}), weight).value)
        assert slope == pytest.approx(numeric, rel=1e-5, abs=1e-5)


def test_a_weighted_row_counts_as_often_as_its_weight():
    X, y, _ = data(Hinge())
    weight = np.ones(len(y))
    weight[3] = 4
    K = evaluate(KERNEL, X).K
    problem = Problem(K, y, Hinge(), weight)
    posterior = EP().infer(K, y, Hinge(), weight)
    assert_allclose(LeaveOneOut()(posterior, problem).value, weight @ leave_one_out(posterior, problem).log_z)


def test_other_posteriors_divide_their_own_sites_out():
    X, y, _ = data(Hinge())
    K = evaluate(KERNEL, X).K
    ep = EP().infer(K, y, Hinge())
    m, v = cavities(ep)
    again = replace(ep, cavity_mean=None, cavity_variance=None)
    assert_allclose(cavities(again)[0], m, rtol=1e-7)
    assert_allclose(cavities(again)[1], v, rtol=1e-7)
    variational = LeaveOneOut()(Variational().infer(K, y, Hinge()), Problem(K, y, Hinge()))
    assert variational.value == pytest.approx(value(X, y, Hinge(), None).value, rel=0.05)
    assert variational.d_gram is None


def test_needs_variances():
    X, y, _ = data(Hinge())
    K = evaluate(KERNEL, X).K
    with pytest.raises(ValueError, match="'map' does not give; use inference='ep'"):
        LeaveOneOut()(MAP().infer(K, y, Hinge()), Problem(K, y, Hinge()))


def test_gradient_in_the_noise_free_regime():
    # Amplitude 1e4: cavities far from the margin, weak sites next to strong ones.
    X, y, weight = data(Hinge(), n=30)
    kernel = KERNEL.clone_with_theta(np.array([np.log(1e4), 0.5, 0.5, -1.5]))

    def loo(theta):
        evaluation = evaluate(kernel.clone_with_theta(theta), X)
        posterior = EP(tol=1e-10).infer(evaluation.K, y, Hinge(2.0), weight)
        result = LeaveOneOut()(posterior, Problem(evaluation.K, y, Hinge(2.0), weight))
        return result.value, evaluation.contract(result.d_gram)

    for a in range(4):
        step = 1e-3 * np.eye(4)[a]
        f = [loo(kernel.theta + k * step)[0] for k in (-2, -1, 1, 2)]
        numeric = (8 * (f[2] - f[1]) - (f[3] - f[0])) / 12e-3
        assert loo(kernel.theta)[1][a] == pytest.approx(numeric, rel=1e-4, abs=1e-4)
