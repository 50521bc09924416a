"""The errata of the papers that no other test shows: each printed formula fails, and the right one holds."""

import re
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from softmargin.likelihoods import EpsilonInsensitive, Hinge

ROOT = Path(__file__).parents[1]
RNG = np.random.default_rng(0)
A = RNG.normal(size=(3, 3))
K = A @ A.T + np.eye(3)
F = RNG.normal(size=3)


def differences(function, x, h=1e-6):
    """Central differences of a scalar function."""
    steps = h * np.eye(len(x))
    return np.array([(function(x + s) - function(x - s)) / (2 * h) for s in steps])


def test_second_line_of_equation_11_of_sollich_2002():
    """At theta < -1 and y = -1 the printed line gives less than one half for the label that the sign predicts."""
    C, f, y = 2.0, -1.5, -1.0
    printed = 1 / (1 + np.exp(-C * (y * f + np.sign(f))))
    right = 1 / (1 + np.exp(-C * y * (f + np.sign(f))))
    assert printed < right
    assert Hinge(C).normalised().prob(np.array([y]), np.array([f]))[0] == pytest.approx(right)
    # As printed, the two labels do not add up to one.
    other = 1 / (1 + np.exp(-C * (-y * f + np.sign(f))))
    assert abs(printed + other - 1) > 0.1


def test_noise_free_limit_has_the_label_in_it():
    """Sollich 2002, end of section 4: exp(-C l(y theta sqrt(K0))) -> H(y theta), not H(theta)."""
    for y in (-1.0, 1.0):
        large = np.exp(Hinge(2.0).log_prob(np.full(2, y), 1e4 * np.array([-1.0, 1.0])) - Hinge(2.0).log_kappa)
        np.testing.assert_allclose(large, [y < 0, y > 0], atol=1e-12)


def test_prior_of_the_dual_weights_has_the_labels_in_it():
    """Sollich 2002, section 5: with theta = K Y beta the exponent is beta'Y K Y beta, not beta'K beta."""
    y, beta = np.array([1.0, -1.0, 1.0]), np.array([0.3, 0.8, -0.2])
    f = K @ (y * beta)
    exponent = f @ np.linalg.solve(K, f)
    assert exponent == pytest.approx((y * beta) @ K @ (y * beta))
    assert abs(exponent - beta @ K @ beta) > 0.1


def test_momentum_density_is_a_density():
    """Gold & Sollich 2003, below eq. 21: exp(+p'Kp/2) grows without limit, exp(-p'Kp/2) is that of N(0, 1/K)."""
    p = np.linspace(-12, 12, 4001)
    assert np.sum(np.exp(-0.5 * 1.7 * p**2)) * (p[1] - p[0]) == pytest.approx(np.sqrt(2 * np.pi / 1.7))
    assert np.exp(0.5 * 1.7 * p[0] ** 2) > 1e50


def test_equation_18_needs_the_number_of_rows():
    """The derivative of ln Q/n in C: the first printed line lacks 1/n in its second term."""
    C, f, y = 1.3, RNG.normal(size=(200_000, 2)) * 1.5, np.array([1.0, -1.0])
    loss = np.maximum(1 - y * f, 0)

    def evidence(C):
        return float(np.log(np.mean(np.exp(-C * loss.sum(axis=1))))) / 2

    weight = np.exp(-C * loss.sum(axis=1))
    average = float(np.sum(weight * loss.sum(axis=1)) / weight.sum())
    slope = (evidence(C + 1e-5) - evidence(C - 1e-5)) / 2e-5
    assert slope == pytest.approx(-average / 2, rel=1e-4)
    assert abs(slope + average) > 0.1


def test_table_3_of_gold_and_sollich_has_an_impossible_entry():
    """25 errors of at least 2.2 with the mean 2.5 have a standard deviation of at most 1.5, not 5.3."""
    most = np.array([2.2] * 24 + [2.2 + 25 * 0.3])
    assert most.mean() == pytest.approx(2.5)
    assert most.std(ddof=1) < 1.6


@pytest.mark.parametrize(
    ("best", "printed", "fitting"),
    [((5.9, 9.2, 10.9, 3.4, 5.0, 3.4), 120, 119), ((27.8, 28.4, 20.2, 19.0, 19.3, 18.4), 332, 331)],
)
def test_table_4_of_gold_and_sollich_counts_other_test_sets(best, printed, fitting):
    """Single trials: every error is a whole number of rows, to the printed digit."""

    def fits(n):
        return [min(abs(100 * np.arange(n + 1) / n - error)) <= 0.0501 for error in best]

    assert all(fits(fitting)) and not all(fits(printed))


def test_determinant_of_gao_gunn_and_harris():
    """Their eqs. 2.5, 2.6 and 3.1: the prior is normalised by det(2 pi K), not det(2 pi K^-1)."""
    quadratic = np.exp(-0.5 * F @ np.linalg.solve(K, F))
    right, printed = (np.linalg.det(2 * np.pi * M) ** -0.5 * quadratic for M in (K, np.linalg.inv(K)))
    assert multivariate_normal(np.zeros(3), K).pdf(F) == pytest.approx(right)
    assert printed != pytest.approx(right, rel=0.5)


def test_sign_before_equation_3_2_of_gao_gunn_and_harris():
    """f exp(-f'K^-1 f/2) is MINUS sum_j K_ij d/df_j of the exponential."""

    def exponential(f):
        return float(np.exp(-0.5 * f @ np.linalg.solve(K, f)))

    np.testing.assert_allclose(F * exponential(F), -K @ differences(exponential, F), rtol=1e-6)


def test_noise_part_of_equation_5_3_of_gao_gunn_and_harris():
    C, epsilon = 5.0, 0.1
    t = np.linspace(-12, 12, 400_001)
    density = np.exp(EpsilonInsensitive(C, epsilon).log_prob(t, np.zeros_like(t)))
    variance = np.sum(t**2 * density) * (t[1] - t[0])
    assert EpsilonInsensitive(C, epsilon).noise_variance == pytest.approx(variance, rel=1e-6)
    printed = 2 / C**2 + (epsilon**3 + 3 * epsilon**2) / (2 * C**2 * (epsilon + 1))
    assert printed < 0.95 * variance


def test_kwoks_likelihood_is_not_normalised_over_labels():
    """His footnote integrates over the slack; over the two labels exp(-xi) adds up to more than one."""
    f = np.linspace(-3, 3, 61)
    total = np.exp(-np.maximum(1 - f, 0)) + np.exp(-np.maximum(1 + f, 0))
    assert total.max() > 1.1 and np.ptp(total) > 0.3


def test_every_erratum_names_a_check_that_exists():
    text = (ROOT / "docs/errata.md").read_text()
    assert "derivation" not in text
    checks = re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", text)
    assert len(checks) > 15
    for path, name in checks:
        assert f"def {name}(" in (ROOT / path).read_text(), (path, name)
