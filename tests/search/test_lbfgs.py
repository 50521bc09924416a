"""L-BFGS on functions whose maximum is known."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from softmargin.search import LBFGS, Evaluation, StopSearch, get_search, notify

WIDE = np.tile([-10.0, 10.0], (4, 1))
TOP = np.array([1.0, -2.0, 0.5, 3.0])


class Quadratic:
    """-(z - TOP)' A (z - TOP)/2, curvatures from 1e-2 to 1e4; remembers where it was asked."""

    curvature = np.array([1e-2, 1.0, 1e2, 1e4])

    def __init__(self, stop_after=np.inf, no_gradient=lambda z: False):
        self.asked, self.stop_after, self.no_gradient = [], stop_after, no_gradient

    def __call__(self, z):
        self.asked.append(np.array(z))
        delta = z - TOP
        gradient = None if self.no_gradient(z) else -self.curvature * delta
        value = -0.5 * float(delta @ (self.curvature * delta))
        evaluation = Evaluation(np.array(z), value, gradient, value, None)
        notify(evaluation, self.watch)
        return evaluation

    def watch(self, evaluation):
        if len(self.asked) >= self.stop_after:
            raise StopSearch


def test_finds_the_maximum():
    result = LBFGS(tol=1e-9, max_iter=200).maximise(Quadratic(), np.zeros(4), WIDE)
    assert_allclose(result.point, TOP, atol=1e-2)
    assert result.converged and result.best.value > -1e-5
    assert_allclose(result.best.z, result.point)


def test_never_leaves_the_bounds_and_stops_at_them():
    bounds = np.array([[-10, 10], [-1, 10], [0, 0.2], [-10, 10]], dtype=float)
    objective = Quadratic()
    result = LBFGS(tol=1e-9, max_iter=200).maximise(objective, np.array([-50.0, 0, 0, 0]), bounds)
    asked = np.array(objective.asked)
    assert np.all(asked >= bounds[:, 0]) and np.all(asked <= bounds[:, 1])
    assert_allclose(result.point, [1, -1, 0.2, 3], atol=1e-2)


def test_the_first_step_is_short():
    # The raw first step of L-BFGS-B is the whole gradient: here 3e4 long, into a corner of the box.
    objective = Quadratic()
    LBFGS(max_iter=2).maximise(objective, np.zeros(4), WIDE)
    start, second, *_ = objective.asked
    assert_allclose(start, 0)
    assert 0 < np.abs(second).max() <= 1 + 1e-9


@pytest.mark.parametrize("after", [1, 2, 7])
def test_stop_search_ends_at_the_best_so_far(after):
    objective = Quadratic(stop_after=after)
    result = LBFGS().maximise(objective, np.zeros(4), WIDE)
    assert len(objective.asked) == after and not result.converged
    values = [Quadratic()(z).value for z in objective.asked]
    assert result.best.value == max(values)
    assert_allclose(result.point, objective.asked[int(np.argmax(values))])


def test_a_point_without_gradient_is_avoided():
    objective = Quadratic(no_gradient=lambda z: z[0] > 0.5)
    result = LBFGS(max_iter=100).maximise(objective, np.zeros(4), WIDE)
    assert result.best.gradient is not None and result.point[0] <= 0.5
    assert_allclose(result.point[3], TOP[3], atol=0.1)


def test_a_first_point_without_gradient_in_a_subspace():
    """The evaluation's z is that of the full space, which has more coordinates than the search."""
    hill = Quadratic(no_gradient=lambda z: True)
    result = LBFGS().maximise(lambda u: hill(np.concatenate([u, TOP[2:]])), np.zeros(2), WIDE[:2])
    assert_allclose(result.point, 0)
    assert result.best.z.shape == (4,) and result.best.gradient is None


def test_max_iter_is_reported():
    result = LBFGS(max_iter=1, tol=1e-12).maximise(Quadratic(), np.zeros(4), WIDE)
    assert not result.converged and result.n_iter == 1


def test_nothing_to_search():
    objective = lambda z: Evaluation(z, 1.5, np.empty(0), 1.5, None)  # noqa: E731
    result = LBFGS().maximise(objective, np.empty(0), np.empty((0, 2)))
    assert result.converged and result.best.value == 1.5


def test_unknown_names_list_the_known_ones():
    assert get_search("lbfgs") is LBFGS
    with pytest.raises(ValueError, match=r"unknown search 'newton'.*'lbfgs'"):
        get_search("newton")


def test_units_make_a_badly_scaled_hill_easy():
    plain, scaled = Quadratic(), Quadratic()
    scaled.units = Quadratic.curvature**-0.5
    for hill in (plain, scaled):
        assert_allclose(LBFGS(tol=1e-9).maximise(hill, np.zeros(4), WIDE).best.z, TOP, atol=1e-3)
    assert len(scaled.asked) < len(plain.asked) / 2


def test_units_do_not_lead_beyond_the_bounds():
    hill, bounds = Quadratic(), np.array([[-0.1, 0.7], [-0.3, 0.1], [-0.7, 0.7], [0.0, 0.3]])
    hill.units = np.full(4, 0.3)
    best = LBFGS(tol=1e-9).maximise(hill, np.full(4, 0.1), bounds).best
    assert_allclose(best.z, np.clip(TOP, *bounds.T), atol=1e-3)
    assert all(np.all((z >= bounds[:, 0]) & (z <= bounds[:, 1])) for z in hill.asked)
