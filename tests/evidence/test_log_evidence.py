"""Every method and kind against exact values, against each other, and at the limits."""

from functools import cache

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from softmargin.evidence import Chaining, EvidenceEstimate, Schedule, input_weights, log_evidence
from softmargin.evidence import _metropolis as metropolis
from softmargin.inference import EP, HMC, Laplace, Sparse
from softmargin.likelihoods import EpsilonInsensitive, Hinge, Link, Logistic, SquaredHinge, SquaredLink

from .cases import K4, Y4, toy

KINDS = ("naive", "conditional", "joint")


@cache
def exact_value(kind, loss="hinge"):
    return log_evidence(K4, Y4, 2.0, loss=loss, kind=kind, method="exact").value


LONG = Chaining(n_sweeps=1500, n_chains=16)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize(
    ("method", "settings"),
    [
        ("annealing", {"schedule": Schedule(64, 128)}),
        ("chaining", {"chaining": LONG}),
        ("chaining", {"chaining": Chaining("beta", n_sweeps=1500, n_chains=16)}),
        ("chaining", {"chaining": Chaining(block=2, n_sweeps=3000, n_chains=16)}),
        ("chaining", {"chaining": Chaining(block=3, n_sweeps=3000, n_chains=16)}),
    ],
    ids=["annealing", "eigenvector", "beta", "blocks", "uneven_blocks"],
)
def test_sampling_agrees_with_exact_values(kind, loss, method, settings):
    truth = exact_value(kind, loss)
    found = log_evidence(K4, Y4, 2.0, loss=loss, kind=kind, method=method, random_state=2, **settings)
    # |t| > 3 has probability 0.004 with 64 islands and 0.009 with 16 chains; 30 cases.
    assert abs(found.value - truth) < 3 * found.standard_error
    assert 0 < found.standard_error < 0.15


@pytest.mark.parametrize("loss", ["logistic", "epsilon_insensitive"])
@pytest.mark.parametrize("method", ["annealing", "chaining"])
def test_normalised_likelihoods_agree_with_exact_values(loss, method):
    options = {"loss": loss, "epsilon": 0.2 if loss == "epsilon_insensitive" else None}
    truth = log_evidence(K4, Y4, 2.0, method="exact", **options).value
    found = log_evidence(K4, Y4, 2.0, method=method, chaining=LONG, random_state=0, **options)
    assert abs(found.value - truth) < 3 * found.standard_error
    for kind in ("conditional", "joint"):
        assert log_evidence(K4, Y4, 2.0, kind=kind, method=method, chaining=LONG, random_state=0, **options) == found


@pytest.mark.parametrize("kind", KINDS)
def test_deterministic_methods_are_close_at_four_rows(kind):
    truth = exact_value(kind)
    for method in ("ep", "variational"):
        found = log_evidence(K4, Y4, 2.0, kind=kind, method=method, schedule=Schedule(16, 128), random_state=0)
        assert abs(found.value - truth) < (0.03 if method == "ep" else 0.3) + 3 * found.standard_error


def test_weights_stand_for_repeated_rows():
    weight = np.array([1.0, 2.0, 1.0, 1.0])
    index = np.repeat(np.arange(4), weight.astype(int))
    schedule = Schedule(64, 128)
    for kind in KINDS:
        once = log_evidence(
            K4, Y4, 1.5, kind=kind, method="annealing", weight=weight, schedule=schedule, random_state=0
        )
        many = log_evidence(
            K4[np.ix_(index, index)],
            Y4[index],
            1.5,
            kind=kind,
            method="annealing",
            schedule=schedule,
            random_state=1,
        )
        assert abs(once.value - many.value) < 3 * np.hypot(once.standard_error, many.standard_error)


@pytest.mark.parametrize("kind", KINDS)
def test_methods_agree_at_fifty_rows(kind):
    K, y = toy()
    annealed = log_evidence(K, y, 2.0, kind=kind, method="annealing", random_state=0)
    chained = log_evidence(
        K, y, 2.0, kind=kind, method="chaining", chaining=Chaining(block=5, n_sweeps=150), random_state=0
    )
    error = np.hypot(annealed.standard_error, chained.standard_error)
    assert abs(annealed.value - chained.value) < 3 * error
    assert annealed.standard_error < 0.15


def test_bounds_of_the_normalised_evidence():
    K, y = toy(30)
    naive, conditional, joint = (
        log_evidence(K, y, 2.0, kind=kind, method="annealing", random_state=0).value for kind in KINDS
    )
    # v <= 1, hence N(X) <= 1 and Nhat <= 1; and N(X) <= Nhat (geometric against arithmetic mean).
    assert naive < joint < conditional


