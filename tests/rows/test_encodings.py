"""Encodings: what blocks of raw targets become, wherever the blocks are."""

import numpy as np
import pytest

from softmargin.rows import PairEncoding, ThinnedEncoding


def test_pairs_are_encoded_with_their_weights():
    encoding = PairEncoding(np.array(["a", "b", "c"]), (0, 2))
    keep, target, weight = encoding(np.array(["c", "b", "a"]), np.array([2.0, 1.0, 1.0]))
    assert keep.tolist() == [True, False, True]
    assert target.tolist() == [1, -1] and weight.tolist() == [2, 1]


def test_thinned_rows_stand_for_all_of_them():
    """One row in 20 of 4000, weights 0.5 to 1.5: two thirds of the rows, so four standard errors are 35 %."""
    rng = np.random.default_rng(0)
    y, weight = rng.choice(["a", "b", "c"], size=4000), rng.uniform(0.5, 1.5, size=4000)
    pair = PairEncoding(np.array(["a", "b", "c"]), (0, 2))
    thinned, whole = ThinnedEncoding(pair, 20, seed=1)(y, weight), pair(y, weight)
    assert np.sum(thinned.weight) == pytest.approx(np.sum(whole.weight), rel=0.35)
    np.testing.assert_array_equal(thinned.target, np.where(y[thinned.keep] == "c", 1.0, -1.0))
    np.testing.assert_allclose(thinned.weight, 20 * weight[thinned.keep])
    np.testing.assert_array_equal(ThinnedEncoding(pair, 20, seed=1)(y, np.ones(4000)).keep, thinned.keep)
