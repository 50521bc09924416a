"""Linear algebra that others rest on."""

import numpy as np
import pytest

from softmargin._linalg import STRIP, inverse_from_cholesky


@pytest.mark.parametrize("n", [1, STRIP - 1, STRIP, STRIP + 1, 2 * STRIP + 5])
@pytest.mark.parametrize("overwrite", [False, True])
def test_the_inverse_is_whole_and_symmetric_around_every_strip(n, overwrite):
    rng = np.random.default_rng(n)
    root = rng.standard_normal((n, n))
    A = root @ root.T + n * np.eye(n)
    # What lies above the diagonal of a factor is nobody's.
    L = np.asfortranarray(np.linalg.cholesky(A) + np.triu(rng.standard_normal((n, n)), 1))
    given = L.copy()
    inverse = inverse_from_cholesky(L, overwrite=overwrite)
    np.testing.assert_allclose(inverse @ A, np.eye(n), atol=1e-12)
    np.testing.assert_array_equal(inverse, inverse.T)
    assert overwrite or np.array_equal(L, given)
