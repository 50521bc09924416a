"""The hinge's evidence against quadrature and quasi-Monte Carlo integration, and its limits."""

from itertools import pairwise, product

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import log_ndtr, logsumexp

from softmargin.evidence import exact, log_evidence
from softmargin.likelihoods import Hinge
from softmargin.sampling import ConditionalNormaliser, DataTarget

from .cases import K4, Y4


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("C", [0.3, 2.0])
def test_hinge_evidence_agrees_with_integration(n, C):
    K, y = K4[:n, :n], Y4[:n]
    estimate = exact.integrate_prior(K, DataTarget(y, Hinge(C)))
    # Student's t with 15 degrees of freedom: 5 standard errors, and the tolerance.
    assert abs(exact.hinge_evidence(K, y, Hinge(C)) - estimate.value) < 5 * estimate.standard_error + 1e-6


def test_hinge_evidence_with_weights_agrees_with_integration():
    weight = np.array([2.0, 1.0, 0.5, 1.5])
    estimate = exact.integrate_prior(K4, DataTarget(Y4, Hinge(1.5), weight))
    assert abs(exact.hinge_evidence(K4, Y4, Hinge(1.5), weight) - estimate.value) < 5 * estimate.standard_error + 1e-6


def test_normaliser_is_the_sum_over_labelings():
    K = K4[:2, :2]
    estimate = exact.integrate_prior(K, ConditionalNormaliser(Hinge(2.0)))
    labelings = product((-1.0, 1.0), repeat=2)
    total = logsumexp([exact.hinge_evidence(K, np.array(y), Hinge(2.0)) for y in labelings])
    assert abs(total - estimate.value) < 5 * estimate.standard_error + 1e-6


def by_quad(K, y, C):
    """ln Q(Y | X) / kappa^2 of two rows: the second in closed form, the first by adaptive quadrature."""
    root = np.linalg.cholesky(y[:, None] * K * y)

    def log_integrand(t):
        m, s = root[1, 0] * t, root[1, 1]
        rest = logsumexp([log_ndtr((m - 1) / s), C * (m - 1) + 0.5 * (C * s) ** 2 + log_ndtr((1 - m) / s - C * s)])
        return rest - C * max(1 - root[0, 0] * t, 0.0) - 0.5 * t * t - 0.5 * np.log(2 * np.pi)

    top = max(map(log_integrand, np.linspace(-15, 15, 601)))
    kinks = [1 / root[0, 0], 1 / root[1, 0]] if root[1, 0] else [1 / root[0, 0]]
    steps = sorted({e for k in kinks for e in k + np.array([-1, -0.1, -0.01, 0, 0.01, 0.1, 1])} | {-15.0, 15.0})
    parts = [
        quad(lambda t: np.exp(log_integrand(t) - top), a, b, epsabs=1e-10, epsrel=1e-9, limit=200)[0]
        for a, b in pairwise(steps)
    ]
    return top + np.log(sum(parts))


@pytest.mark.parametrize("K0", [1e-4, 1.0, 10.0, 30.0, 1e4])
@pytest.mark.parametrize("rho", [0.0, 0.7, -0.7, 0.99])
def test_two_rows_at_every_scale_agree_with_quadrature(K0, rho):
    K, y = K0 * np.array([[1, rho], [rho, 1]]), np.ones(2)
    kappa = 2 * Hinge(2.0).log_kappa
    found = log_evidence(K, y, C=2.0, method="exact").value - kappa
    assert found == pytest.approx(by_quad(K, y, 2.0), abs=1e-6)


def test_value_of_the_trial_that_was_silently_wrong():
    # Probabilities floored at 1e-300 made this +70531.
    assert -2 < log_evidence(1e4 * np.eye(2), np.ones(2), C=2.0, method="exact").value < 0


