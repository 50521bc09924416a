"""Models of tables have no ONNX graph, and say so."""

import numpy as np
import pandas as pd
import pytest

from softmargin import BayesianSVC, to_onnx


def test_categories_and_gaps_are_refused():
    pytest.importorskip("onnx")
    frame = pd.DataFrame({"x": np.arange(12.0), "town": ["a", "b"] * 6})
    for X in (frame, frame[["x"]].where(frame["x"] > 0)):
        model = BayesianSVC(C=1.0, search=None).fit(X, frame["x"] > 5)
        with pytest.raises(ValueError, match="categories, gaps or dates has no ONNX graph"):
            to_onnx(model)
