"""The default policy of the classifier: which of its two models it keeps."""

import numpy as np
from scipy.sparse import csr_array
from scipy.special import expit

from softmargin import BayesianSVC
from softmargin.datasets import make_ringnorm
from softmargin.estimators._binary import rows_of
from softmargin.estimators._rows import merge_rows
from softmargin.likelihoods import Hinge, Link


def noisy_table(n, seed):
    """Two discrete inputs, labels with probability sigmoid of a table of random numbers."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.integers(0, 4, n), rng.integers(0, 3, n)]).astype(float)
    p = expit(1.5 * rng.standard_normal((4, 3)))[X[:, 0].astype(int), X[:, 1].astype(int)]
    return X, (rng.random(n) < p).astype(int), p


def test_inputs_that_carry_both_labels_get_their_frequencies():
    X, y, p = noisy_table(300, 0)
    model = BayesianSVC().fit(X, y)
    assert isinstance(model.likelihood_, Link)
    # The frequency of a cell of about 25 rows has a standard error of 0.1.
    assert np.sqrt(np.mean((model.predict_proba(X)[:, 1] - p) ** 2)) < 0.1


def test_well_separated_classes_get_the_margin_model_and_overlapping_ones_the_link_model():
    assert isinstance(BayesianSVC().fit(*make_ringnorm(150, random_state=0)).likelihood_, Hinge)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((150, 2))
    y = (rng.random(150) < expit(X[:, 0])).astype(int)
    assert isinstance(BayesianSVC().fit(X, y).likelihood_, Link)


def test_a_chosen_criterion_keeps_the_chosen_loss():
    X, y, _ = noisy_table(60, 1)
    assert isinstance(BayesianSVC(criterion="evidence").fit(X, y).likelihood_, Hinge)
    assert isinstance(BayesianSVC(inference="variational").fit(X, y).likelihood_, Hinge)


def test_contested_is_the_weight_on_inputs_with_several_targets():
    X = np.array([[0.0], [0.0], [1.0], [2.0], [2.0], [2.0]])
    y = np.array([0.0, 1.0, 0.0, 1.0, 1.0, 1.0])
    # Rows at 2 agree: only the two at 0 do not.
    assert merge_rows(X, y, None).contested() == 2 / 6
    assert merge_rows(csr_array(X), y, None).contested() == 2 / 6
    assert merge_rows(X, y, np.array([3.0, 1, 1, 1, 1, 1])).contested() == 4 / 8
    assert merge_rows(X[:1], y[:1], None).contested() == 0


def test_classes_that_one_problem_calls_the_rest_do_not_contest_an_input():
    X = np.array([[0.0], [0.0], [0.0], [1.0], [1.0], [2.0]])
    rows = merge_rows(X, np.array([0.0, 1.0, 2.0, 1.0, 2.0, 0.0]), None)
    # Against class 0 the rows at 1 are both "the rest"; those at 0 are not.
    assert rows_of(rows, (-1, 0), precomputed=False).contested() == 3 / 6
    assert rows_of(rows, (-1, 1), precomputed=False).contested() == 5 / 6
    assert rows_of(rows, (0, 1), precomputed=False).contested() == 2 / 4
