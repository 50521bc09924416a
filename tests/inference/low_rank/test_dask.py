"""Low-rank EP on Dask blocks: the same numbers whatever the chunks."""

import numpy as np
import pytest

from softmargin.inference.low_rank import LowRankEP
from softmargin.likelihoods import Hinge
from softmargin.rows import DaskRows

from .problems import KERNEL, problem

dask = pytest.importorskip("dask")


@pytest.mark.parametrize("chunk", [200, 64, 7])
def test_chunks_do_not_matter(chunk):
    import dask.array as da

    X, y, weight = problem(Hinge())
    solver = LowRankEP(tol=1e-8, gradients=True)
    here = solver.infer_inputs(X, y, Hinge(2.0), KERNEL, weight, Z=X[:25])
    rows = DaskRows.of(*(da.from_array(part, chunks=(chunk, *part.shape[1:])) for part in (X, y, weight)))
    with dask.config.set(scheduler="synchronous"):
        there = solver.infer_rows(rows, Hinge(2.0), KERNEL, X[:25])
    assert abs(there.log_evidence - here.log_evidence) < 1e-7
    np.testing.assert_allclose(there.cavity_mean, here.cavity_mean, atol=1e-6)
    np.testing.assert_allclose(there.d_theta, here.d_theta, atol=1e-6)
