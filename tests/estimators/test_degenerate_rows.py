"""Rows on which an inference of the search falls back, so that an evaluation has no gradient."""

import numpy as np
import pytest

from softmargin import BayesianSVC


@pytest.mark.parametrize(("seed", "copied_rows"), [(0, False), (3, False), (2, True)])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_three_classes_of_heavy_copies(seed, copied_rows):
    """A duplicated column and 24 rows of weight 1e6: the first point of a stage in a subspace has no gradient."""
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((24, 2)), np.arange(24) % 3
    X[:, 1] = X[:, 0]
    if copied_rows:
        X[12:], y[12:] = X[:12], y[:12]
    model = BayesianSVC(random_state=0).fit(X, y, sample_weight=np.full(24, 1e6))
    p = model.predict_proba(X)
    assert np.all(np.isfinite(p))
    np.testing.assert_allclose(p.sum(axis=1), 1)