@pytest.mark.parametrize("kind", KINDS)
def test_small_C_means_guessing(kind):
    K, y = toy(20)
    found = log_evidence(K, y, 1e-4, kind=kind, method="annealing", random_state=0)
    assert found.value == pytest.approx(-20 * np.log(2), abs=0.01)


def test_large_amplitude_gives_the_orthant_probability():
    # K0 -> infinity: Q -> kappa^n P[all y_i theta_i > 0], N(X) and Nhat -> kappa^n.
    K = 1e8 * K4
    orthant = np.log(multivariate_normal.cdf(np.zeros(4), cov=Y4[:, None] * K4 * Y4))
    kappa = 4 * Hinge(2.0).log_kappa
    schedule = Schedule(16, 256)
    naive = log_evidence(K, Y4, 2.0, method="annealing", random_state=0, schedule=schedule)
    # The slope of a step of width 1 out of 1e4 changes probabilities by a few 1e-4.
    assert abs(naive.value - kappa - orthant) < 3 * naive.standard_error + 2e-3
    for kind in ("conditional", "joint"):
        found = log_evidence(K, Y4, 2.0, kind=kind, method="annealing", random_state=0, schedule=schedule)
        assert abs(found.value - orthant) < 3 * found.standard_error + 2e-3


def test_joint_evidence_with_a_sample_of_inputs():
    same = log_evidence(K4, Y4, 2.0, kind="joint", method="annealing", K_inputs=K4, random_state=0)
    assert same == log_evidence(K4, Y4, 2.0, kind="joint", method="annealing", random_state=0)
    # Every input twice is the same distribution of inputs.
    twice = np.repeat(np.arange(4), 2)
    schedule = Schedule(64, 128)
    doubled = log_evidence(
        K4, Y4, 2.0, kind="joint", K_inputs=K4[np.ix_(twice, twice)], random_state=1, schedule=schedule
    )
    plain = log_evidence(K4, Y4, 2.0, kind="joint", random_state=2, schedule=schedule)
    assert abs(doubled.value - plain.value) < 3 * np.hypot(doubled.standard_error, plain.standard_error)


@pytest.mark.parametrize(
    ("likelihood", "normaliser"),
    [
        (Hinge(1.7), False),
        (SquaredHinge(1.7), False),
        (Logistic(1.7), False),
        (EpsilonInsensitive(1.7, 0.3), False),
        (Hinge(1.7), True),
        (SquaredHinge(1.7), True),
        (Link(1.7), False),
        (SquaredLink(1.7), False),
    ],
)
def test_compiled_rows_equal_the_likelihoods(likelihood, normaliser):
    f = np.linspace(-4, 4, 41)
    kind, constants = metropolis.row_kind(likelihood, normaliser), metropolis.constants(likelihood)
    for y in (-1.0, 1.0):
        expected = likelihood.log_v(f) if normaliser else likelihood.log_prob(y, f)
        found = [metropolis.log_row(kind, y, value, *constants) for value in f]
        np.testing.assert_allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize("likelihood", [Link(2.0), SquaredLink(2.0)], ids=repr)
def test_the_link_is_chained_too(likelihood):
    exact = log_evidence(K4, Y4, loss=likelihood, method="exact")
    chained = log_evidence(K4, Y4, loss=likelihood, method="chaining", chaining=LONG, random_state=0)
    assert abs(chained.value - exact.value) < 4 * np.hypot(chained.standard_error, exact.standard_error)


