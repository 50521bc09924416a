"""The subset sum against quasi-Monte Carlo integration, and its limits."""

import numpy as np
import pytest

from softmargin.evidence import exact
from softmargin.likelihoods import Hinge
from softmargin.sampling import ConditionalNormaliser, DataTarget

from .cases import K4, Y4


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("C", [0.3, 2.0])
def test_subset_sum_agrees_with_integration(n, C):
    K, y = K4[:n, :n], Y4[:n]
    estimate = exact.integrate_prior(K, DataTarget(y, Hinge(C)))
    # Student's t with 15 degrees of freedom: 5 standard errors, and 1e-4 of the orthant probabilities.
    assert abs(exact.subset_sum(K, y, Hinge(C)) - estimate.value) < 5 * estimate.standard_error + 1e-4


def test_subset_sum_with_weights_agrees_with_integration():
    weight = np.array([2.0, 1.0, 0.5, 1.5])
    estimate = exact.integrate_prior(K4, DataTarget(Y4, Hinge(1.5), weight))
    assert abs(exact.subset_sum(K4, Y4, Hinge(1.5), weight) - estimate.value) < 5 * estimate.standard_error + 1e-4


def test_normaliser_is_the_sum_over_labelings():
    K = K4[:2, :2]
    estimate = exact.integrate_prior(K, ConditionalNormaliser(Hinge(2.0)))
    assert abs(exact.subset_sum_normaliser(K, Hinge(2.0)) - estimate.value) < 5 * estimate.standard_error + 1e-4


def test_one_row_in_closed_form():
    likelihood = Hinge(1.3)
    expected = likelihood.tilted_moments(np.ones(1), np.zeros(1), np.array([1.7])).log_z[0]
    assert exact.subset_sum(np.array([[1.7]]), np.ones(1), likelihood) == pytest.approx(expected, abs=1e-7)


def test_too_many_rows_are_refused():
    with pytest.raises(ValueError, match="at most 6 rows; got 7"):
        exact.subset_sum(np.eye(7), np.ones(7), Hinge(1.0))


def test_weighted_normaliser_is_refused():
    with pytest.raises(ValueError, match="integrate_prior"):
        exact.subset_sum_normaliser(np.eye(2), Hinge(1.0), np.array([1.0, 2.0]))