@pytest.mark.parametrize("C", [0.5, 3.0, 20.0])
@pytest.mark.parametrize("K0", [1.0, 300.0])
def test_three_rows_agree_with_tensor_quadrature(C, K0):
    y = np.array([1.0, -1.0, 1.0])
    K = K0 * K4[:3, :3]
    likelihood = Hinge(C)
    root = np.linalg.cholesky(y[:, None] * K * y)
    nodes, weights = np.polynomial.legendre.leggauss(12)

    def rule(kink):
        """Nodes and weights on panels that grow away from the kink; kink of shape (..., 1)."""
        steps = np.concatenate([[0.0], np.geomspace(1e-3, 30, 18)])
        edges = np.concatenate([kink - steps[::-1], kink + steps[1:]], axis=-1)
        half = 0.5 * np.diff(edges)
        points = (edges[..., :-1] + half)[..., None] + half[..., None] * nodes
        shape = (*kink.shape[:-1], -1)
        return points.reshape(shape), (half[..., None] * weights).reshape(shape)

    # Two whitened coordinates, the third row in closed form.
    t, w_t = rule(np.array([1 / root[0, 0]]))
    u, w_u = rule(((1 - root[1, 0] * t) / root[1, 1])[:, None])
    t, w_t = t[:, None], w_t[:, None]
    c = root[2, 0] * t + root[2, 1] * u
    last = likelihood.tilted_moments(np.ones(c.size), c.ravel(), np.full(c.size, root[2, 2] ** 2)).log_z
    logs = last.reshape(c.shape) - 0.5 * (t**2 + u**2) - np.log(2 * np.pi) + 2 * likelihood.log_kappa
    logs -= C * (np.maximum(1 - root[0, 0] * t, 0) + np.maximum(1 - root[1, 0] * t - root[1, 1] * u, 0))
    expected = logsumexp(logs, b=w_t * w_u)
    assert exact.hinge_evidence(K, y, likelihood) == pytest.approx(expected, abs=1e-6)


def test_order_of_rows_does_not_matter():
    values = [
        exact.hinge_evidence(200 * K4[np.ix_(p, p)], Y4[p], Hinge(2.0))
        for p in (np.arange(4), np.array([3, 1, 0, 2]), np.array([2, 3, 1, 0]))
    ]
    np.testing.assert_allclose(values, values[0], rtol=0, atol=1e-6)


def test_copies_of_a_row_are_its_weight():
    copies = np.array([0, 0, 1, 2])
    expected = exact.hinge_evidence(K4[:3, :3], Y4[:3], Hinge(1.5), np.array([2.0, 1.0, 1.0]))
    found = exact.hinge_evidence(K4[np.ix_(copies, copies)], Y4[copies], Hinge(1.5))
    assert found == pytest.approx(expected, abs=1e-6)


def test_rows_of_no_weight_are_left_out():
    weight = np.array([1.0, 0.0, 1.0, 0.0])
    expected = exact.hinge_evidence(K4[::2, ::2], Y4[::2], Hinge(1.5))
    assert exact.hinge_evidence(K4, Y4, Hinge(1.5), weight) == pytest.approx(expected, abs=1e-6)


def test_independent_rows_factorise():
    likelihood = Hinge(2.0)
    one = exact.hinge_evidence(np.array([[3.0]]), np.ones(1), likelihood)
    assert exact.hinge_evidence(3.0 * np.eye(4), np.ones(4), likelihood) == pytest.approx(4 * one, abs=1e-6)


def test_what_it_cannot_do_is_refused():
    x = np.linspace(0, 1, 6)
    with pytest.raises(ValueError, match=r"evaluations.*use 'annealing'"):
        exact.hinge_evidence(np.exp(-((x[:, None] - x) ** 2)), np.ones(6), Hinge(2.0))
    with pytest.raises(ValueError, match="positive semi-definite"):
        exact.hinge_evidence(np.array([[1.0, 2.0], [2.0, 1.0]]), np.ones(2), Hinge(2.0))
    with pytest.raises(ValueError, match="finite"):
        exact.hinge_evidence(np.array([[np.nan]]), np.ones(1), Hinge(2.0))


def test_one_row_in_closed_form():
    likelihood = Hinge(1.3)
    expected = likelihood.tilted_moments(np.ones(1), np.zeros(1), np.array([1.7])).log_z[0]
    assert exact.hinge_evidence(np.array([[1.7]]), np.ones(1), likelihood) == pytest.approx(expected, abs=1e-7)


def test_too_many_rows_are_refused():
    with pytest.raises(ValueError, match="at most 6 rows; got 7"):
        exact.hinge_evidence(np.eye(7), np.ones(7), Hinge(1.0))