@pytest.mark.parametrize("kind", ["naive", "joint"])
def test_per_example_divides_by_the_sum_of_the_weights(kind):
    weight = np.array([2.0, 1.0, 1.0, 0.5])
    total, each = (
        log_evidence(K4, Y4, 2.0, kind=kind, weight=weight, random_state=0, per_example=flag) for flag in (False, True)
    )
    assert each.value == pytest.approx(total.value / 4.5) and each.standard_error == pytest.approx(
        total.standard_error / 4.5
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("method", ["annealing", "chaining"])
def test_standard_errors_are_honest(kind, method):
    truth = exact_value(kind)
    settings = {"chaining": Chaining(n_sweeps=200, n_chains=12), "schedule": Schedule(12, 32)}
    runs = [log_evidence(K4, Y4, 2.0, kind=kind, method=method, random_state=seed, **settings) for seed in range(100)]
    deviation = np.array([(run.value - truth) / run.standard_error for run in runs])
    # Student's t with 11 degrees of freedom: 2.2 covers 95 %; 100 repeats have a binomial sd of 2.2 %, and below 88 %
    # has probability 0.2 %. The mean deviation is t's, sd 1.1/sqrt(100), if there is no bias.
    assert np.mean(np.abs(deviation) < 2.2) >= 0.88
    assert abs(np.mean(deviation)) < 0.35
    assert 0.75 < np.std(deviation) < 1.5


def test_an_inference_is_a_method():
    assert log_evidence(K4, Y4, 2.0, method=EP()) == log_evidence(K4, Y4, 2.0, method="ep")
    # Sollich 2002, eq. 31, in place of eq. 32.
    plain = Laplace(regularised=False)
    found = log_evidence(K4, Y4, 2.0, method=plain, kind="joint", random_state=0)
    naive = plain.infer(K4, Y4, Hinge(2.0)).log_evidence
    assert naive != Laplace().infer(K4, Y4, Hinge(2.0)).log_evidence
    named = (log_evidence(K4, Y4, 2.0, method="laplace", kind=kind, random_state=0) for kind in ("naive", "joint"))
    difference = next(named).value - next(named).value
    assert found.value == pytest.approx(naive - difference)


def test_a_sampler_has_its_standard_error():
    sampler = HMC(n_chains=4, n_warmup=20, n_draws=20, random_state=0, check=False)
    found = log_evidence(K4, Y4, 2.0, method=sampler)
    assert abs(found.value - exact_value("naive")) < 4 * found.standard_error
    # Without annealing the value is EP's, which is not sampled.
    assert log_evidence(K4, Y4, 2.0, method=HMC(evidence=False, check=False, n_draws=5)).standard_error == 0


def test_weighted_inputs_are_repeated_inputs():
    index, weight = np.array([0, 1, 1, 2, 3, 3, 3]), np.array([1.0, 2.0, 1.0, 3.0])
    repeated, weighted, scaled = (
        log_evidence(K4, Y4, 2.0, kind="joint", schedule=Schedule(64, 128), random_state=0, **inputs).value
        for inputs in (
            {"K_inputs": K4[np.ix_(index, index)]},
            {"K_inputs": K4, "weight_inputs": weight},
            {"weight_inputs": 5 * weight},
        )
    )
    assert weighted == pytest.approx(repeated, abs=0.05)
    assert scaled == pytest.approx(weighted, abs=1e-12)


def test_the_best_weights_of_note_6_raise_the_joint_evidence_by_their_gain():
    schedule = Schedule(16, 256)
    found = input_weights(K4, Hinge(2.0), schedule=schedule, random_state=0)
    equal, best = (
        log_evidence(K4, Y4, 2.0, kind="joint", method="exact", weight_inputs=w).value for w in (None, found.weight)
    )
    # P(X, Y) has Q(x_i) = w_i besides, which "up to the density of the inputs" leaves out.
    assert best - equal + np.sum(np.log(4 * found.weight)) == pytest.approx(found.gain, abs=0.002)


def test_same_seed_same_value():
    values = {log_evidence(K4, Y4, 2.0, kind="joint", random_state=5).value for _ in range(2)}
    assert len(values) == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kind": "full"}, "kind 'full'"),
        ({"method": "magic"}, "method 'magic'"),
        ({"method": Laplace}, "method=.*Laplace.* must be one of"),
        ({"method": Sparse()}, r"method=Sparse\(\) must be one of .* works on the Gram matrix"),
        ({"weight_inputs": np.ones(4)}, "weight_inputs is used by kind='joint' only"),
        ({"weight_inputs": np.ones(3), "kind": "joint"}, r"weight_inputs must have shape \(4,\)"),
        ({"weight_inputs": -np.ones(4), "kind": "joint"}, "weight_inputs must be finite"),
        ({"K_inputs": np.ones((3, 2)), "kind": "joint"}, "K_inputs must be square"),
        ({"loss": "epsilon_insensitive"}, "needs epsilon"),
        ({"epsilon": 0.1}, "has no epsilon"),
        ({"K_inputs": np.eye(3)}, "kind='joint' only"),
        ({"loss": "probit", "method": "chaining"}, "chaining knows the losses"),
    ],
)
def test_wrong_arguments_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        log_evidence(K4, Y4, 2.0, **options)


def test_wrong_shape_is_named():
    with pytest.raises(ValueError, match=r"\(4, 4\)"):
        log_evidence(np.eye(3), Y4, 2.0)


@pytest.mark.parametrize("wrong", [{"representation": "theta"}, {"n_chains": 1}, {"block": 0}])
def test_wrong_chaining_is_named(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Chaining(**wrong)


def test_difference_adds_errors_in_quadrature():
    assert (EvidenceEstimate(1.0, 3.0) - EvidenceEstimate(2.0, 4.0)) == EvidenceEstimate(-1.0, 5.0)
