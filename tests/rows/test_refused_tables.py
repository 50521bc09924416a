"""Tables that cannot be encoded where they are say so, and what to do."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix

from softmargin import BayesianSVC

RNG = np.random.default_rng(0)
FRAME = pd.DataFrame({"age": RNG.normal(size=40), "town": RNG.choice(["a", "b"], 40)})
Y = (FRAME["age"] > 0).to_numpy()
QUICK = {"C": 1.0, "search": None}


def test_a_sparse_matrix_has_no_gaps():
    X = np.where(RNG.random((40, 3)) < 0.2, np.nan, RNG.normal(size=(40, 3)))
    with pytest.raises(ValueError, match=r"contains NaN. A sparse matrix cannot have gaps"):
        BayesianSVC(**QUICK).fit(csr_matrix(X), Y)
    model = BayesianSVC(**QUICK).fit(np.nan_to_num(X), Y)
    with pytest.raises(ValueError, match=r"contains NaN. A sparse matrix cannot have gaps"):
        model.predict(csr_matrix(X))


def test_a_dask_frame_of_words_is_refused_and_predicted():
    dd = pytest.importorskip("dask.dataframe")
    frame, y = dd.from_pandas(FRAME, npartitions=2), dd.from_pandas(pd.Series(Y), npartitions=2)
    with pytest.raises(ValueError, match=r"'town' are no numbers.*X.compute\(\)"):
        BayesianSVC().fit(frame, y)
    with pytest.raises(ValueError, match="categorical_features is set"):
        BayesianSVC(categorical_features=["age"]).fit(frame[["age"]], y)


def test_a_dask_frame_of_numbers_is_fitted_by_default():
    dd = pytest.importorskip("dask.dataframe")
    frame, y = dd.from_pandas(FRAME[["age"]], npartitions=2), dd.from_pandas(pd.Series(Y), npartitions=2)
    model = BayesianSVC(max_iter=3).fit(frame, y)
    there = BayesianSVC(max_iter=3).fit(FRAME[["age"]].to_numpy(), Y)
    np.testing.assert_allclose(model.predict_proba(FRAME[["age"]]), there.predict_proba(FRAME[["age"]].to_numpy()))
