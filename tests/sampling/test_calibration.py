"""Simulation-based calibration and Geweke's joint-distribution test of the samplers (slow).

The joint distribution is proportional to N(f; 0, K) prod Q(y_i | theta_i): f is drawn from the prior and the
labels with probabilities Q(+1 | f), Q(-1 | f), starting again when neither comes up.
"""

import numpy as np
import pytest
from scipy.stats import chi2

from softmargin.likelihoods import Hinge, SquaredHinge
from softmargin.sampling import SAMPLERS, DataTarget, Settings, paper, rotation, sample
from softmargin.sampling import slice as ess

from .cases import REFERENCES, K

pytestmark = pytest.mark.slow
ROOT = REFERENCES["prior"].spectrum.root


def draw_joint(rng, likelihood, n_draws):
    """Exact draws (f, y), each of shape (n_draws, 3), by rejection."""
    thetas, labels = [], []
    while sum(map(len, thetas)) < n_draws:
        f = rng.standard_normal((n_draws, 3)) @ ROOT
        up, down = (np.exp(likelihood.log_prob(y, f)) for y in (1.0, -1.0))
        uniform = rng.random(f.shape)
        keep = np.all(uniform < up + down, axis=1)
        thetas.append(f[keep])
        labels.append(np.where(uniform < up, 1.0, -1.0)[keep])
    return np.concatenate(thetas)[:n_draws], np.concatenate(labels)[:n_draws]


def rank_p_values(rng, f, y, likelihood, reference, settings):
    """p-values of uniform ranks among 19 independent chains, for each f.

    Data sets with the same labels (there are 8 labelings) share one run, 19 chains for each.
    """
    ranks = []
    for labels in np.unique(y, axis=0):
        true, target = f[np.all(y == labels, axis=1)], DataTarget(labels, likelihood)
        last = sample(rng, reference, target, Settings(n_chains=19 * len(true), **settings))
        draws = last.f[-1].reshape(len(true), 19, 3)
        ranks.append(np.sum(draws < true[:, None], axis=1))
    counts = [np.bincount(column, minlength=20) for column in np.concatenate(ranks).T]
    expected = len(f) / 20
    return np.array([chi2.sf(np.sum((c - expected) ** 2 / expected), 19) for c in counts])


@pytest.mark.parametrize("likelihood", [Hinge(2.0), SquaredHinge(2.0)])
@pytest.mark.parametrize("reference", REFERENCES)
@pytest.mark.parametrize("sampler", SAMPLERS)
def test_ranks_are_uniform(sampler, reference, likelihood):
    rng = np.random.default_rng(0)
    f, y = draw_joint(rng, likelihood, 500)
    settings = {
        "sampler": sampler,
        "n_warmup": 120 if sampler == "paper" else 40,
        "n_draws": 1,
        "thin": 20 if sampler == "paper" else 6,
    }
    p = rank_p_values(rng, f, y, likelihood, REFERENCES[reference], settings)
    # 12 cases of 3 p-values.
    assert np.all(p > 1e-4)


def steppers():
    prior = REFERENCES["prior"]

    def rotate(rng, f, target):
        z = np.linalg.solve(ROOT, f.T).T
        return rotation.step(rng, rotation.init(prior, target, z), prior, target, 0.3)[0].f

    def slide(rng, f, target):
        z = np.linalg.solve(ROOT, f.T).T
        return ess.step(rng, ess.init(prior, target, z), prior, target)[0].f

    return {"rotation": rotate, "slice": slide}


class PerChain:
    """Labels that differ from chain to chain."""

    def __init__(self, y, likelihood):
        self.inner = DataTarget(y, likelihood)

    def log_weight(self, f):
        return self.inner.log_weight(f)

    def slope(self, f):
        return self.inner.slope(f)

    def d_params(self, f):
        return self.inner.d_params(f)


def geweke(rng, likelihood, step, n_chains=4000, n_steps=30):
    """Largest deviation, in standard errors, of moments of (f, y) after alternating y | f and f | y."""
    f, y = draw_joint(rng, likelihood, n_chains)
    link = likelihood.normalised()
    for _ in range(n_steps):
        f = step(rng, f, y)
        y = np.where(rng.random(f.shape) < link.prob(1.0, f), 1.0, -1.0)
    other_theta, other_y = draw_joint(rng, likelihood, 4 * n_chains)

    def features(f, y):
        return np.concatenate([f, f**2, f * y, np.abs(f), np.maximum(1 - y * f, 0)], axis=1)

    a, b = features(f, y), features(other_theta, other_y)
    return np.max(np.abs(a.mean(axis=0) - b.mean(axis=0)) / np.sqrt(a.var(axis=0) / len(a) + b.var(axis=0) / len(b)))


@pytest.mark.parametrize("name", ["rotation", "slice"])
@pytest.mark.parametrize("likelihood", [Hinge(2.0), SquaredHinge(2.0)])
def test_joint_distribution_is_left_alone(name, likelihood):
    move = steppers()[name]
    step = lambda rng, f, y: move(rng, f, PerChain(y, likelihood))  # noqa: E731
    if name == "slice":
        # Slice sampling evaluates subsets of chains, so each chain takes its labels along.
        step = lambda rng, f, y: _by_labels(rng, f, y, likelihood, move)  # noqa: E731
    # 15 features, 4 cases: |normal| > 4.5 has probability 7e-6 each.
    assert geweke(np.random.default_rng(1), likelihood, step) < 4.5


def _by_labels(rng, f, y, likelihood, move):
    out = np.empty_like(f)
    for labels in np.unique(y, axis=0):
        rows = np.all(y == labels, axis=1)
        out[rows] = move(rng, f[rows], DataTarget(labels, likelihood))
    return out


def papers_step(flip):
    """The paper's step with its momentum kept from step to step."""
    memory = {}

    def step(rng, f, y):
        if "momentum" not in memory:
            inverse = np.linalg.inv(K)
            memory["inverse"] = inverse
            memory["momentum"] = rng.multivariate_normal(np.zeros(3), inverse, size=len(f))
        momentum = memory["momentum"]
        state = paper.State(f @ memory["inverse"], f, momentum, momentum @ K)
        target = PerChain(y, Hinge(2.0))
        for _ in range(4):
            state, _ = paper.step(rng, state, K, target, 0.5, n_leapfrog=2, flip=flip)
        memory["momentum"] = state.momentum
        return state.f

    return step


def test_the_papers_sampler_passes_with_the_flip_and_fails_without():
    # A bias of one or two percent of a standard deviation: 120,000 chains see it (error 0.3 %), 20,000 did not.
    options = {"n_chains": 120_000, "n_steps": 20}
    assert geweke(np.random.default_rng(2), Hinge(2.0), papers_step(True), **options) < 4.5
    assert geweke(np.random.default_rng(2), Hinge(2.0), papers_step(False), **options) > 4.5
