from dataclasses import replace

import numpy as np

from softmargin.machines.sampled_rows import enough_rows
from softmargin.policy import POLICY
from softmargin.rows import LocalRows


def labelled(n, rare=0):
    X = np.arange(2.0 * n).reshape(n, 2)
    y = np.arange(n) % 2
    y[n - rare :] = 2
    return LocalRows(X, y, np.full(n, 3.0))


def test_few_rows_are_all_seen():
    source = labelled(100)
    assert enough_rows(source, POLICY.least_squares, 0, np.arange(2)) is source


def test_of_very_many_rows_a_sample_is_seen_with_its_labels_and_weights():
    source = labelled(30_000, rare=5)
    policy = replace(POLICY.least_squares, most_rows=25_000)
    seen = enough_rows(source, policy, 0, np.arange(3))
    # All five rows of the rare class, whether they were drawn or not.
    assert 25_000 <= seen.n_rows <= 25_005
    assert np.sum(seen.y == 2) == 5
    index = (seen.X[:, 0] / 2).astype(int)
    assert len(np.unique(index)) == seen.n_rows
    np.testing.assert_array_equal(seen.y, source.y[index])
    assert np.all(seen.weight == 3)


def test_wide_rows_are_bounded_by_their_entries_but_a_sample_is_always_seen():
    source = labelled(30_000)
    assert enough_rows(source, replace(POLICY.least_squares, most_entries=44_000), 0, np.arange(2)).n_rows == 22_000
    assert enough_rows(source, replace(POLICY.least_squares, most_entries=10), 0, np.arange(2)).n_rows == 20_000
